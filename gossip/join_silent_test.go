package gossip

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// silentAddr is an address that takes connections and never answers; given
// up counts those that the other side ended.
func silentAddr(t *testing.T, givenUp *atomic.Int64) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lis.Close() })
	go func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(io.Discard, conn) // until the other side gives up
				givenUp.Add(1)
				_ = conn.Close()
			}()
		}
	}()
	return lis.Addr().String()
}

// TestSilentAddressesHoldUpNoOther: a node that is told of many addresses that
// do not answer joins the one that does before the first of them is given up.
func TestSilentAddressesHoldUpNoOther(t *testing.T) {
	var givenUp atomic.Int64
	var join []string
	for range 12 {
		join = append(join, silentAddr(t, &givenUp))
	}
	last := testConfig("us-1", "us")
	last.BindAddr = "127.0.0.9" // addresses are tried in order
	live := open(t, last)
	node := open(t, testConfig("eu-1", "eu", append(join, live.Addr())...))
	eventually(t, "the live peer is a member", func() bool { return len(node.Members()) == 2 })
	if n := givenUp.Load(); n > 0 {
		t.Errorf("%d silent addresses were given up first", n)
	}
}
