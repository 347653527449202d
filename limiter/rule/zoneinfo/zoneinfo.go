// Package zoneinfo holds the time zones of the IANA database within the program.
// Package time prefers what is installed on a machine. Nodes that read different
// zones would disagree on where a period begins, and count one quota as two.
//
// zoneinfo.zip is lib/time/zoneinfo.zip of Go's source tree; the data is in the
// public domain. Replace it by the one of a newer release, and Version with it.
package zoneinfo

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Version is the database's release.
const Version = "2025c"

//go:embed zoneinfo.zip
var archive []byte

// files are the archive's files by zone.
var files = sync.OnceValue(func() map[string]*zip.File {
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		panic("zoneinfo.zip: " + err.Error()) // it is part of the program
	}
	byName := make(map[string]*zip.File, len(r.File))
	for _, f := range r.File {
		if !strings.HasSuffix(f.Name, "/") && f.Name != "Factory" { // the zone of clocks nobody has set
			byName[f.Name] = f
		}
	}
	return byName
})

// Names returns the zones' names in order.
func Names() []string {
	names := make([]string, 0, len(files()))
	for name := range files() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ErrUnknown is what Load returns for a name that no zone has.
var ErrUnknown = errors.New("unknown time zone")

// loaded are the zones read so far: a file of ten thousand rules has few.
var loaded sync.Map // string to *time.Location; at most one of each name

// Load returns the zone of that name, or ErrUnknown. Upper and lower case differ.
func Load(name string) (*time.Location, error) {
	if zone, ok := loaded.Load(name); ok {
		return zone.(*time.Location), nil //nolint:forcetypeassert // nothing else is stored
	}
	file, ok := files()[name]
	if !ok {
		return nil, ErrUnknown
	}
	r, err := file.Open()
	if err != nil {
		return nil, fmt.Errorf("time zone %s: %w", name, err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("time zone %s: %w", name, err)
	}
	zone, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		return nil, fmt.Errorf("time zone %s: %w", name, err)
	}
	first, _ := loaded.LoadOrStore(name, zone)
	return first.(*time.Location), nil //nolint:forcetypeassert // nothing else is stored
}
