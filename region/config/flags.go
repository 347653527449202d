package config

import (
	"strings"

	"github.com/spf13/pflag"
)

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
