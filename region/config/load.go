package config

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"weir/limiter/document"
)

// LoadFile is Load with a file, or with none when the path is empty.
func LoadFile(flags *pflag.FlagSet, environ []string, path string) (*Config, error) {
	if path == "" {
		return Load(flags, environ, "", nil)
	}
	data, err := ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return Load(flags, environ, path, data)
}

// Load reads a node's configuration from the text of weir.yaml (nil: none; the
// name is for messages), the environment (as os.Environ) and the flags that
// AddFlags added (nil: none). An error is a *document.Error that lists what is
// wrong, each with its place and what would be right.
func Load(flags *pflag.FlagSet, environ []string, name string, file []byte) (*Config, error) {
	l := &loading{config: Defaults(), broken: map[string]bool{}}
	if file == nil {
		name = ""
	} else {
		l.file(name, file)
	}
	l.environ(environ)
	if flags != nil {
		l.flags(flags)
	}
	l.defaultNames()
	l.whole(name)
	if err := l.problems.Err(); err != nil {
		return nil, err
	}
	return l.config, nil
}

// loading is a configuration in the making.
type loading struct {
	config   *Config
	problems document.Problems
	// broken are the fields of which some source is wrong: what rests on them
	// is not checked any further.
	broken map[string]bool
	// unsure says that the file has fields that are not known, so that none
	// can be called missing.
	unsure bool
}

// set gives a field its items, which came from there.
func (l *loading) set(f *field, from origin, items []item) {
	before := l.problems.Count()
	f.set(l.config, items)
	if l.problems.Count() > before {
		l.broken[f.path] = true
		return
	}
	l.config.origins[f.path] = from
}

// textItems splits what a flag or variable gives a field.
func (l *loading) textItems(f *field, from origin, text string) (items []item, ok bool) {
	fail := func(reason string) { l.problems.Add(from.problem(f.path, "%s", reason)) }
	if f.form == single {
		return []item{f.item("", text, fail)}, true
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		name, value, isPair := "", part, true
		if f.form == mapping {
			name, value, isPair = strings.Cut(part, "=")
		}
		if part == "" || !isPair {
			form := map[form]string{list: "a,b", mapping: "eu=1,us=2"}[f.form]
			fail(fmt.Sprintf("%s: write the form %s", document.Quote(text), form))
			return nil, false
		}
		items = append(items, f.item(name, value, fail))
	}
	return items, true
}

func (l *loading) text(f *field, from origin, text string) {
	items, ok := l.textItems(f, from, text)
	if !ok {
		l.broken[f.path] = true
		return
	}
	l.set(f, from, items)
}

// hostName is the default of node; tests set it.
var hostName = os.Hostname

// defaultNames fills in the defaults that are not the same everywhere.
func (l *loading) defaultNames() {
	c := l.config
	if c.Node == "" && !l.broken["node"] {
		name, err := hostName()
		name = strings.ToLower(name)
		if err == nil {
			err = checkName(name)
		}
		if err != nil {
			l.problems.Add(document.Problem{Field: "node", Reason: fmt.Sprintf(
				"the host name %q cannot be the node's (%v); %s", name, err, howTo("node", "NAME"))})
		}
		c.Node = name
	}
	if c.Regions == nil && c.Region != "" && !l.broken["regions"] {
		c.Regions = []Region{{Name: c.Region, Weight: 1}}
	}
}

func howTo(path, value string) string {
	f := fields[slices.IndexFunc(fields, func(f field) bool { return f.path == path })]
	return fmt.Sprintf("write %s: %s, --%s or %s", path, value, f.flag(), f.env())
}
