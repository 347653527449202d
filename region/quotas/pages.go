package quotas

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"weir/limiter/rule"
	weirv1 "weir/proto/weir/v1"
	"weir/region/api"
)

const (
	// maxPages bounds the pages kept for others that ask the same.
	maxPages = 64
	// restShare is how many times as long as it took to make a page it is shown
	// to watchers: they take a twentieth of a core at most, however many ask for
	// the same.
	restShare = 20
)

// pages keeps what was made last for each request. One page is made at a time:
// making one walks over all rows, under the lock that every check takes.
type pages struct {
	making chan struct{} // holds one while a page is made

	mu   sync.Mutex // guards last
	last map[request]made
}

// made is a page and how it came about.
type made struct {
	page  *api.Page
	rules *rule.Set
	cut   string // the regions that were cut off
	at    time.Time
	took  time.Duration
}

func newPages() pages {
	return pages{making: make(chan struct{}, 1), last: make(map[request]made)}
}

// List implements api.Quotas.
func (r *Reader) List(ctx context.Context, in *weirv1.ListQuotasRequest) (*api.Page, error) {
	req, err := parseRequest(in)
	if err != nil {
		return nil, err
	}
	return r.makePage(ctx, req)
}

// Recent implements api.Quotas.
func (r *Reader) Recent(ctx context.Context, in *weirv1.ListQuotasRequest) (*api.Page, error) {
	req, err := parseRequest(in)
	if err != nil {
		return nil, err
	}
	if m, ok := r.kept(req); ok && r.now().Sub(m.at) < restShare*m.took {
		return m.page, nil
	}
	return r.makePage(ctx, req)
}

// makePage returns a page no older than the call: one that another caller had
// made meanwhile, or its own. It waits its turn until the context ends.
func (r *Reader) makePage(ctx context.Context, req request) (*api.Page, error) {
	asked := r.rows.Changes()
	select {
	case r.pages.making <- struct{}{}:
		defer func() { <-r.pages.making }()
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if m, ok := r.kept(req); ok && m.page.Changes >= asked {
		return m.page, nil
	}
	m := made{rules: r.rules(), cut: r.cutOff(), at: r.now()}
	m.page = r.list(req, m.rules)
	m.took = r.now().Sub(m.at)
	r.pages.keep(req, m)
	return m.page, nil
}

// kept returns the page made last, unless other rules are in force, other regions
// are cut off, or another minute began, and with it maybe another period.
func (r *Reader) kept(req request) (made, bool) {
	r.pages.mu.Lock()
	defer r.pages.mu.Unlock()
	m, ok := r.pages.last[req]
	return m, ok && m.rules == r.rules() && m.cut == r.cutOff() && m.at.Unix()/60 == r.now().Unix()/60
}

func (p *pages) keep(req request, m made) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.last[req]; !ok && len(p.last) >= maxPages {
		p.dropOldest()
	}
	p.last[req] = m
}

// dropOldest makes room. The caller holds p.mu.
func (p *pages) dropOldest() {
	var oldest request
	var at time.Time
	for req, m := range p.last {
		if at.IsZero() || m.at.Before(at) {
			oldest, at = req, m.at
		}
	}
	delete(p.last, oldest)
}
