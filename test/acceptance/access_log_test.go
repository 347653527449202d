package acceptance

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	weirv1 "weir/proto/weir/v1"
)

const (
	smallLog = "testdata/access.log"
	// besideLog is the larger log, where it lies beside the checkout.
	besideLog = "../../../shared/data/access.log.gz"
)

// largeLog is the path of a larger log; empty where there is none.
func largeLog(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("WEIR_ACCESS_LOG"); path != "" {
		return path
	}
	if _, err := os.Stat(besideLog); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return besideLog
}

// readLog returns the text of an access log, which may be compressed.
func readLog(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if data, err = io.ReadAll(r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return string(data)
}

// combined is a line of the combined log format; the end may be cut off.
var combined = regexp.MustCompile(`^(\S+) \S+ \S+ \[([^\]]+)\] "((?:[^"\\]|\\.)*)" \d{3} (?:\d+|-) "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"?$`)

// parseLog makes each line the attributes of a request. The day is the line's,
// as it is written there.
func parseLog(text string) (requests []map[string]string, err error) {
	for line := range strings.Lines(text) {
		m := combined.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			return nil, fmt.Errorf("line %d is not in the combined log format: %s", len(requests)+1, line)
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(requests)+1, err)
		}
		attributes := map[string]string{"ip": m[1], "day": at.Format("02/Jan/2006"), "user_agent": m[5]}
		if method, rest, ok := strings.Cut(m[3], " "); ok {
			attributes["method"] = method
			attributes["path"], _, _ = strings.Cut(rest, " ")
		}
		requests = append(requests, attributes)
	}
	return requests, nil
}

// countLog counts lines by client and day in another way than parseLog, as a
// person would with cut and uniq.
func countLog(text string) map[string]int64 {
	counts := make(map[string]int64)
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		client := line[:strings.IndexByte(line, ' ')]
		from := strings.IndexByte(line, '[') + 1
		counts[client+","+line[from:from+len("02/Jan/2006")]]++
	}
	return counts
}

const logRules = `
rules:
  - name: visits
    count_by: [ip, day]
    quota: 1000000000000/day
`

// callersPerNode is how many calls are under way at a node, each over its own
// connection.
const callersPerNode = 6

// deal sends each request as one check, round-robin to the nodes. Every one
// must be allowed: the quota is too large to deny. It says whether the store was
// in time for all: of one that it was late for, nobody knows whether it counts.
func deal(t *testing.T, nodes []*node, requests []map[string]string) (inTime bool) {
	t.Helper()
	began := time.Now()
	var failed atomic.Pointer[error]
	var late atomic.Int64
	var callers sync.WaitGroup
	for n := range nodes {
		var next atomic.Int64 // this node's requests taken so far
		for _, c := range dialMany(t, nodes[n], callersPerNode) {
			callers.Go(func() {
				for failed.Load() == nil {
					i := n + len(nodes)*int(next.Add(1)-1)
					if i >= len(requests) {
						return
					}
					out, err := c.Check(t.Context(), &weirv1.CheckRequest{Attributes: requests[i]})
					switch {
					case err != nil || out.Allowed:
					case out.Reason == weirv1.Reason_REASON_STORE_UNAVAILABLE:
						late.Add(1)
					default:
						err = fmt.Errorf("denied: %v", out)
					}
					if err != nil {
						err = fmt.Errorf("request %d of %d at %s: %w", i+1, len(requests), nodes[n].name, err)
						failed.CompareAndSwap(nil, &err)
					}
				}
			})
		}
	}
	callers.Wait()
	if err := failed.Load(); err != nil {
		t.Fatal(*err)
	}
	took := time.Since(began)
	t.Logf("%d checks in %d ms, %.0f a second; the store was late for %d", len(requests), took.Milliseconds(),
		float64(len(requests))/took.Seconds(), late.Load())
	return late.Load() == 0
}

func times(counts map[string]int64, factor int64) map[string]int64 {
	out := make(map[string]int64, len(counts))
	for key, n := range counts {
		out[key] = n * factor
	}
	return out
}

// logCase is one log counted in one kind of store.
type logCase struct{ kind, path string }

func logCases(t *testing.T) []logCase {
	cases := []logCase{{"redis", smallLog}, {"memory", smallLog}}
	if path := largeLog(t); path != "" {
		cases = append(cases, logCase{"redis", path})
		if !testing.Short() {
			cases = append(cases, logCase{"memory", path})
		}
	}
	return cases
}

// A log dealt to three regions is counted exactly in every one, over restarts
// of every node.
func TestAccessLog(t *testing.T) {
	for _, tc := range logCases(t) {
		size := "small"
		if tc.path != smallLog {
			size = "large"
		}
		t.Run(tc.kind+"/"+size, func(t *testing.T) {
			text := readLog(t, tc.path)
			requests, err := parseLog(text)
			if err != nil {
				t.Fatal(err)
			}
			want := countLog(text)
			t.Logf("%d requests of %d clients and days", len(requests), len(want))
			for range 4 {
				if countOverRestarts(t, tc.kind, requests, want) {
					return
				}
			}
			t.Fatal("the store never answered every check in time")
		})
	}
}

// countOverRestarts says whether the machine let the stores answer in time;
// else the case has to be done again.
func countOverRestarts(t *testing.T, kind string, requests []map[string]string, want map[string]int64) (inTime bool) {
	t.Helper()
	awayFromMidnight(t, 3*time.Minute)
	nodes, servers := startRegions(t, kind, logRules)
	defer end(nodes, servers)
	if !deal(t, nodes, requests) {
		return false
	}
	agree(t, nodes, want)
	for _, n := range nodes {
		n.stop(t)
		n.start(t)
		n.waitReady(t)
		agree(t, nodes, want)
	}
	if !deal(t, nodes, requests) {
		return false
	}
	agree(t, nodes, times(want, 2))
	return true
}

// The small log holds what a reader can trip over.
func TestSmallLog(t *testing.T) {
	text := readLog(t, smallLog)
	requests, err := parseLog(text)
	if err != nil {
		t.Fatal(err)
	}
	days := map[string]int{}
	for _, r := range requests {
		days[r["day"]]++
	}
	if len(requests) < 300 || len(days) != 3 {
		t.Errorf("%d requests on %d days, want 300 or more on 3", len(requests), len(days))
	}
	backwards := 0
	var last time.Time
	for line := range strings.Lines(text) {
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", line[strings.IndexByte(line, '[')+1:strings.IndexByte(line, ']')])
		if err != nil {
			t.Fatal(err)
		}
		if at.Before(last) {
			backwards++
		}
		last = at
	}
	if backwards < 10 {
		t.Errorf("%d lines stand out of order, want 10 or more", backwards)
	}
	if total := sum(countLog(text)); total != int64(len(requests)) {
		t.Errorf("counted %d lines of %d", total, len(requests))
	}
}
