package api

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	weirv1 "weir/proto/weir/v1"
)

// Quotas is a node's view of the global quotas.
type Quotas interface {
	// Get returns one quota in its current period, or false when no rule of
	// that name has a quota.
	Get(rule, key string) (*weirv1.Quota, bool)
	// List returns one page, as it is now. The request has been checked. It
	// waits for others that list, until the context ends. Errors are those of
	// package status.
	List(ctx context.Context, req *weirv1.ListQuotasRequest) (*Page, error)
	// Recent does the same but may return a page made a while ago: the longer
	// pages take to make, the longer.
	Recent(ctx context.Context, req *weirv1.ListQuotasRequest) (*Page, error)
	// Changes returns a number that grows whenever a quota changed.
	Changes() uint64
}

// Page is a page of quotas, shared by all who ask for it: it is not written to.
type Page struct {
	// Changes is what Quotas.Changes returned before the page was made.
	Changes uint64
	Quotas  []*weirv1.Quota
	Next    string
	Total   int64
}

// Bounds on listing and watching.
const (
	defaultPage     = 100
	maxPage         = 1000
	maxSearchBytes  = 1024
	maxWatchers     = 256
	maxListers      = 256
	defaultInterval = time.Second
	minInterval     = 100 * time.Millisecond
	// ageInterval is how often a watcher hears of ages when no quota changes.
	ageInterval = time.Second
)

// QuotaService serves weir.v1.QuotaService.
type QuotaService struct {
	weirv1.UnimplementedQuotaServiceServer

	quotas   Quotas
	regions  Regions
	watchers chan struct{}
	listers  chan struct{}
	stopping <-chan struct{}
}

// NewQuotaService returns the service; watches end when stopping closes.
func NewQuotaService(q Quotas, r Regions, stopping <-chan struct{}) *QuotaService {
	return &QuotaService{
		quotas: q, regions: r, stopping: stopping,
		watchers: make(chan struct{}, maxWatchers), listers: make(chan struct{}, maxListers),
	}
}

// GetQuota implements weir.v1.QuotaService.
func (s *QuotaService) GetQuota(_ context.Context, in *weirv1.GetQuotaRequest) (*weirv1.GetQuotaResponse, error) {
	if in.Rule == "" {
		return nil, status.Error(codes.InvalidArgument, "rule: empty; name a rule that has a quota")
	}
	q, ok := s.quotas.Get(in.Rule, in.Key)
	if !ok {
		return nil, status.Errorf(codes.NotFound, "rule: no rule %q with a quota is in force", in.Rule)
	}
	return &weirv1.GetQuotaResponse{Quota: q, Regions: regionStates(s.regions.Regions())}, nil
}

// ListQuotas implements weir.v1.QuotaService.
func (s *QuotaService) ListQuotas(ctx context.Context, in *weirv1.ListQuotasRequest) (*weirv1.ListQuotasResponse, error) {
	if err := checkList(in); err != nil {
		return nil, err
	}
	select {
	case s.listers <- struct{}{}:
		defer func() { <-s.listers }()
	default:
		return nil, status.Errorf(codes.ResourceExhausted, "%d calls wait for this node to list quotas already; ask another", maxListers)
	}
	page, err := s.quotas.List(ctx, in)
	if err != nil {
		return nil, err
	}
	return s.listed(page), nil
}

// listed adds to a page what is known of the regions now.
func (s *QuotaService) listed(page *Page) *weirv1.ListQuotasResponse {
	return &weirv1.ListQuotasResponse{
		Quotas: page.Quotas, NextPageToken: page.Next, Total: page.Total,
		Regions: regionStates(s.regions.Regions()),
	}
}

func checkList(in *weirv1.ListQuotasRequest) error {
	switch {
	case in.PageSize < 0 || in.PageSize > maxPage:
		return status.Errorf(codes.InvalidArgument, "page_size: %d; must be 0 to %d", in.PageSize, maxPage)
	case len(in.Search) > maxSearchBytes:
		return status.Errorf(codes.InvalidArgument, "search: %d bytes; at most %d", len(in.Search), maxSearchBytes)
	case weirv1.QuotaOrder_name[int32(in.Order)] == "":
		return status.Errorf(codes.InvalidArgument, "order: %d is no order; choose one of QuotaOrder", in.Order)
	}
	if in.PageSize == 0 {
		in.PageSize = defaultPage
	}
	return nil
}

// WatchQuotas implements weir.v1.QuotaService.
func (s *QuotaService) WatchQuotas(in *weirv1.WatchQuotasRequest, stream weirv1.QuotaService_WatchQuotasServer) error {
	return s.Watch(stream.Context(), in, stream.Send)
}

// Watch sends a page at once and again when it changed, until the context or
// the node ends. Where pages take long to make, changes are shown later. A
// page's ages change by themselves, so it is sent at least every second.
func (s *QuotaService) Watch(ctx context.Context, in *weirv1.WatchQuotasRequest, send func(*weirv1.WatchQuotasResponse) error) error {
	interval, err := watchInterval(in.IntervalMs)
	if err != nil {
		return err
	}
	list := in.List
	if list == nil {
		list = new(weirv1.ListQuotasRequest)
	}
	if err := checkList(list); err != nil {
		return err
	}
	select {
	case s.watchers <- struct{}{}:
		defer func() { <-s.watchers }()
	default:
		return status.Errorf(codes.ResourceExhausted, "this node serves %d watchers already; ask another", maxWatchers)
	}
	w := watch{service: s, list: list, send: send}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := w.look(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-s.stopping:
			return status.Error(codes.Unavailable, "this node is draining; watch another")
		case <-tick.C:
		}
	}
}

// watch is what one watcher was shown.
type watch struct {
	service *QuotaService
	list    *weirv1.ListQuotasRequest
	send    func(*weirv1.WatchQuotasResponse) error
	page    *Page // nil before the first
	sent    time.Time
}

// look sends the page if it, or the time, has moved on.
func (w *watch) look(ctx context.Context) error {
	old := w.page != nil && time.Since(w.sent) >= ageInterval
	if w.page != nil && !old && w.service.quotas.Changes() == w.page.Changes {
		return nil
	}
	page, err := w.service.quotas.Recent(ctx, w.list)
	if err != nil || page == w.page && !old {
		return err
	}
	w.page, w.sent = page, time.Now()
	return w.send(&weirv1.WatchQuotasResponse{Page: w.service.listed(page)})
}

func watchInterval(ms int32) (time.Duration, error) {
	interval := time.Duration(ms) * time.Millisecond
	switch {
	case ms == 0:
		return defaultInterval, nil
	case interval < minInterval || interval > time.Minute:
		return 0, status.Errorf(codes.InvalidArgument, "interval_ms: %d; must be 0 (for 1000) or %d to 60000", ms, minInterval.Milliseconds())
	}
	return interval, nil
}
