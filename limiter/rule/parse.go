package rule

import (
	"fmt"
	"slices"

	"weir/limiter/bucket"
	"weir/limiter/document"
)

// MaxRules is the most rules a file may have.
const MaxRules = 10_000

var (
	fileFields = document.Fields{
		Known: []string{"rules"},
		Later: []string{"tiers", "exempt"},
	}
	ruleFields = document.Fields{
		Known: []string{"name", "match", "count_by", "limit", "burst",
			"quota", "timezone", "anchor", "overshoot", "refundable"},
		Later: []string{"limits", "algorithm", "mode", "rollout", "tier", "cost",
			"on_store_failure", "notify", "concurrency", "idempotency"},
	}
)

// Parse reads a rules file; the name is only for messages. An error is a
// *document.Error that lists what is wrong, each with its place and with what
// would be right; there is no set then.
func Parse(name string, data []byte) (*Set, error) {
	var problems document.Problems
	rules := parseFile(name, data, &problems)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return NewSet(rules), nil
}

func parseFile(name string, data []byte, problems *document.Problems) []Rule {
	root, ok := document.Parse(name, data, problems)
	if !ok {
		return nil
	}
	fields, all := root.Fields(fileFields)
	if fields == nil {
		return nil
	}
	list := fields["rules"]
	if !list.Given() {
		if all {
			root.Problem("has no rules; write rules: and a list of them")
		}
		return nil
	}
	items, ok := list.Items()
	if !ok {
		return nil
	}
	switch {
	case len(items) == 0:
		list.Problem("is empty; write at least one rule")
		return nil
	case len(items) > MaxRules:
		list.Problem("has %d rules; the most is %d", len(items), MaxRules)
		return nil
	}
	f := rulesFile{lines: map[string]int{}, twins: map[string]string{}}
	for _, item := range items {
		f.rule(item)
	}
	return f.rules
}

// rulesFile is a file being read.
type rulesFile struct {
	rules []Rule
	lines map[string]int    // of each rule's name
	twins map[string]string // rule by what it matches, counts and limits

	unknownZones int
}

func (f *rulesFile) rule(v document.Value) {
	name, named := v.Peek("name")
	if named {
		v = v.Labelled(name)
	}
	fields, all := v.Fields(ruleFields)
	if fields == nil {
		return
	}
	var r Rule
	// Where a field was misspelt, none is called missing: it may be that one.
	ok := all && complete(v, fields)
	if n := fields["name"]; n.Given() {
		ok = f.readName(&r, n) && ok
	}
	if m := fields["match"]; m.Given() {
		ok = r.readMatch(m) && ok
	}
	if c := fields["count_by"]; c.Given() {
		ok = r.readCountBy(c) && ok
	}
	ok = r.readBucket(fields["limit"], fields["burst"]) && ok
	ok = f.readQuota(&r, fields) && ok
	if !ok || !r.reachable(v) || f.isTwin(v, &r) {
		return
	}
	f.rules = append(f.rules, r)
}

// complete says whether the rule has what every rule needs.
func complete(v document.Value, fields map[string]document.Value) bool {
	switch {
	case !fields["name"].Given():
		v.Problem("has no name; write name: and a word for it")
		return false
	case !fields["limit"].Given() && !fields["quota"].Given():
		v.Problem("has no limit; write limit: COUNT/UNIT, such as 100/s, or quota: COUNT/UNIT, such as 100000/day, or both")
		return false
	}
	return true
}

func (f *rulesFile) readName(r *Rule, v document.Value) bool {
	name, ok := v.Text()
	if !ok {
		return false
	}
	if err := checkName(name); err != nil {
		v.Problem("%s: %v", document.Quote(name), err)
		return false
	}
	if line, twice := f.lines[name]; twice {
		v.Problem("%q is also the name of the rule in line %d; names are unique", name, line)
		return false
	}
	_, f.lines[name], _ = v.Place()
	r.Name = name
	return true
}

// isTwin finds a rule that repeats an earlier one under another name. It could
// never decide anything by itself.
func (f *rulesFile) isTwin(v document.Value, r *Rule) bool {
	nameless := *r
	nameless.Name = ""
	body := fingerprint([]Rule{nameless})
	if before, twice := f.twins[body]; twice {
		v.Problem("is unreachable: it matches, counts and limits the same as %q, which always says the same; remove one", before)
		return true
	}
	f.twins[body] = r.Name
	return false
}

func (r *Rule) readBucket(limit, burst document.Value) bool {
	if !limit.Given() {
		if burst.Given() {
			burst.Problem("belongs to limit; a quota has no burst")
		}
		return !burst.Given()
	}
	if limit.IsMapping() {
		limit.Problem("limits by tier are %s; write one limit, such as 100/s", document.NotImplemented)
		return false
	}
	text, ok := limit.Text()
	if !ok {
		return false
	}
	count, window, err := parseLimit(text)
	if err != nil {
		limit.Problem("%s: %v", document.Quote(text), err)
		return false
	}
	size, at := count, limit
	if burst.Given() {
		if size, ok = readBurst(burst); !ok {
			return false
		}
		at = burst
	}
	rate, err := bucket.NewRate(count, window, size)
	if err != nil {
		at.Problem("%v", err)
		return false
	}
	r.Limits = append(r.Limits, Limit{Bucket: rate})
	return true
}

func readBurst(v document.Value) (int64, bool) {
	burst, ok := v.Int()
	if ok && burst < 1 {
		v.Problem("%d: must be at least 1, the cost of one request", burst)
		return 0, false
	}
	return burst, ok
}

// maxAttributes is how many attributes a request may have.
const maxAttributes = 64

// reachable refuses a rule that needs more attributes than a request may have.
func (r *Rule) reachable(v document.Value) bool {
	names := slices.Clone(r.CountBy)
	for _, m := range r.Match {
		if !slices.Contains(names, m.Attribute) {
			names = append(names, m.Attribute)
		}
	}
	if len(names) > maxAttributes {
		v.Problem("is unreachable: it needs %d attributes, and a request has at most %d", len(names), maxAttributes)
		return false
	}
	return true
}

// maxName is the most bytes of a rule's or an attribute's name.
const maxName = 128

// checkName accepts what can stand unescaped in headers, URLs, metrics and
// shells: the name of a rule goes to all of them.
func checkName(s string) error {
	const form = "write letters and digits, and - _ . : after the first"
	switch {
	case s == "":
		return fmt.Errorf("is empty; %s", form)
	case len(s) > maxName:
		return fmt.Errorf("has %d bytes; the most is %d", len(s), maxName)
	}
	for i, r := range s {
		switch {
		case isWord(r):
		case !isMark(r):
			return fmt.Errorf("cannot have %q; %s", r, form)
		case i == 0:
			return fmt.Errorf("cannot begin with %q; %s", r, form)
		}
	}
	return nil
}

func isWord(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

func isMark(r rune) bool { return r == '-' || r == '_' || r == '.' || r == ':' }
