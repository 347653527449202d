package config

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Print writes what is in force as a weir.yaml, each field with where it came
// from as a comment. Passwords are not shown.
func (c *Config) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	group := ""
	for i := range fields {
		f := &fields[i]
		above, name, nested := strings.Cut(f.path, ".")
		indent := "  "
		if !nested {
			above, name, indent = "", f.path, ""
		}
		if above != group && nested {
			_, _ = fmt.Fprintf(t, "%s:\n", above) // Flush reports
		}
		group = above
		value := f.value(c)
		if value == "" {
			_, _ = fmt.Fprintf(t, "%s# %s: not set\n", indent, name)
			continue
		}
		_, _ = fmt.Fprintf(t, "%s%s: %s\t# %s\n", indent, name, value, c.origins[f.path])
	}
	return t.Flush()
}

// value is a field's value in YAML, empty when it has none.
func (f *field) value(c *Config) string {
	items := f.get(c)
	var parts []string
	for _, i := range items {
		part := scalar(f.item("", i.text, nil).shown)
		if f.form == mapping {
			part = scalar(i.name) + ": " + part
		}
		parts = append(parts, part)
	}
	switch {
	case f.form == list:
		return "[" + strings.Join(parts, ", ") + "]"
	case len(parts) == 0:
		return ""
	case f.form == mapping:
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return parts[0]
}

// plainScalar is what means the same without quotes anywhere in YAML.
var plainScalar = regexp.MustCompile(`^[A-Za-z0-9/.][A-Za-z0-9_./+@-]*(:[A-Za-z0-9_./+@-]+)*$`)

func scalar(s string) string {
	if plainScalar.MatchString(s) && s != "null" {
		return s
	}
	return strconv.Quote(s)
}

// Reference is the table of all fields in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString("| field | value | default | flag | variable | meaning |\n|---|---|---|---|---|---|\n")
	for i := range fields {
		f := &fields[i]
		def := f.shown
		if f.def != "" {
			def = "`" + f.def + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | `--%s` | `%s` | %s |\n", f.path, f.kind, def, f.flag(), f.env(), f.doc)
	}
	return b.String()
}
