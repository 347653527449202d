package redis

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/limiter/quota"
	"weir/limiter/store"
)

func TestNamesAndEntriesAreRead(t *testing.T) {
	for _, n := range []store.RowName{{Start: 1, End: 2}, {Rule: "a b", Key: "c d", Start: -5, End: 1 << 40, Generation: math.MaxUint32}, {Rule: "5 5", Key: "\x00\xff"}, {Key: "only a key"}} {
		got, err := parseName(string(appendName(nil, &n)))
		if err != nil || got != n {
			t.Errorf("%+v came back as %+v, %v", n, got, err)
		}
	}
	for _, bad := range []string{"", "1 2 3", "1 2 0 3", "1 2 3 abc", "1 2 0 4 abc", "1 2 0 -1 abc", "a 2 0 1 abc", "1 2 0 99999999999999999999 a", "1 2 -1 0 a", "1 2 4294967296 0 a"} {
		if n, err := parseName(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, n)
		}
	}
	c := quota.Count{Version: 5, Taken: 2, Returned: 1}
	for _, c := range []quota.Count{c, {Version: 1 << 53}, {Version: 1, Unmet: 5}, {Version: 1, Granted: 1 << 53}, c.Give("us", 5).Give("9:us=1 2:x=", 1<<53-6)} {
		text := string(appendEntry(nil, &c))
		if e, err := parseEntry("00000000000000ff", text); err != nil || e != (store.Entry{Reign: 255, Count: c}) {
			t.Errorf("%q: %+v, %v", text, e, err)
		}
		if (c.Gifts == "" && c.Granted == 0 && c.Unmet == 0) != (strings.Count(text, " ") == 2) {
			t.Errorf("%+v is written %q", c, text)
		}
	}
	for _, bad := range [][2]string{{"ff", "3 2 1"}, {"0000000000000000", "3 2 1"}, {"00000000000000fg", "3 2 1"}, {"00000000000000ff", "3 2"}, {"00000000000000ff", "x 2 1"}, {"00000000000000ff", "3 -2 1"}, {"00000000000000ff", "3 2 99999999999999999999"},
		{"00000000000000ff", "3 2 9007199254740993"}, {"00000000000000ff", "3 2 1 0"}, {"00000000000000ff", "3 2 1 0 0"}, {"00000000000000ff", "3 2 1 1 0 0"}, {"00000000000000ff", "3 2 1 0 0 0 "},
		{"00000000000000ff", "3 2 1 1 0 0 2:us=2"}, {"00000000000000ff", "3 2 1 1 0 0 2:us=1 "}, {"00000000000000ff", "3 2 1 2 0 0 2:us=1 2:ap=1"}, {"00000000000000ff", "3 2 1 0 0 0 2:us=0"},
		{"00000000000000ff", "3 2 1 1 0 0 3:us=1"}, {"00000000000000ff", "3 2 1 1 0 0 9:us=1"}, {"00000000000000ff", "3 2 1 1 0 0 -1:us=1"}, {"00000000000000ff", "3 2 1 1 0 0 0:=1"}} {
		if e, err := parseEntry(bad[0], bad[1]); err == nil {
			t.Errorf("%q was read as %+v", bad, e)
		}
	}
}

func FuzzParseName(f *testing.F) {
	f.Add("1 2 7 3 abcdef")
	f.Add("-1 9223372036854775807 0 0 ")
	f.Fuzz(func(t *testing.T, s string) {
		n, err := parseName(s)
		if err != nil {
			return
		}
		again, err := parseName(string(appendName(nil, &n)))
		if err != nil || again != n {
			t.Fatalf("%q: %+v came back as %+v, %v", s, n, again, err)
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	f.Add("00000000000000ff", "3 2 1")
	f.Add("00000000000000ff", "3 2 1 6 0 1 2:ap=1 7:us-east=5")
	f.Fuzz(func(t *testing.T, field, value string) {
		e, err := parseEntry(field, value)
		if err != nil {
			return
		}
		again, err := parseEntry(field, string(appendEntry(nil, &e.Count)))
		if err != nil || again != e || e.Reign == 0 || e.Taken < 0 || e.Returned < 0 {
			t.Fatalf("%q %q: %+v came back as %+v, %v", field, value, e, again, err)
		}
	})
}

// TestAnyReplyIsRead: one that no script would send is an error, and no more.
func TestAnyReplyIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := storeCall(rapid.IntRange(0, 2).Draw(t, "buckets"), rapid.IntRange(0, 2).Draw(t, "quotas"))
		r := newRequest((*call)(c))
		defer r.release()
		r.restOn(new(reigns), false)
		number := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 40), rapid.Int64())
		reply := append([]int64{1}, rapid.SliceOfN(number, 0, 40).Draw(t, "reply")...)
		status, err := r.read(reply)
		if want := 2 + 3*len(c.Buckets) + (1+rowReply)*len(c.Quotas); err == nil && (status != store.Allowed || len(reply) < want) {
			t.Fatalf("%v was read, status %d", reply, status)
		}
	})
}

func storeCall(buckets, quotas int) *store.Call {
	return &store.Call{Buckets: make([]store.BucketTake, buckets), Quotas: make([]store.QuotaTake, quotas)}
}
