package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"weir/limiter/document"
)

const envPrefix = "WEIR_"

// AddFlags adds a flag for every field. Load finds them again.
func AddFlags(flags *pflag.FlagSet) {
	for i := range fields {
		f := &fields[i]
		v := &flagValue{field: f, def: f.def}
		added := flags.VarPF(v, f.flag(), "", plain(f.doc)+" ("+f.env()+")")
		if f.kind == boolKind {
			added.NoOptDefVal = "true"
		}
	}
}

// plain is a doc text without Markdown.
func plain(doc string) string { return strings.TrimSuffix(strings.ReplaceAll(doc, "`", ""), ".") }

// flagValue keeps what a flag was given; Load checks it with everything else.
// Of a list or mapping given several times, all count; of others the last.
type flagValue struct {
	field *field
	def   string
	given []string
}

func (v *flagValue) String() string {
	if len(v.given) == 0 {
		return v.def
	}
	return strings.Join(v.given, ",")
}

func (v *flagValue) Set(s string) error {
	if v.field.form == single {
		v.given = v.given[:0]
	}
	v.given = append(v.given, s)
	return nil
}

// Type is shown in the help.
func (v *flagValue) Type() string {
	if v.field.kind == boolKind {
		return "bool"
	}
	return strings.ReplaceAll(v.field.kind, ": ", "=")
}

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

func (l *loading) file(name string, data []byte) {
	root, ok := document.Parse(name, data, &l.problems)
	if !ok {
		l.unsure = true
		return
	}
	l.group(root, "")
}

// group reads a mapping of fields, whose paths begin with the prefix.
func (l *loading) group(v document.Value, prefix string) {
	var want document.Fields
	for i := range fields {
		if rest, ok := strings.CutPrefix(fields[i].path, prefix); ok {
			name, _, _ := strings.Cut(rest, ".")
			if !slices.Contains(want.Known, name) {
				want.Known = append(want.Known, name)
			}
		}
	}
	if prefix == "" {
		want.Later = later
	}
	known, all := v.Fields(want)
	l.unsure = l.unsure || !all
	for _, name := range want.Known {
		value, given := known[name]
		if !given {
			continue
		}
		if i := slices.IndexFunc(fields, func(f field) bool { return f.path == prefix+name }); i >= 0 {
			l.fileField(&fields[i], value)
		} else {
			l.group(value, prefix+name+".")
		}
	}
}

func (l *loading) fileField(f *field, v document.Value) {
	items, ok := fileItems(f, v)
	if !ok {
		l.broken[f.path] = true
		return
	}
	file, line, column := v.Place()
	l.set(f, origin{file: file, line: line, column: column}, items)
}

func fileItems(f *field, v document.Value) (items []item, ok bool) {
	add := func(name string, v document.Value) {
		text, isText := v.Text()
		ok = ok && isText
		items = append(items, f.item(name, text, func(reason string) { v.Problem("%s", reason) }))
	}
	switch f.form {
	case list:
		var values []document.Value
		values, ok = v.ItemsOrOne()
		for _, v := range values {
			add("", v)
		}
	case mapping:
		var entries []document.Entry
		entries, ok = v.Entries()
		for _, e := range entries {
			add(e.Name, e.Value)
		}
	default:
		ok = true
		add("", v)
	}
	return items, ok
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

// environ reads the variables. One that is empty counts as unset.
func (l *loading) environ(environ []string) {
	values := map[string]string{}
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, envPrefix) && value != "" {
			values[name] = value
		}
	}
	for i := range fields {
		f := &fields[i]
		if value, given := values[f.env()]; given {
			l.text(f, origin{name: f.env()}, value)
		}
		delete(values, f.env())
	}
	l.strangers(values)
}

// otherVariables are read by other parts of weir than its configuration.
var otherVariables = []string{"WEIR_CONFIG", "WEIR_ADDR", "WEIR_TOKEN_FILE", "WEIR_CA", "WEIR_CERT", "WEIR_KEY"}

// serviceVariable is what Kubernetes sets for a service whose name begins with
// weir; nobody wrote it.
var serviceVariable = regexp.MustCompile(`_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$`)

// strangers refuses variables that look like fields and are none.
func (l *loading) strangers(values map[string]string) {
	var known []string
	for i := range fields {
		known = append(known, fields[i].env())
	}
	var names []string
	for name := range values {
		if !slices.Contains(otherVariables, name) && !serviceVariable.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		reason := "unknown variable; unset it"
		if near := document.Nearest(name, known); near != "" {
			reason = "unknown variable; did you mean " + near + "?"
		}
		for _, field := range later {
			if of := envPrefix + strings.ToUpper(field); name == of || strings.HasPrefix(name, of+"_") {
				reason = document.NotImplemented + "; unset it"
			}
		}
		l.problems.Add(document.Problem{Field: name, Reason: reason})
	}
}

func (l *loading) flags(flags *pflag.FlagSet) {
	for i := range fields {
		f := &fields[i]
		flag := flags.Lookup(f.flag())
		if flag == nil || !flag.Changed {
			continue
		}
		l.text(f, origin{name: "--" + f.flag()}, flag.Value.String())
	}
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
