package api

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"weir/limiter"
	weirv1 "weir/proto/weir/v1"
	"weir/region/telemetry"
)

// Bounds on one check, as proto/weir/v1/limiter.proto states them.
const (
	maxAttributes = 64
	maxNameBytes  = 128
	maxValueBytes = 4096
	maxBatch      = 1000
)

// Decider decides checks; *limiter.Engine does.
type Decider interface {
	Check(ctx context.Context, req *limiter.Request) limiter.Decision
	CheckBatch(ctx context.Context, reqs []limiter.Request) []limiter.Decision
	CheckTogether(ctx context.Context, reqs []limiter.Request) []limiter.Decision
}

// Limiter serves weir.v1.LimiterService.
type Limiter struct {
	weirv1.UnimplementedLimiterServiceServer

	decider  Decider
	refunder Refunder
	regions  Regions
	gate     *Gate
	metrics  *telemetry.Decisions
}

// NewLimiter returns the service. It owns nothing it is given.
func NewLimiter(d Decider, f Refunder, r Regions, g *Gate, m *telemetry.Decisions) *Limiter {
	return &Limiter{decider: d, refunder: f, regions: r, gate: g, metrics: m}
}

// Check implements weir.v1.LimiterService.
func (l *Limiter) Check(ctx context.Context, in *weirv1.CheckRequest) (*weirv1.CheckResponse, error) {
	req, err := request("", in)
	if err != nil {
		return nil, err
	}
	if err := l.gate.Enter(1); err != nil {
		return nil, err
	}
	defer l.gate.Leave(1)
	d := l.decider.Check(ctx, &req)
	l.metrics.Count(&d)
	return l.response(&d), nil
}

// CheckBatch implements weir.v1.LimiterService.
func (l *Limiter) CheckBatch(ctx context.Context, in *weirv1.CheckBatchRequest) (*weirv1.CheckBatchResponse, error) {
	if len(in.Checks) > maxBatch {
		return nil, status.Errorf(codes.InvalidArgument, "checks: %d of them; at most %d fit one batch", len(in.Checks), maxBatch)
	}
	reqs := make([]limiter.Request, len(in.Checks))
	for i, c := range in.Checks {
		req, err := request(fmt.Sprintf("checks[%d].", i), c)
		if err != nil {
			return nil, err
		}
		reqs[i] = req
	}
	if err := l.gate.Enter(len(reqs)); err != nil {
		return nil, err
	}
	defer l.gate.Leave(len(reqs))
	out := &weirv1.CheckBatchResponse{Checks: make([]*weirv1.CheckResponse, len(reqs))}
	for i, d := range l.decider.CheckBatch(ctx, reqs) {
		l.metrics.Count(&d)
		out.Checks[i] = l.response(&d)
	}
	return out, nil
}

// request checks the bounds and translates; field is the path to the request
// in what the caller sent.
func request(field string, in *weirv1.CheckRequest) (limiter.Request, error) {
	cost := int64(1)
	if in.Cost != nil {
		if *in.Cost > limiter.MaxCost {
			return limiter.Request{}, status.Errorf(codes.InvalidArgument, "%scost: %d; must be at most %d", field, *in.Cost, limiter.MaxCost)
		}
		cost = int64(*in.Cost)
	}
	if err := boundAttributes(field+"attributes", in.Attributes); err != nil {
		return limiter.Request{}, err
	}
	return limiter.Request{Attributes: in.Attributes, Cost: cost, Explain: in.Explain}, nil
}

func boundAttributes(field string, attrs map[string]string) error {
	if len(attrs) > maxAttributes {
		return status.Errorf(codes.InvalidArgument, "%s: %d of them; at most %d fit one check", field, len(attrs), maxAttributes)
	}
	for name, value := range attrs {
		switch {
		case name == "":
			return status.Errorf(codes.InvalidArgument, "%s: an attribute without a name; name it, such as api_key", field)
		case len(name) > maxNameBytes:
			return status.Errorf(codes.InvalidArgument, "%s: a name of %d bytes; at most %d", field, len(name), maxNameBytes)
		case len(value) > maxValueBytes:
			return status.Errorf(codes.InvalidArgument, "%s[%q]: a value of %d bytes; at most %d", field, name, len(value), maxValueBytes)
		}
	}
	return nil
}

func (l *Limiter) response(d *limiter.Decision) *weirv1.CheckResponse {
	out := &weirv1.CheckResponse{
		Allowed:          d.Allowed,
		Rule:             d.Rule,
		Limit:            d.Limit,
		Burst:            d.Burst,
		Remaining:        d.Remaining,
		ResetUnixSeconds: d.Reset,
		RetryAfterUs:     d.RetryAfter.Microseconds(),
		DecidedBy:        decidedBy(d.DecidedBy),
		Receipt:          d.Receipt,
	}
	if !d.Allowed {
		out.Reason = reason(d.Reason)
	}
	if d.Kind == limiter.KindQuota {
		out.Global = globalView(l.regions.Regions())
	}
	for i := range d.Limits {
		out.Limits = append(out.Limits, limitStatus(&d.Limits[i]))
	}
	return out
}

func limitStatus(s *limiter.Status) *weirv1.LimitStatus {
	return &weirv1.LimitStatus{
		Rule: s.Rule, Kind: weirv1.LimitKind(s.Kind), Key: s.Key,
		Allowed: s.Fits, Reason: reason(s.Reason),
		Limit: s.Limit, Burst: s.Burst, Remaining: s.Remaining,
		ResetUnixSeconds: s.Reset, RetryAfterUs: s.RetryAfter.Microseconds(),
	}
}

// The enums of the engine and of the API stand in the same order; a test says
// so for every value.

func reason(r limiter.Reason) weirv1.Reason { return weirv1.Reason(r) }

func decidedBy(d limiter.DecidedBy) weirv1.DecidedBy { return weirv1.DecidedBy(d) + 1 }
