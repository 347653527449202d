package gossip

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"testing"
	"time"
)

// TestParcelsWaitForTheirRegion: a parcel is held while its region is away,
// comes again until it is taken, and is then forgotten.
func TestParcelsWaitForTheirRegion(t *testing.T) {
	eu := open(t, testConfig("eu-1", "eu"))
	payload := []byte("a receipt")
	if err := eu.Post("us", payload, testNowUnix+60); err != nil {
		t.Fatal(err)
	}
	var tries atomic.Int32
	got := make(chan []byte, 10)
	cfg := testConfig("us-1", "us", eu.Addr())
	cfg.Deliver = func(_ context.Context, p []byte) error {
		if tries.Add(1) == 1 {
			return errors.New("not yet")
		}
		got <- p
		return nil
	}
	us := open(t, cfg)
	eventually(t, "the parcel is taken", func() bool { return eu.ParcelsWaiting() == 0 })
	if p := <-got; !bytes.Equal(p, payload) {
		t.Errorf("delivered %q", p)
	}
	if n := us.Stats().ParcelsDelivered; n == 0 {
		t.Error("no delivery was counted")
	}
}

// TestARegionThatIsAwayHoldsUpNoOther: its parcels wait without being sent, and
// go once it is there.
func TestARegionThatIsAwayHoldsUpNoOther(t *testing.T) {
	c := newCourier()
	wait := func(n byte, region string) {
		c.waiting[parcelID{n}] = &waitingParcel{parcel: parcel{id: parcelID{n}, region: region, untilUnix: testNowUnix}}
	}
	for n := range byte(3 * maxParcelsAtOnce) {
		wait(n, "ap")
	}
	wait(255, "us")
	due := c.due(0, testNowUnix, func(region string) bool { return region == "us" })
	if len(due) != 1 || due[0].region != "us" {
		t.Fatalf("%d parcels are due", len(due))
	}
	all := func(string) bool { return true }
	for range 3 {
		if due := c.due(0, testNowUnix, all); len(due) != maxParcelsAtOnce {
			t.Fatalf("%d parcels are due, want %d", len(due), maxParcelsAtOnce)
		}
	}
	if due := c.due(parcelRetry-1, testNowUnix, all); len(due) != 0 {
		t.Errorf("%d parcels are sent again too early", len(due))
	}
}

func TestParcelsAreBounded(t *testing.T) {
	const now int64 = testNowUnix
	cfg := testConfig("eu-1", "eu")
	var unix atomic.Int64
	unix.Store(now)
	cfg.Now = func() time.Time { return time.Unix(unix.Load(), 0) }
	m := open(t, cfg)
	if err := m.Post("us", make([]byte, MaxParcelBytes+1), now); !errors.Is(err, ErrParcel) {
		t.Errorf("too large: %v", err)
	}
	for range maxParcels {
		if err := m.Post("us", nil, now+60); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Post("us", nil, now+60); !errors.Is(err, ErrParcels) {
		t.Errorf("one too many: %v", err)
	}
	unix.Store(now + 61)
	eventually(t, "what is worth nothing any more is dropped", func() bool { return m.ParcelsWaiting() == 0 })
	if s := m.Stats(); s.ParcelsExpired != maxParcels {
		t.Errorf("%d expired", s.ParcelsExpired)
	}
}

func FuzzParcel(f *testing.F) {
	p := parcel{id: parcelID{1, 2}, from: "eu-1", region: "us", untilUnix: 5, payload: []byte("x")}
	f.Add(p.encode())
	f.Add(encodeReceived(p.id))
	f.Add([]byte{0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, received, err := decodeParcel(b)
		switch {
		case err != nil:
			if !errors.Is(err, ErrParcel) {
				t.Errorf("error %v", err)
			}
		case received:
			if !bytes.Equal(encodeReceived(p.id), b) {
				t.Errorf("%x came back otherwise", b)
			}
		default:
			if again, _, err := decodeParcel(p.encode()); err != nil || !reflect.DeepEqual(again, p) {
				t.Errorf("%+v came back as %+v, %v", p, again, err)
			}
		}
	})
}
