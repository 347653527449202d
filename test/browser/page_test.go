package browser

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var shots = flag.String("shots", "", "directory to write screenshots to")

// patience bounds every wait. What the page shows is at most a second behind
// the node; the rest is for a busy machine.
const patience = 10 * time.Second

var browserContext context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path, err := exec.LookPath("chromium")
	if err != nil {
		fmt.Fprintln(os.Stderr, "chromium is not installed; run: make setup")
		return 1
	}
	profile, err := os.MkdirTemp("", "weir-browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(profile)
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.UserDataDir(profile))
	defer stopAllocator()
	ctx, stop := chromedp.NewContext(allocator)
	defer stop()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "chromium does not start:", err)
		return 1
	}
	browserContext = ctx
	return m.Run()
}

// screen is what the page is shown on.
type screen struct {
	width, height int64
	dark          bool
	scale         float64 // 0 is 1
}

var (
	desktop = screen{width: 1440, height: 1000}
	phone   = screen{width: 390, height: 844}
)

// dashboardPage is one tab, with storage of its own, on the dashboard of a node.
type dashboardPage struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string // console errors, exceptions, refused resources
	allowed  []string // parts of problems the test expects
}

// open opens the dashboard at baseURL; hash may name a quota (#q/rule%2Fkey).
// When the test ends the page must have written no error to its console and
// broken no content security policy.
func open(t *testing.T, baseURL, hash string, s screen) *dashboardPage {
	t.Helper()
	p := &dashboardPage{t: t}
	ctx, cancel := chromedp.NewContext(browserContext, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.listen))
	t.Cleanup(cancel)
	ctx, cancelTimeout := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancelTimeout)
	p.ctx = ctx
	t.Cleanup(p.verdict)
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	media := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	call(p, log.Enable, cdp.Empty{})
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: media})
	call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watchPolicy})
	p.do(chromedp.EmulateViewport(s.width, s.height, chromedp.EmulateScale(max(s.scale, 1))), chromedp.Navigate(baseURL+"/"+hash))
	return p
}

const watchPolicy = `window.violations = [];
document.addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sourceFile + ':' + e.lineNumber));`

func (p *dashboardPage) listen(event any) {
	var problem string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error()
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			problem = fmt.Sprintf("console %s: %+v", e.Type, e.Args)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			problem = fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	}
	if problem == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, problem)
}

// allow lets problems pass that contain part.
func (p *dashboardPage) allow(part string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = append(p.allowed, part)
}

func (p *dashboardPage) verdict() {
	if !p.t.Failed() {
		for _, v := range eval[[]string](p, "window.violations") {
			p.t.Errorf("content security policy broken: %s", v)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		if !containsAny(problem, p.allowed) {
			p.t.Errorf("the page complained: %s", problem)
		}
	}
}

func containsAny(s string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

func (p *dashboardPage) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// press types keys where the focus is. A character goes as one event, as from
// a keyboard: what the page prevents is then not written either.
func (p *dashboardPage) press(keys string) {
	p.t.Helper()
	for _, key := range keys {
		if k := string(key); k == kb.Escape || k == kb.Enter || k == kb.ArrowDown {
			p.do(chromedp.KeyEvent(string(key)))
			continue
		}
		down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: string(key), Text: string(key)}
		call(p, input.DispatchKeyEvent, down)
		call(p, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: string(key)})
	}
}

func (p *dashboardPage) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// wait waits until the JavaScript expression is true.
func (p *dashboardPage) wait(what, expression string) {
	p.t.Helper()
	p.waitUntil(what, func() (bool, string) {
		// What is not there yet is not true yet.
		return eval[bool](p, "(() => { try { return !!("+expression+") } catch { return false } })()"), expression
	})
}

// waitUntil polls until done says so, and fails with what it said last.
func (p *dashboardPage) waitUntil(what string, done func() (bool, string)) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		ok, last := done()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			p.shoot("failed-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
			p.t.Fatalf("%s: not within %v: %s", what, patience, last)
		}
		time.Sleep(30 * time.Millisecond) // between two looks, not for luck
	}
}

// shoot writes a screenshot where -shots asks for them.
func (p *dashboardPage) shoot(name string) {
	p.t.Helper()
	if *shots == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func eval[T any](p *dashboardPage, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// call sends a command of the debugging protocol.
func call[P, R any](p *dashboardPage, command cdp.Command[P, R], params P) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, command, params); err != nil {
		p.t.Fatalf("%s: %v", command.Method, err)
	}
}

// goTo changes the address after the path.
func goTo(hash string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void]("location.hash = " + strconv.Quote(hash))
}
