package snapshot

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	wirev1 "weir/proto/wire/v1"
)

// soundFile returns the bytes of a file with several periods, one of them
// inline, and a free list.
func soundFile(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	f := mustOpen(t, path)
	for _, rows := range [][]*wirev1.Row{testRows(300, 0, 1), testRows(400, day, 1), testRows(2, 2*day, 1), testRows(90, day, 2)} {
		if err := f.Save(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.DropEnded(0); err != nil {
		t.Fatal(err)
	}
	if err := f.SaveSplits(testSplits(1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// useDamaged opens a file with these bytes and uses it in every way. Rows that
// come back must be ones that were saved.
func useDamaged(t testing.TB, content []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, quiet)
	if errors.Is(err, ErrForeign) || errors.Is(err, ErrNewerFormat) {
		return // the damage hit the format version
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range loadAll(t, f) {
		one, two := testRow(row.GetKey(), row.GetEndUnixSeconds(), 1), testRow(row.GetKey(), row.GetEndUnixSeconds(), 2)
		if !proto.Equal(row, one) && !proto.Equal(row, two) {
			t.Errorf("row %v was never saved", row)
		}
	}
	if s, err := f.LoadSplits(); err == nil && s != nil && !proto.Equal(s, testSplits(1, 2, 3)) {
		t.Errorf("splits %v were never saved", s)
	}
	if err := f.Save(t.Context(), testRows(500, day, 1)); err != nil {
		t.Error(err)
	}
	if _, err := f.DropEnded(day); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	mustOpen(t, path)
}

// TestRandomDamage flips, overwrites and cuts bytes anywhere in a file.
func TestRandomDamage(t *testing.T) {
	sound := soundFile(t)
	rapid.Check(t, func(rt *rapid.T) {
		b := append([]byte(nil), sound...)
		for range rapid.IntRange(1, 8).Draw(rt, "places") {
			at := rapid.IntRange(0, len(b)-1).Draw(rt, "at")
			if rapid.Bool().Draw(rt, "in a page's head") {
				at = at&^(os.Getpagesize()-1) + at%64
			}
			copy(b[at:], rapid.SliceOfN(rapid.Byte(), 1, 16).Draw(rt, "bytes"))
		}
		if rapid.IntRange(0, 9).Draw(rt, "cut") == 0 {
			b = b[:rapid.IntRange(0, len(b)).Draw(rt, "length")]
		}
		useDamaged(t, b)
	})
}

// FuzzOpen damages a file in one place and may cut it.
func FuzzOpen(f *testing.F) {
	sound := soundFile(f)
	page := uint32(os.Getpagesize())
	f.Add(uint32(0), []byte{1}, uint32(0))
	f.Add(2*page+8, []byte{1, 0, 255, 255}, uint32(0))
	f.Add(3*page, []byte("snapshot"), uint32(5))
	f.Add(uint32(len(sound)), []byte{}, uint32(len(sound)/2))
	f.Fuzz(func(t *testing.T, at uint32, patch []byte, cut uint32) {
		b := append([]byte(nil), sound...)
		copy(b[int(at)%len(b):], patch)
		useDamaged(t, b[:len(b)-int(cut)%len(b)])
	})
}

// FuzzDecode decodes any bytes as a row. What it accepts encodes to a row
// with the same key.
func FuzzDecode(f *testing.F) {
	r, err := encode(testRow("a", day, 7))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(r.value[checksumLen:], true)
	f.Add(r.value, false)
	f.Add([]byte{0x32, 0}, true) // an entry without region_name
	f.Fuzz(func(t *testing.T, value []byte, sum bool) {
		if sum {
			value = append(binary.BigEndian.AppendUint32(nil, checksum(r.period[:], r.key[:], value)), value...)
		}
		row, err := decode(r.period[:], r.key[:], value)
		if err != nil {
			if !errors.Is(err, errDamagedRow) {
				t.Errorf("error is %v", err)
			}
			return
		}
		again, err := encode(row)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode(again.period[:], again.key[:], again.value)
		if err != nil || !proto.Equal(back, row) {
			t.Errorf("got %v, %v, want %v", back, err, row)
		}
	})
}

// TestDamagedRowIsLeftOut damages single rows inside a sound file.
func TestDamagedRowIsLeftOut(t *testing.T) {
	good, err := encode(testRow("good", day, 1))
	if err != nil {
		t.Fatal(err)
	}
	noName := testRow("x", day, 1)
	noName.Entries[0].RegionName = ""
	noNameBytes, err := proto.Marshal(noName)
	if err != nil {
		t.Fatal(err)
	}
	key := [rowKeyLen]byte{1}
	summed := func(value []byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, checksum(good.period[:], key[:], value)), value...)
	}
	tests := map[string][]byte{
		"empty":               {},
		"bit flipped":         append([]byte{good.value[0] ^ 1}, good.value[1:]...),
		"of another key":      good.value,
		"no protobuf":         summed([]byte{0xff}),
		"without region name": summed(noNameBytes),
	}
	for what, value := range tests {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			f := mustOpen(t, path)
			if err := f.Save(t.Context(), testRows(3, day, 1)); err != nil {
				t.Fatal(err)
			}
			if err := f.update(func(tx *bbolt.Tx) error {
				return tx.Bucket(good.period[:]).Put(key[:], value)
			}); err != nil {
				t.Fatal(err)
			}
			if rows := loadAll(t, f); len(rows) != 3 {
				t.Errorf("got %d rows, want 3", len(rows))
			}
			if s := f.Stats(); s.RowsSkipped != 1 || s.Failures != 0 {
				t.Errorf("stats are %+v", s)
			}
		})
	}
}
