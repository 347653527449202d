// Package api opens a node's doors: gRPC (weir.v1 and Envoy's rate limit
// service) and HTTP. It translates and decides nothing.
package api
