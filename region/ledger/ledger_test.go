package ledger

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"weir/crdt"
	"weir/gossip"
	"weir/limiter/quota"
	"weir/limiter/store"
)

func newTestLedger(t testing.TB, maxRows int) *Ledger {
	t.Helper()
	mesh, err := gossip.Open(gossip.Config{Node: "eu-1", Region: "eu", Regions: []string{"eu", "us"}, Store: "redis",
		MaxRows: maxRows, BindAddr: "127.0.0.1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := mesh.Close(); err != nil {
			t.Error(err)
		}
	})
	mesh.MergeSplits(splitOf(t, 1, 1, 1))
	return New("eu", mesh, mesh.Splits, func() time.Duration { return 0 })
}

// quotaTake is a take of today's quota of a key, as the engine makes it in a
// reign.
func quotaTake(key string, reign store.Reign) *store.QuotaRow {
	start := time.Now().Unix() / 86400 * 86400
	return &store.QuotaRow{Row: store.RowName{Rule: "daily", Key: key, Start: start, End: start + 86400}, Reign: reign}
}

// answer is what a store in the take's reign says after the take.
func answer(take *store.QuotaRow, version uint64, taken int64) *store.QuotaRow {
	take.ID = store.ID(RowName(take.Row).ID()) // as View names it
	take.Entry = store.Entry{Reign: take.Reign, Count: quota.Count{Version: version, Taken: taken}}
	return take
}

// earlier returns the earlier entries that a call in a reign is to send, as the
// sum of their versions.
func earlier(t *testing.T, l *Ledger, reign store.Reign) uint64 {
	t.Helper()
	take := quotaTake("k", reign)
	if !l.View(take) {
		t.Fatal("the row cannot be counted")
	}
	return versions(take.Earlier)
}

// TestEarlierReignsAreSentUntilConfirmed walks one row through three reigns.
func TestEarlierReignsAreSentUntilConfirmed(t *testing.T) {
	l := newTestLedger(t, 10)
	l.Record(answer(quotaTake("k", 1), 5, 5))
	if got := earlier(t, l, 1); got != 0 {
		t.Errorf("its own reign's entry is sent: %d", got)
	}
	// The second reign knows nothing of the first until it was told.
	second := quotaTake("k", 2)
	l.View(second)
	if got := versions(second.Earlier); got != 5 {
		t.Fatalf("versions sent: %d, want 5", got)
	}
	l.Record(answer(second, 1, 1))
	if got := earlier(t, l, 2); got != 0 {
		t.Errorf("sent again after it was confirmed: %d", got)
	}
	// Another node had counted more in the first reign, and is heard late.
	record(l, RowName(second.Row), crdt.Entry{Replica: crdt.Replica{Region: "eu", Nonce: 1}, Version: 7, Taken: 7})
	if got := earlier(t, l, 2); got != 7 {
		t.Errorf("versions sent: %d, want 7", got)
	}
	if got := earlier(t, l, 3); got != 7+1 {
		t.Errorf("versions sent to the third reign: %d, want 8", got)
	}
	// A reign that is not known is told everything.
	if got := earlier(t, l, 0); got != 7+1 {
		t.Errorf("versions sent to an unknown reign: %d, want 8", got)
	}
}

func TestElsewhereIsWhatOthersTook(t *testing.T) {
	l := newTestLedger(t, 10)
	take := quotaTake("k", 1)
	record(l, RowName(take.Row), crdt.Entry{Replica: crdt.Replica{Region: "us", Nonce: 9}, Version: 3, Taken: 8, Returned: 1})
	l.Record(answer(take, 4, 4))
	if l.View(take); take.Elsewhere != 7 {
		t.Errorf("elsewhere: %d, want 7", take.Elsewhere)
	}
}

// TestARowHasOneName: what the store keeps a quota under is the row's ID.
func TestARowHasOneName(t *testing.T) {
	l := newTestLedger(t, 10)
	take := quotaTake("k", 1)
	l.View(take)
	if take.ID != store.ID(RowName(take.Row).ID()) {
		t.Errorf("the store's name is %x", take.ID)
	}
}

// TestWhatCannotBeReplicatedHasNoRoom: a name that nodes refuse, and a new row
// where the node holds as many as it may.
func TestWhatCannotBeReplicatedHasNoRoom(t *testing.T) {
	l := newTestLedger(t, 1)
	if l.View(quotaTake(strings.Repeat("x", crdt.MaxNameBytes+1), 1)) {
		t.Error("a key too long to replicate has room")
	}
	first := quotaTake("first", 1)
	if !l.View(first) {
		t.Fatal("the first row has no room")
	}
	l.Record(answer(first, 1, 1))
	if l.View(quotaTake("second", 1)) {
		t.Error("a row past the bound has room")
	}
	if !l.View(first) {
		t.Error("a row that is held has no room any more")
	}
}

func TestReconcileTakesInWhatTheStoreHolds(t *testing.T) {
	l := newTestLedger(t, 10)
	row := store.Row{Name: quotaTake("k", 1).Row, Entries: []store.Entry{{Reign: 1, Count: quota.Count{Version: 2, Taken: 2}}, {Reign: 2, Count: quota.Count{Version: 1, Taken: 1}}}}
	if news, _ := l.Reconcile(l.Epoch(), []store.Row{row}); news != 2 {
		t.Errorf("news: %d, want 2", news)
	}
	if news, _ := l.Reconcile(l.Epoch(), []store.Row{row}); news != 0 {
		t.Errorf("news the second time: %d", news)
	}
}

func TestConfirmationsEndWithTheirPeriod(t *testing.T) {
	l := newTestLedger(t, 10)
	l.Record(answer(quotaTake("k", 1), 5, 5))
	take := quotaTake("k", 2)
	l.View(take)
	l.Record(answer(take, 1, 1))
	l.DropEnded(take.Row.End)
	if len(l.confirmed.rows) != 1 {
		t.Fatalf("%d confirmations, want 1", len(l.confirmed.rows))
	}
	if l.DropEnded(take.Row.End + 1); len(l.confirmed.rows) != 0 {
		t.Errorf("%d confirmations after the period", len(l.confirmed.rows))
	}
}

func record(l *Ledger, name crdt.RowName, e crdt.Entry) {
	_, _, _ = l.rows.RecordAt(l.Epoch(), 0, name.ID(), name, e) // the tests look at what follows
}
