package acceptance

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	rlcommon "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const envoyRules = `
rules:
  - name: by-client
    match: {domain: edge}
    count_by: [client]
    limit: 5/m
  - name: by-tenant
    count_by: [tenant]
    limit: 100/h
  - name: by-account
    count_by: [account]
    quota: 3/day
  - name: vast
    count_by: [vast]
    quota: 9000000000000/day
  - name: odd
    count_by: [odd]
    limit: 5/10s
`

func descriptor(pairs ...string) *rlcommon.RateLimitDescriptor {
	d := new(rlcommon.RateLimitDescriptor)
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		d.Entries = append(d.Entries, &rlcommon.RateLimitDescriptor_Entry{Key: key, Value: value})
	}
	return d
}

// withHits is a descriptor with hits of its own.
func withHits(hits uint64, pairs ...string) *rlcommon.RateLimitDescriptor {
	d := descriptor(pairs...)
	d.HitsAddend = wrapperspb.UInt64(hits)
	return d
}

// should asks as Envoy does, and checks what every answer must hold.
func (c *client) should(t *testing.T, hits uint32, descriptors ...*rlcommon.RateLimitDescriptor) *rls.RateLimitResponse {
	t.Helper()
	out, err := c.envoy.ShouldRateLimit(t.Context(), &rls.RateLimitRequest{
		Domain: "edge", HitsAddend: hits, Descriptors: descriptors})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Statuses) != len(descriptors) {
		t.Fatalf("%d statuses for %d descriptors", len(out.Statuses), len(descriptors))
	}
	overall := rls.RateLimitResponse_OK
	for _, s := range out.Statuses {
		overall = max(overall, s.Code)
	}
	if out.OverallCode != overall {
		t.Fatalf("overall code %v, the statuses say %v", out.OverallCode, overall)
	}
	return out
}

const (
	ok   = rls.RateLimitResponse_OK
	over = rls.RateLimitResponse_OVER_LIMIT
)

func expect(t *testing.T, s *rls.RateLimitResponse_DescriptorStatus, code rls.RateLimitResponse_Code, remaining uint32) {
	t.Helper()
	if s.Code != code || s.LimitRemaining != remaining {
		t.Errorf("got %v with %d remaining, want %v with %d", s.Code, s.LimitRemaining, code, remaining)
	}
}

// resetWithin says whether the time to reset is at most that and at least a
// little less: the case takes time itself.
func resetWithin(t *testing.T, s *rls.RateLimitResponse_DescriptorStatus, most time.Duration) {
	t.Helper()
	got := s.DurationUntilReset.AsDuration()
	if got > most || got < most-10*time.Second {
		t.Errorf("%v until reset, want at most %v and not much less", got, most)
	}
}

// An unmodified Envoy gets what it knows how to use.
func TestEnvoy(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			awayFromMidnight(t, time.Minute)
			c := dial(t, startNode(t, startStore(t, kind), envoyRules))
			for name, run := range map[string]func(*testing.T, *client){
				"bucket": envoyBucket, "quota": envoyQuota, "together": envoyTogether, "hits": envoyHits,
				"no rule": envoyNoRule, "saturated": envoySaturated, "window without a name": envoyOdd,
				"refused": envoyRefused,
			} {
				t.Run(name, func(t *testing.T) { run(t, c) })
			}
		})
	}
}

func envoyBucket(t *testing.T, c *client) {
	d := descriptor("client=bucket")
	for i := range uint32(5) {
		s := c.should(t, 0, d).Statuses[0]
		expect(t, s, ok, 4-i)
		resetWithin(t, s, time.Duration(i+1)*12*time.Second)
	}
	s := c.should(t, 0, d).Statuses[0]
	expect(t, s, over, 0)
	resetWithin(t, s, time.Minute)
	l := s.CurrentLimit
	if l.GetRequestsPerUnit() != 5 || l.GetUnit() != rls.RateLimitResponse_RateLimit_MINUTE || l.GetName() != "by-client" {
		t.Errorf("current_limit is %v, want 5 a minute by by-client", l)
	}
}

func envoyQuota(t *testing.T, c *client) {
	d := descriptor("account=quota")
	for i := range uint32(3) {
		expect(t, c.should(t, 0, d).Statuses[0], ok, 2-i)
	}
	s := c.should(t, 0, d).Statuses[0]
	expect(t, s, over, 0)
	const day = 24 * time.Hour
	now := time.Now()
	resetWithin(t, s, now.Truncate(day).Add(day).Sub(now)+time.Second)
	if l := s.CurrentLimit; l.GetRequestsPerUnit() != 3 || l.GetUnit() != rls.RateLimitResponse_RateLimit_DAY {
		t.Errorf("current_limit is %v, want 3 a day", l)
	}
}

// envoyTogether: if one descriptor is over its limit, none is charged.
func envoyTogether(t *testing.T, c *client) {
	client, tenant, account := descriptor("client=together"), descriptor("tenant=together"), descriptor("account=together")
	out := c.should(t, 5, client, tenant)
	expect(t, out.Statuses[0], ok, 0)
	expect(t, out.Statuses[1], ok, 95)
	out = c.should(t, 0, tenant, account, client)
	expect(t, out.Statuses[0], ok, 95)
	expect(t, out.Statuses[1], ok, 3)
	expect(t, out.Statuses[2], over, 0)
	expect(t, c.should(t, 0, withHits(0, "tenant=together")).Statuses[0], ok, 95)
	expect(t, c.should(t, 0, withHits(0, "account=together")).Statuses[0], ok, 3)
	// The same key twice in one call is charged twice or not at all.
	expect(t, c.should(t, 2, account, account).Statuses[0], over, 3)
	out = c.should(t, 1, account, account)
	expect(t, out.Statuses[1], ok, 1)
}

func envoyHits(t *testing.T, c *client) {
	d := descriptor("client=hits")
	expect(t, c.should(t, 0, withHits(0, "client=hits")).Statuses[0], ok, 5)
	expect(t, c.should(t, 2, d).Statuses[0], ok, 3)
	expect(t, c.should(t, 7, withHits(1, "client=hits")).Statuses[0], ok, 2)
	expect(t, c.should(t, 3, d).Statuses[0], over, 2)
	expect(t, c.should(t, 0, withHits(3, "client=hits")).Statuses[0], over, 2)
	expect(t, c.should(t, 2, d).Statuses[0], ok, 0)
	expect(t, c.should(t, 0, withHits(0, "client=hits")).Statuses[0], ok, 0)
}

func envoyNoRule(t *testing.T, c *client) {
	s := c.should(t, 0, descriptor("nobody=counts"), descriptor("tenant=norule")).Statuses
	expect(t, s[0], ok, 0)
	expect(t, s[1], ok, 99)
	if s[0].CurrentLimit != nil || s[0].DurationUntilReset != nil {
		t.Errorf("no rule matched, but the status speaks of one: %v", s[0])
	}
}

func envoySaturated(t *testing.T, c *client) {
	s := c.should(t, 0, descriptor("vast=x")).Statuses[0]
	expect(t, s, ok, math.MaxUint32)
	if got := s.CurrentLimit.GetRequestsPerUnit(); got != math.MaxUint32 {
		t.Errorf("%d requests per unit, want %d", got, uint32(math.MaxUint32))
	}
}

// envoyOdd: Envoy has no unit of 10 s, so that the limit cannot be named.
func envoyOdd(t *testing.T, c *client) {
	s := c.should(t, 0, descriptor("odd=x")).Statuses[0]
	expect(t, s, ok, 4)
	if s.CurrentLimit != nil {
		t.Errorf("current_limit %v says something else than 5/10s", s.CurrentLimit)
	}
}

func envoyRefused(t *testing.T, c *client) {
	limited := descriptor("tenant=x")
	limited.Limit = &rlcommon.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 1, Unit: typev3.RateLimitUnit_SECOND}
	tests := map[string]*rls.RateLimitRequest{
		"domain":                     {Descriptors: []*rlcommon.RateLimitDescriptor{descriptor("tenant=x")}},
		"descriptors":                {Domain: "edge"},
		"descriptors[0].limit":       {Domain: "edge", Descriptors: []*rlcommon.RateLimitDescriptor{limited}},
		"descriptors[0].hits_addend": {Domain: "edge", Descriptors: []*rlcommon.RateLimitDescriptor{withHits(1<<40, "tenant=x")}},
	}
	for field, in := range tests {
		_, err := c.envoy.ShouldRateLimit(t.Context(), in)
		if s := status.Convert(err); s.Code() != codes.InvalidArgument || !strings.HasPrefix(s.Message(), field+":") {
			t.Errorf("%s: got %s: %q", field, s.Code(), fmt.Sprint(err))
		}
	}
}
