package browser

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// program is a weir that runs beside the test.
type program struct {
	cmd    *exec.Cmd
	output lines
	ended  chan struct{}
	err    error // of its end
}

// lines is what a program wrote.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// buildWeir builds the binary of this checkout.
func buildWeir(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weir")
	if out, err := exec.Command("go", "build", "-o", path, "weir/cmd/weir").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// start runs weir until the test ends.
func start(t *testing.T, binary string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(binary, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.err = p.cmd.Wait(); close(p.ended) }()
	t.Cleanup(func() {
		p.signal(t, syscall.SIGCONT)
		p.stop(t)
		if t.Failed() {
			t.Logf("weir %s wrote:\n%s", strings.Join(args, " "), p.output.String())
		}
	})
	return p
}

func (p *program) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
}

// stop ends the program as Ctrl-C does; it must end by itself, in peace.
func (p *program) stop(t *testing.T) {
	t.Helper()
	p.signal(t, os.Interrupt)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		t.Error("an interrupt did not stop it within 20 s")
		p.signal(t, os.Kill)
		<-p.ended
	}
	if p.err != nil {
		t.Errorf("it ended with %v, want exit code 0", p.err)
	}
}

// waitReady waits until the node at baseURL says that it is ready.
func (p *program) waitReady(t *testing.T, baseURL string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var said string
		if r, err := http.Get(baseURL + "/readyz"); err != nil {
			said = err.Error()
		} else {
			r.Body.Close()
			if said = r.Status; r.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not ready within %v: %s", baseURL, patience, said)
		}
		time.Sleep(30 * time.Millisecond) // between two looks, not for luck
	}
}

// freePorts finds a base such that base, +1, +2, +10, +11, … are free for the
// doors of three regions. It keeps below the ports that the system gives away.
func freePorts(t *testing.T) int {
	t.Helper()
	for range 100 {
		base := 15000 + rand.IntN(15000)
		if allFree(base) {
			return base
		}
	}
	t.Fatal("no 9 free ports were found")
	return 0
}

func allFree(base int) bool {
	for region := range 3 {
		for door := range 3 {
			if !isFree(fmt.Sprintf("127.0.0.1:%d", base+10*region+door)) {
				return false
			}
		}
	}
	return true
}

// isFree says whether a port is free for TCP and for UDP.
func isFree(address string) bool {
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	return udp.Close() == nil
}

func httpURL(base, region int) string { return fmt.Sprintf("http://127.0.0.1:%d", base+10*region+1) }

func TestDemoDashboard(t *testing.T) {
	base := freePorts(t)
	demo := start(t, buildWeir(t), "demo", "--base-port", fmt.Sprint(base))
	t.Cleanup(func() { demo.stop(t) }) // once the pages are closed, which would miss it
	for region := range 3 {
		demo.waitReady(t, httpURL(base, region))
	}
	for region := range 3 {
		checkKeepsUp(t, httpURL(base, region))
	}
	for name, s := range map[string]screen{"desktop": desktop, "desktop-dark": {width: 1440, height: 1000, dark: true}, "phone": {width: 390, height: 1500}} {
		p := open(t, httpURL(base, 0), "", s)
		p.wait("rates of every region", `[...document.querySelectorAll('.reg .big b')].filter(b => parseFloat(b.textContent) > 0).length === 3`)
		p.wait("a spark line", `document.querySelector('.reg .big path:nth-child(2)').getAttribute('d').split('L').length > 4`)
		p.wait("every region in touch", `[...document.querySelectorAll('.reg .st')].every(e => e.textContent.startsWith('in touch') || e.closest('.reg').dataset.region === 'eu-west')`)
		p.check("width", overflow)
		p.check("contrast", lowContrast)
		p.shoot("demo-" + name)
		p.do(goTo("#q/daily%2Fsk_demo_00"))
		p.wait("numbers in the panel", `document.querySelector('#panel tbody tr')`)
		p.check("width with the panel", overflow)
		p.shoot("demo-" + name + "-panel")
		p.do(goTo("#rules-page"))
		p.wait("the demo's rules", `document.querySelectorAll('#view-rules tbody tr').length === 4`)
		p.check("width of the rules", overflow)
		p.shoot("demo-" + name + "-rules")
	}
}

