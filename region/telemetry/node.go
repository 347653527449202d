package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Figure is one figure that is read when it is scraped.
type Figure struct {
	Name, Help string
	Labels     prometheus.Labels
	Counter    bool // it only grows; else it is a gauge
	Read       func() float64
}

// Register registers figures that live elsewhere.
func Register(reg prometheus.Registerer, figures ...Figure) {
	for _, f := range figures {
		if f.Counter {
			reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: f.Name, Help: f.Help, ConstLabels: f.Labels}, f.Read))
			continue
		}
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: f.Name, Help: f.Help, ConstLabels: f.Labels}, f.Read))
	}
}

// Redis measures calls to the store in Redis.
type Redis struct {
	latency prometheus.Histogram
	errors  prometheus.Counter
}

// NewRedis registers the measures.
func NewRedis(reg prometheus.Registerer) *Redis {
	r := &Redis{
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "rate_limiter_redis_latency_seconds",
			Help: "Time from asking Redis to its answer or failure, a pipeline counted once.",
			// The budget of a call is 50 ms.
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1},
		}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rate_limiter_redis_errors_total",
			Help: "Calls to Redis that failed or came too late.",
		}),
	}
	reg.MustRegister(r.latency, r.errors)
	return r
}

// Observe takes one call's measures.
func (r *Redis) Observe(latency time.Duration, err error) {
	r.latency.Observe(latency.Seconds())
	if err != nil {
		r.errors.Inc()
	}
}
