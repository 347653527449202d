package config

import (
	"slices"
	"strings"

	"weir/limiter/document"
)

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
