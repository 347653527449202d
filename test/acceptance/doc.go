// Package acceptance runs whole nodes: the real binary as real processes on
// loopback, with real Redis servers, asked over gRPC and HTTP as users do.
//
// Every node and every Redis has an address of its own in 127.0.0.0/8, so that
// it keeps its ports over a restart and meets nobody else's. With -race the
// binary is built with the race detector too. -short leaves out the larger
// forms; WEIR_ACCESS_LOG names an access log to count instead of the one beside
// the checkout.
package acceptance
