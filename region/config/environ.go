package config

import (
	"regexp"
	"slices"
	"strings"

	"weir/limiter/document"
)

const envPrefix = "WEIR_"

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
var otherVariables = []string{"WEIR_CONFIG", "WEIR_ADDR"}

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
