package api

import (
	"context"
	"fmt"
	"math"
	"time"

	rlcommon "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"weir/limiter"
	"weir/region/telemetry"
)

// Envoy serves envoy.service.ratelimit.v3.RateLimitService. A descriptor's
// entries are attributes, the request's domain is the attribute "domain"; each
// descriptor is decided on its own, and if one is over its limit, none is
// charged. A descriptor that no rule matches is OK. One with is_negative_hits
// gives back what others of its kind charged, and is then a look.
type Envoy struct {
	rls.UnimplementedRateLimitServiceServer

	decider  Decider
	refunder Refunder
	gate     *Gate
	metrics  *telemetry.Decisions
}

// NewEnvoy returns the service. It owns nothing it is given.
func NewEnvoy(d Decider, f Refunder, g *Gate, m *telemetry.Decisions) *Envoy {
	return &Envoy{decider: d, refunder: f, gate: g, metrics: m}
}

// maxDescriptors bounds one call; Envoy sends a handful.
const maxDescriptors = 100

// ShouldRateLimit implements envoy.service.ratelimit.v3.RateLimitService.
func (e *Envoy) ShouldRateLimit(ctx context.Context, in *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
	reqs, err := envoyRequests(in)
	if err != nil {
		return nil, err
	}
	if err := e.gate.Enter(len(reqs)); err != nil {
		return nil, err
	}
	defer e.gate.Leave(len(reqs))
	e.giveBack(ctx, in, reqs)
	out := &rls.RateLimitResponse{
		OverallCode: rls.RateLimitResponse_OK,
		Statuses:    make([]*rls.RateLimitResponse_DescriptorStatus, len(reqs)),
	}
	for i, d := range e.decider.CheckTogether(ctx, reqs) {
		e.metrics.Count(&d)
		out.Statuses[i] = envoyStatus(&d)
		if !d.Allowed {
			out.OverallCode = rls.RateLimitResponse_OVER_LIMIT
		}
	}
	return out, nil
}

// giveBack gives back what descriptors with negative hits say, and makes looks of
// them. Envoy sends these when a response ends and takes no notice of the answer,
// and what else is in the call must be decided whatever becomes of them: a refund
// that fails is counted, and the charge stands.
func (e *Envoy) giveBack(ctx context.Context, in *rls.RateLimitRequest, reqs []limiter.Request) {
	for i, d := range in.Descriptors {
		if !d.GetIsNegativeHits() {
			continue
		}
		_, _ = e.refunder.GiveBack(ctx, &reqs[i]) // see above
		reqs[i].Cost = 0
	}
}

func envoyRequests(in *rls.RateLimitRequest) ([]limiter.Request, error) {
	switch {
	case in.Domain == "":
		return nil, status.Error(codes.InvalidArgument, "domain: empty; set the rate limit filter's domain")
	case len(in.Descriptors) == 0:
		return nil, status.Error(codes.InvalidArgument, "descriptors: none; send at least one")
	case len(in.Descriptors) > maxDescriptors:
		return nil, status.Errorf(codes.InvalidArgument, "descriptors: %d of them; at most %d", len(in.Descriptors), maxDescriptors)
	}
	reqs := make([]limiter.Request, len(in.Descriptors))
	for i, d := range in.Descriptors {
		if err := refuseLater(i, d); err != nil {
			return nil, err
		}
		cost, err := envoyCost(i, in, d)
		if err != nil {
			return nil, err
		}
		attrs := make(map[string]string, len(d.Entries)+1)
		for _, entry := range d.Entries {
			attrs[entry.Key] = entry.Value
		}
		attrs["domain"] = in.Domain
		if err := boundAttributes(fmt.Sprintf("descriptors[%d].entries", i), attrs); err != nil {
			return nil, err
		}
		reqs[i] = limiter.Request{Attributes: attrs, Cost: cost}
	}
	return reqs, nil
}

// refuseLater names what this version does not do rather than ignore it.
func refuseLater(i int, d *rlcommon.RateLimitDescriptor) error {
	if d.GetLimit() != nil {
		return status.Errorf(codes.InvalidArgument, "descriptors[%d].limit: a limit sent with the request is not implemented in this version; write it as a rule", i)
	}
	return nil
}

// envoyCost reads the two places of hits_addend: a descriptor's own counts
// before the request's, which means 1 when it is 0 or unset.
func envoyCost(i int, in *rls.RateLimitRequest, d *rlcommon.RateLimitDescriptor) (int64, error) {
	cost := uint64(in.HitsAddend)
	if cost == 0 {
		cost = 1
	}
	if own := d.GetHitsAddend(); own != nil {
		cost = own.GetValue()
	}
	if cost > limiter.MaxCost {
		return 0, status.Errorf(codes.InvalidArgument, "descriptors[%d].hits_addend: %d; must be at most %d", i, cost, limiter.MaxCost)
	}
	return int64(cost), nil
}

func envoyStatus(d *limiter.Decision) *rls.RateLimitResponse_DescriptorStatus {
	out := &rls.RateLimitResponse_DescriptorStatus{Code: rls.RateLimitResponse_OK}
	if !d.Allowed {
		out.Code = rls.RateLimitResponse_OVER_LIMIT
	}
	if d.Rule == "" {
		return out
	}
	out.LimitRemaining = saturated(d.Remaining)
	if unit, ok := envoyUnits[d.Window]; ok {
		out.CurrentLimit = &rls.RateLimitResponse_RateLimit{
			Name: d.Rule, RequestsPerUnit: saturated(d.Limit), Unit: unit,
		}
	}
	out.DurationUntilReset = durationpb.New(d.UntilReset)
	return out
}

// envoyUnits are the windows Envoy has a name for; a limit over another window
// (5/10s) is sent without current_limit, which cannot say it.
var envoyUnits = map[time.Duration]rls.RateLimitResponse_RateLimit_Unit{
	time.Second:        rls.RateLimitResponse_RateLimit_SECOND,
	time.Minute:        rls.RateLimitResponse_RateLimit_MINUTE,
	time.Hour:          rls.RateLimitResponse_RateLimit_HOUR,
	24 * time.Hour:     rls.RateLimitResponse_RateLimit_DAY,
	7 * 24 * time.Hour: rls.RateLimitResponse_RateLimit_WEEK,
}

func saturated(n int64) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }
