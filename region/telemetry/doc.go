// Package telemetry holds what a node tells Prometheus. The number of series
// depends on rules and regions alone, never on keys.
package telemetry
