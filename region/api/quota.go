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
	// List returns one page. The request has been checked.
	List(req *weirv1.ListQuotasRequest) (Page, error)
	// Changes returns a number that grows whenever a quota changed.
	Changes() uint64
}

// Page is a page of quotas.
type Page struct {
	Quotas []*weirv1.Quota
	Next   string
	Total  int64
}

// Bounds on listing and watching.
const (
	defaultPage     = 100
	maxPage         = 1000
	maxSearchBytes  = 1024
	maxWatchers     = 256
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
	stopping <-chan struct{}
}

// NewQuotaService returns the service; watches end when stopping closes.
func NewQuotaService(q Quotas, r Regions, stopping <-chan struct{}) *QuotaService {
	return &QuotaService{quotas: q, regions: r, watchers: make(chan struct{}, maxWatchers), stopping: stopping}
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
func (s *QuotaService) ListQuotas(_ context.Context, in *weirv1.ListQuotasRequest) (*weirv1.ListQuotasResponse, error) {
	if err := checkList(in); err != nil {
		return nil, err
	}
	page, err := s.quotas.List(in)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &weirv1.ListQuotasResponse{
		Quotas: page.Quotas, NextPageToken: page.Next, Total: page.Total,
		Regions: regionStates(s.regions.Regions()),
	}, nil
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

// Watch sends a page at once and again when it may have changed, until the
// context or the node ends. A page's ages change by themselves, so it is sent
// at least every second.
func (s *QuotaService) Watch(ctx context.Context, in *weirv1.WatchQuotasRequest, send func(*weirv1.WatchQuotasResponse) error) error {
	interval, err := watchInterval(in.IntervalMs)
	if err != nil {
		return err
	}
	list := in.List
	if list == nil {
		list = new(weirv1.ListQuotasRequest)
	}
	select {
	case s.watchers <- struct{}{}:
		defer func() { <-s.watchers }()
	default:
		return status.Errorf(codes.ResourceExhausted, "this node serves %d watchers already; ask another", maxWatchers)
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var sent time.Time
	for seen := s.quotas.Changes() - 1; ; {
		if now := s.quotas.Changes(); now != seen || time.Since(sent) >= ageInterval {
			page, err := s.ListQuotas(ctx, list)
			if err != nil {
				return err
			}
			if err := send(&weirv1.WatchQuotasResponse{Page: page}); err != nil {
				return err
			}
			seen, sent = now, time.Now()
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
