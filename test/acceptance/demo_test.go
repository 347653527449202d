package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	weirv1 "weir/proto/weir/v1"
)

// demo is a running `weir demo`.
type demo struct {
	*process
	basePort int
}

// startDemo starts the demo on free ports and waits until it has said what a
// person needs.
func startDemo(t *testing.T, args ...string) *demo {
	t.Helper()
	d := &demo{basePort: freeBase(t)}
	began := time.Now()
	argv := append([]string{binary(t), "demo", "--base-port", fmt.Sprint(d.basePort)}, args...)
	d.process = launch(t, "demo", t.TempDir(), nil, argv...)
	eventually(t, 20*time.Second, "the demo is up", func(context.Context) error {
		if d.hasEnded() || len(d.stdout.lines("Ctrl-C")) == 0 {
			return fmt.Errorf("said %q and %q", d.stdout.String(), d.stderr.String())
		}
		return nil
	})
	took := time.Since(began)
	t.Logf("up in %d ms", took.Milliseconds())
	if most := 5 * time.Second; took > most && !underRace() {
		t.Errorf("up in %v, want %v at most", took, most)
	}
	return d
}

// freeBase finds a base port with every port of the demo free.
func freeBase(t *testing.T) int {
	t.Helper()
	for base := 21000; base < 31000; base += 100 {
		if allFree(base) {
			return base
		}
	}
	t.Fatal("no ports are free for the demo")
	return 0
}

func allFree(base int) bool {
	for region := range 3 {
		for door := range 3 {
			lis, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", base+10*region+door))
			if err != nil {
				return false
			}
			lis.Close()
		}
	}
	return true
}

func (d *demo) addr(region, door int) string {
	return fmt.Sprintf("127.0.0.1:%d", d.basePort+10*region+door)
}

func (d *demo) clients(t *testing.T) (out []*client) {
	t.Helper()
	for region := range regionNames {
		out = append(out, dialTarget(t, d.addr(region, 0)))
	}
	return out
}

// interrupt is Ctrl-C; the demo must end well.
func (d *demo) interrupt(t *testing.T) {
	t.Helper()
	began := time.Now()
	d.signal(t, syscall.SIGINT)
	if code := d.wait(t, 5*time.Second); code != 0 {
		t.Errorf("exit code %d after Ctrl-C: %s", code, d.stderr.tail(20))
	}
	t.Logf("stopped in %d ms", time.Since(began).Milliseconds())
}

// The demo's regions count together while its traffic runs.
func TestDemo(t *testing.T) {
	awayFromMidnight(t, time.Minute)
	d := startDemo(t)
	for region, name := range regionNames {
		line := strings.Join(d.stdout.lines(name), "\n")
		if !strings.Contains(line, d.addr(region, 0)) || !strings.Contains(line, "http://"+d.addr(region, 1)+"/") {
			t.Errorf("%s: its addresses are not in %q", name, line)
		}
		code, body, err := get(t.Context(), "http://"+d.addr(region, 1)+"/")
		if err != nil || code != http.StatusOK || !strings.Contains(body, "<title>") {
			t.Errorf("the dashboard of %s: %d, %v", name, code, err)
		}
	}
	clients := d.clients(t)
	for range 5 {
		regionsKeepUp(t, clients)
	}
	regionsMeet(t, clients)
	eventually(t, 8*time.Second, "the demo reports", func(context.Context) error {
		if len(d.stdout.lines("allowed ")) == 0 {
			return fmt.Errorf("said %q", d.stdout.String())
		}
		return nil
	})
	if failed := d.stdout.lines("failed 0"); len(failed) == 0 {
		t.Errorf("calls of the traffic failed: %q", d.stdout.lines("allowed "))
	}
	d.interrupt(t)
	if said := d.stderr.String(); said != "" {
		t.Errorf("standard error has %q", said)
	}
}

// used is the busiest quota's use by each region.
func used(ctx context.Context, clients []*client, rule, key string) (out []int64, err error) {
	for _, c := range clients {
		q, err := c.quotas.GetQuota(ctx, &weirv1.GetQuotaRequest{Rule: rule, Key: key})
		if err != nil {
			return nil, err
		}
		out = append(out, q.Quota.Used)
	}
	return out, nil
}

func busiest(t *testing.T, c *client) (q *weirv1.Quota) {
	t.Helper()
	eventually(t, 5*time.Second, "a quota is used", func(ctx context.Context) error {
		out, err := c.quotas.ListQuotas(ctx, &weirv1.ListQuotasRequest{Order: weirv1.QuotaOrder_QUOTA_ORDER_USED, PageSize: 1})
		if err == nil && (len(out.Quotas) == 0 || out.Quotas[0].Used < 5) {
			err = fmt.Errorf("only %v", out.Quotas)
		}
		if err == nil {
			q = out.Quotas[0]
		}
		return err
	})
	return q
}