// TestStoppedRegionShows: a region that stops is shown behind, then cut off,
// and nothing of it is left once it goes on.
func TestStoppedRegionShows(t *testing.T) {
	regions := []string{"eu-west", "us-east", "ap-south"}
	binary, base := buildWeir(t), freePorts(t)
	var nodes []*program
	for i := range regions {
		nodes = append(nodes, start(t, binary, "serve", "--config", writeConfig(t, base, i, regions)))
	}
	for i, n := range nodes {
		n.waitReady(t, httpURL(base, i))
	}
	for i := range regions {
		spend(t, httpURL(base, i), 5)
	}
	p := checkAgreement(t, httpURL(base, 0))
	state := fmt.Sprintf(stateOf, "ap-south")
	p.wait("in touch", state+`.startsWith('in touch')`)

	nodes[2].signal(t, syscall.SIGSTOP)
	stopped := time.Now()
	p.wait("behind", state+`.endsWith('behind')`)
	behind := time.Since(stopped)
	p.shoot("stopped-behind")
	p.wait("cut off", state+`.startsWith('cut off') && document.querySelector('.off .reg').dataset.region === 'ap-south'`)
	cutOff := time.Since(stopped)
	p.shoot("stopped-cut-off")
	p.do(chromedp.EmulateViewport(phone.width, phone.height))
	p.check("width while cut off", overflow)
	p.shoot("stopped-cut-off-phone")
	p.do(chromedp.EmulateViewport(desktop.width, desktop.height))
	spend(t, httpURL(base, 0), 3)

	nodes[2].signal(t, syscall.SIGCONT)
	continued := time.Now()
	p.wait("in touch again", state+`.startsWith('in touch') && !document.querySelector('.off')`)
	back := time.Since(continued)
	p.wait("the outcome", `document.querySelector('.say.healed')`)
	p.shoot("stopped-healed")
	t.Logf("shown behind %v after it stopped, cut off after %v; in touch %v after it went on", behind, cutOff, back)
	if behind > 4*time.Second || cutOff > 12*time.Second || back > 5*time.Second {
		t.Errorf("behind after %v, cut off after %v, back after %v; want 4 s, 12 s, 5 s at most", behind, cutOff, back)
	}
	for i := range regions {
		p := checkAgreement(t, httpURL(base, i))
		p.waitUntil("all that was spent", func() (bool, string) {
			used := p.used()
			return used["daily/sk_0"] == 18, fmt.Sprintf("%v, want 18 of daily/sk_0", used)
		})
	}
}

func writeConfig(t *testing.T, base, i int, regions []string) string {
	t.Helper()
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yaml")
	write(t, rules, "rules:\n  - {name: daily, count_by: [api_key], quota: 1000/day}\n")
	port := base + 10*i
	config := filepath.Join(dir, "weir.yaml")
	write(t, config, fmt.Sprintf(`region: %[1]s
node: %[1]s-1
regions: {%[2]s: 1, %[3]s: 1, %[4]s: 1}
listen: {grpc: "127.0.0.1:%[5]d", http: "127.0.0.1:%[6]d", gossip: "127.0.0.1:%[7]d"}
gossip: {join: ["127.0.0.1:%[8]d", "127.0.0.1:%[9]d", "127.0.0.1:%[10]d"]}
rules: %[11]s
`, regions[i], regions[0], regions[1], regions[2], port, port+1, port+2, base+2, base+12, base+22, rules))
	return config
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// spend takes units of one key, one at a time.
func spend(t *testing.T, baseURL string, units int) {
	t.Helper()
	for range units {
		r, err := http.Post(baseURL+"/v1/check", "application/json", strings.NewReader(`{"attributes":{"api_key":"sk_0"}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Fatalf("check: %s", r.Status)
		}
	}
}
