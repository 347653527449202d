// Package rule holds what rules say: whom they match, whom they count, and
// their limits; read from YAML and matched against a request's attributes.
package rule

import "weir/limiter/bucket"

// Attributes are what is known of a request, by name.
type Attributes map[string]string

// Rule is one rule of rules.yaml. A rule applies to a request when every
// matcher accepts it and every attribute of CountBy is present.
type Rule struct {
	Name    string
	Match   []Matcher // at most one of an attribute
	CountBy []string
	// Limits in the order limit, quota; at least one.
	Limits []Limit
}

// Matcher accepts a request whose attribute has one of the values.
type Matcher struct {
	Attribute string
	Values    []string
}

// Limit is one limit of a rule: a bucket or, when Quota is set, a quota.
type Limit struct {
	Bucket bucket.Rate
	Quota  *Quota
}

// Quota returns the rule's quota, nil when it has none or the rule is nil.
func (r *Rule) Quota() *Quota {
	if r == nil {
		return nil
	}
	for i := range r.Limits {
		if q := r.Limits[i].Quota; q != nil {
			return q
		}
	}
	return nil
}

// applies says whether the rule applies to a request.
func (r *Rule) applies(attrs Attributes) bool {
	for i := range r.Match {
		if !r.Match[i].accepts(attrs) {
			return false
		}
	}
	for _, name := range r.CountBy {
		if _, ok := attrs[name]; !ok {
			return false
		}
	}
	return true
}

func (m *Matcher) accepts(attrs Attributes) bool {
	value, ok := attrs[m.Attribute]
	if !ok {
		return false
	}
	for _, v := range m.Values {
		if v == value {
			return true
		}
	}
	return false
}
