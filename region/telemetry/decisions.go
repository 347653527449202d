package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"weir/limiter"
)

// Decisions counts what was decided. Its series are bounded by the number of
// rules: a key is never a label.
type Decisions struct {
	requests *prometheus.CounterVec
	denied   *prometheus.CounterVec

	// Looking a counter up by labels hashes and locks; the few that occur are
	// kept here.
	cache sync.Map // decisionLabels → [2]prometheus.Counter
}

type decisionLabels struct {
	keyType string
	kind    limiter.Kind
	allowed bool
	rule    string
	reason  limiter.Reason
}

// NewDecisions registers the counters.
func NewDecisions(reg prometheus.Registerer) *Decisions {
	d := &Decisions{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rate_limiter_requests_total",
			Help: "Checks decided, by what the reported limit counts, its algorithm and the result.",
		}, []string{"key_type", "algorithm", "result"}),
		denied: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rate_limiter_denied_requests_total",
			Help: "Checks denied, by the reported rule and the reason.",
		}, []string{"rule", "reason"}),
	}
	reg.MustRegister(d.requests, d.denied)
	return d
}

// Count counts one decision.
func (d *Decisions) Count(dec *limiter.Decision) {
	labels := decisionLabels{keyType: keyType(dec.CountBy), kind: dec.Kind, allowed: dec.Allowed}
	if !dec.Allowed {
		labels.rule, labels.reason = dec.Rule, dec.Reason
	}
	counters, ok := d.cache.Load(labels)
	if !ok {
		counters, _ = d.cache.LoadOrStore(labels, d.counters(labels))
	}
	for _, c := range counters.([2]prometheus.Counter) { //nolint:forcetypeassert // nothing else is stored
		if c != nil {
			c.Inc()
		}
	}
}

func (d *Decisions) counters(l decisionLabels) (c [2]prometheus.Counter) {
	result := "allowed"
	if !l.allowed {
		result = "denied"
		c[1] = d.denied.WithLabelValues(l.rule, l.reason.String())
	}
	c[0] = d.requests.WithLabelValues(l.keyType, algorithm(l.kind), result)
	return c
}

// keyType folds attribute names into the few that make a label.
func keyType(countBy string) string {
	switch countBy {
	case "api_key", "user", "ip":
		return countBy
	}
	return "other"
}

func algorithm(k limiter.Kind) string {
	switch k {
	case limiter.KindBucket:
		return "token_bucket"
	case limiter.KindQuota:
		return "quota"
	}
	return "none"
}
