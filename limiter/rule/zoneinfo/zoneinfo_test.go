package zoneinfo

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestEveryZoneLoads(t *testing.T) {
	names := Names()
	if len(names) < 590 || !slices.IsSorted(names) {
		t.Errorf("%d names", len(names))
	}
	for _, name := range names {
		zone, err := Load(name)
		if err != nil || zone.String() != name {
			t.Errorf("%s: %v, %v", name, zone, err)
		}
		if again, _ := Load(name); again != zone {
			t.Errorf("%s is read twice", name)
		}
	}
}

func TestZoneIsOfTheProgram(t *testing.T) {
	t.Setenv("ZONEINFO", t.TempDir()) // whatever a machine has
	zone, err := Load("Australia/Lord_Howe")
	if err != nil {
		t.Fatal(err)
	}
	if _, offset := time.Unix(1_750_000_000, 0).In(zone).Zone(); offset != 37_800 {
		t.Errorf("offset %d", offset)
	}
}

func TestUnknownZones(t *testing.T) {
	for _, name := range []string{"", "Local", "local", "utc", "Factory", "posix/UTC", "right/UTC", "Europe", "Europe/", "../UTC", "/etc/localtime"} {
		if zone, err := Load(name); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v, %v", name, zone, err)
		}
	}
}

func TestSuggest(t *testing.T) {
	for written, want := range map[string]string{
		"America/Los_Angelos": "America/Los_Angeles",
		"america/los_angeles": "America/Los_Angeles",
		"America/Los Angeles": "America/Los_Angeles",
		"Los Angeles":         "America/Los_Angeles",
		"PST":                 "America/Los_Angeles",
		"berlin":              "Europe/Berlin",
		"Europe/Kiew":         "Europe/Kiev",
		"Asia/Calcuta":        "Asia/Calcutta",
		"utc":                 "UTC",
		"Mars/Olympus_Mons":   "",
	} {
		if got := Suggest(written); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}
