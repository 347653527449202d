package redis

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"weir/crdt"
	"weir/limiter/store/storetest"
)

func splitOf(t testing.TB, version uint64, weights ...crdt.Weight) *crdt.Splits {
	t.Helper()
	split, err := crdt.NewSplit(version, weights)
	if err != nil {
		t.Fatal(err)
	}
	var s crdt.Splits
	s.Add(split)
	return &s
}

// TestSplitsAreKept: the first to come puts them, all others get them; what a
// node learns later is taken in; what is no splits is refused and left.
func TestSplitsAreKept(t *testing.T) {
	server := storetest.StartServer(t)
	client := plainClient(t, server)
	a, b := openStore(t, Options{URL: server.URL}), openStore(t, Options{URL: server.URL})
	ours := splitOf(t, 1, crdt.Weight{Region: "eu", Weight: 1}, crdt.Weight{Region: "us", Weight: 2})
	theirs := splitOf(t, 1, crdt.Weight{Region: "eu", Weight: 9})
	want := func(got crdt.Splits, err error, text string) {
		t.Helper()
		if kept := client.Get(t.Context(), splitsKey).Val(); err != nil || formatSplits(&got) != text || kept != text {
			t.Errorf("got %q, %v, kept %q, want %q", formatSplits(&got), err, kept, text)
		}
	}
	kept, err := a.Splits(t.Context(), &crdt.Splits{})
	want(kept, err, "")
	kept, err = a.Splits(t.Context(), ours)
	want(kept, err, "1 eu=1 us=2\n")
	kept, err = b.Splits(t.Context(), theirs)
	want(kept, err, "1 eu=1 us=2\n")
	more := ours.Clone()
	more.Merge(splitOf(t, 2, crdt.Weight{Region: "eu", Weight: 1}))
	more.Acknowledge(2, crdt.Ack{Region: "us", After: -7})
	kept, err = b.MergeSplits(t.Context(), &more)
	want(kept, err, "1 eu=1 us=2\n2 eu=1\n2 ack us -7\n")
	kept, err = a.MergeSplits(t.Context(), theirs)
	want(kept, err, "1 eu=1 us=2\n1 eu=9\n2 eu=1\n2 ack us -7\n")

	if err := client.Set(t.Context(), splitsKey, "1 eu=1 us=x\n", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() (crdt.Splits, error){
		"read":  func() (crdt.Splits, error) { return a.Splits(t.Context(), ours) },
		"merge": func() (crdt.Splits, error) { return a.MergeSplits(t.Context(), ours) },
	} {
		if got, err := ask(); !errors.Is(err, ErrSplits) || !strings.Contains(err.Error(), splitsKey) || got.Len() != 0 {
			t.Errorf("%s: got %v, %v", name, got.All(), err)
		}
	}
	client.Del(t.Context(), splitsKey)
	client.SAdd(t.Context(), splitsKey, "x")
	if _, err := a.Splits(t.Context(), ours); !errors.Is(err, ErrSplits) {
		t.Errorf("a set: %v", err)
	}
	if _, err := a.MergeSplits(t.Context(), ours); !errors.Is(err, ErrSplits) {
		t.Errorf("a set: %v", err)
	}
	server.Kill()
	if _, err := a.Splits(t.Context(), ours); err == nil {
		t.Error("splits of a server that is gone")
	}
}

// TestManyNodesMergeSplits at once: nothing that one of them knew is lost.
func TestManyNodesMergeSplits(t *testing.T) {
	server := storetest.StartServer(t)
	s := openStore(t, Options{URL: server.URL})
	var nodes sync.WaitGroup
	want := crdt.Splits{}
	for i := range 4 {
		mine := splitOf(t, uint64(1+i/2), crdt.Weight{Region: "eu", Weight: uint32(1 + i)})
		want.Merge(mine)
		nodes.Go(func() {
			eventually(t, func() error { _, err := s.MergeSplits(t.Context(), mine); return err })
		})
	}
	nodes.Wait()
	if got, err := s.Splits(t.Context(), &want); err != nil || got.Digest() != want.Digest() {
		t.Errorf("got %q, %v", formatSplits(&got), err)
	}
}

// TestSplitsAreWrittenAsTheyAreRead, whatever regions are called.
func TestSplitsAreWrittenAsTheyAreRead(t *testing.T) {
	names := rapid.SampledFrom([]string{"eu", "us-east.1", "more", "ack", "a b", "=", "\n", "é%20", strings.Repeat("x", 63)})
	rapid.Check(t, func(t *rapid.T) {
		var s crdt.Splits
		for range rapid.IntRange(1, 12).Draw(t, "splits") {
			split := crdt.Split{Version: rapid.Uint64Range(1, 5).Draw(t, "version")}
			for _, region := range rapid.SliceOfNDistinct(names, 1, 4, rapid.ID).Draw(t, "regions") {
				split.Weights = append(split.Weights, crdt.Weight{Region: region, Weight: rapid.Uint32Range(1, 3).Draw(t, "weight")})
			}
			split, err := crdt.NewSplit(split.Version, split.Weights)
			if err != nil {
				t.Fatal(err)
			}
			s.Add(split)
			s.Acknowledge(split.Version, crdt.Ack{Region: names.Draw(t, "acks"), After: rapid.Int64().Draw(t, "after")})
		}
		got, err := parseSplits(formatSplits(&s))
		if err != nil || got.Digest() != s.Digest() {
			t.Errorf("%q became %q: %v", formatSplits(&s), formatSplits(&got), err)
		}
	})
}

// TestNothingElseIsSplits.
func TestNothingElseIsSplits(t *testing.T) {
	for _, text := range []string{
		"", "\n", "1", "1\n", "1 eu=1", "1 eu=1\n\n", "01 eu=1\n", "1  eu=1\n", "1 eu=+1\n", "1 eu=01\n", "1 eu\n", "1 eu=0\n",
		"0 eu=1\n", "1 us=1 eu=1\n", "1 eu=1\n1 eu=1\n", "1 eu=2\n1 eu=1\n", "2 eu=1\n1 eu=1\n", "1 eu=1\n1 ack\n",
		"1 eu=1\n1 ack eu\n", "1 eu=1\n1 ack eu x\n", "1 ack eu 1\n1 eu=1\n", "1 ack eu 1\n", "1 more\n", "1 eu=1\n1 more\n1 more\n",
		"1 eu=1\r\n", "1 eu=1\n2 ack eu 1\n", "1 %zz=1\n", "1 eu=1\n1 ack %zz 1\n", "-1 eu=1\n", "1 eu=1000001\n", strings.Repeat("1 eu=1\n", 1<<18),
	} {
		if s, err := parseSplits(text); err == nil {
			t.Errorf("%.80q was taken for %v", text, s.All())
		}
	}
}

func FuzzParseSplits(f *testing.F) {
	f.Add("1 eu=1 us=2\n1 more\n2 eu=1\n2 ack us -7\n")
	f.Add("1 %20=1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parseSplits(text); err == nil && formatSplits(&s) != text {
			t.Errorf("it is written as %q", formatSplits(&s))
		}
	})
}