// regionsKeepUp: what any region reports now, all report within a second.
func regionsKeepUp(t *testing.T, clients []*client) {
	t.Helper()
	q := busiest(t, clients[0])
	now, err := used(t.Context(), clients, q.Rule, q.Key)
	if err != nil {
		t.Fatal(err)
	}
	most := max(now[0], now[1], now[2])
	eventually(t, time.Second, fmt.Sprintf("every region reports the %d of %s", most, q.Key), func(ctx context.Context) error {
		later, err := used(ctx, clients, q.Rule, q.Key)
		if err == nil && min(later[0], later[1], later[2]) < most {
			err = fmt.Errorf("they report %d", later)
		}
		return err
	})
}

// regionsMeet: between two calls of the traffic, all report the same.
func regionsMeet(t *testing.T, clients []*client) {
	t.Helper()
	q := busiest(t, clients[0])
	eventually(t, 10*time.Second, "all regions report the same of "+q.Key, func(ctx context.Context) error {
		now, err := used(ctx, clients, q.Rule, q.Key)
		if err == nil && (now[0] != now[1] || now[1] != now[2]) {
			err = fmt.Errorf("they report %d", now)
		}
		return err
	})
}

// Without traffic, what a person sends to one region is in all of them, exactly,
// once the nodes have returned what they leased ahead.
func TestDemoWithoutTraffic(t *testing.T) {
	awayFromMidnight(t, time.Minute)
	d := startDemo(t, "--no-traffic")
	clients := d.clients(t)
	attributes := map[string]string{"api_key": "mine"}
	for i := range 300 {
		clients[i%3].check(t, 1, attributes)
	}
	// What nodes lease ahead counts as used until it is idle for a second.
	eventually(t, 5*time.Second, "all regions report 300", func(ctx context.Context) error {
		now, err := used(ctx, clients, "daily", "mine")
		if err == nil && (now[0] != 300 || now[1] != 300 || now[2] != 300) {
			err = fmt.Errorf("they report %d", now)
		}
		return err
	})
	d.interrupt(t)
}

// The lines that the demo prints work as they stand, in the module's folder.
func TestDemoLines(t *testing.T) {
	d := startDemo(t)
	tries := regexp.MustCompile(`(?m)^  ((?:curl|go run) .+)$`).FindAllStringSubmatch(d.stdout.String(), -1)
	if len(tries) != 3 {
		t.Fatalf("found %d lines to try in:\n%s", len(tries), d.stdout.String())
	}
	for _, try := range tries {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", try[1])
		cmd.Dir = root
		cmd.Env = cleanEnviron()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s\n%v\n%s", try[1], err, out)
			continue
		}
		if why := unlikely(try[1], string(out)); why != "" {
			t.Errorf("%s\n%s:\n%s", try[1], why, out)
		}
	}
	d.interrupt(t)
}

// unlikely says what is wrong with what a printed line answered.
func unlikely(line, out string) string {
	switch {
	case strings.HasPrefix(line, "curl"):
		var answer struct {
			Allowed bool
			Rule    string
		}
		if err := json.Unmarshal([]byte(out), &answer); err != nil || !answer.Allowed || answer.Rule == "" {
			return fmt.Sprintf("not an allow by a rule (%v)", err)
		}
	case strings.Contains(line, "weir check"):
		if !strings.HasPrefix(out, "allowed by ") || !strings.Contains(out, "settlements") || !strings.Contains(out, "daily") {
			return "no explained allow"
		}
	default:
		if !strings.Contains(out, "daily") || !strings.Contains(out, regionNames[2]) {
			return "no list of quotas by region"
		}
	}
	return ""
}

func TestDemoEndsByItself(t *testing.T) {
	d := startDemo(t, "--for", "2s")
	if code := d.wait(t, 10*time.Second); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A demo that finds its ports taken says which, and how to choose others.
func TestDemoPortInUse(t *testing.T) {
	d := startDemo(t, "--no-traffic")
	second := run(t, t.TempDir(), nil, "demo", "--base-port", fmt.Sprint(d.basePort))
	said := second.stderr.String()
	if second.exitCode() != 1 || !strings.Contains(said, "in use") || !strings.Contains(said, "--base-port") ||
		strings.Count(said, "\n") != 1 {
		t.Errorf("exit code %d, said %q", second.exitCode(), said)
	}
	d.interrupt(t)
}

// The demo takes rules, and refuses wrong ones as every command does.
func TestDemoRules(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "rules.yaml"), "rules:\n  - name: a\n    limit: 100/x\n")
	refused(t, run(t, dir, nil, "demo", "--rules", "rules.yaml"), `rules.yaml:3:12: rules[0] "a": limit: "100/x": unknown unit "x"`)
	writeFile(t, filepath.Join(dir, "good.yaml"), clientRules)
	d := startDemo(t, "--no-traffic", "--rules", filepath.Join(dir, "good.yaml"))
	if out := d.clients(t)[1].check(t, 1, map[string]string{"client": "x"}); out.Rule != "calls" {
		t.Errorf("decided by %q", out.Rule)
	}
	d.interrupt(t)
}
