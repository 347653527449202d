package acceptance

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
)

// Ports of every node and Redis; their addresses differ.
const (
	grpcPort   = 7420
	httpPort   = 7421
	gossipPort = 7422
	redisPort  = 6379
)

var (
	addresses   atomic.Uint32
	addressBase = rand.Uint32N(1 << 16)
)

// newIP is a loopback address that nothing else uses: of the 24 bits, 16 are
// drawn for this run and 8 count.
func newIP() string {
	n := addresses.Add(1)
	high := addressBase + n/200
	return fmt.Sprintf("127.%d.%d.%d", 1+high>>8%254, high&0xff, 10+n%200)
}
