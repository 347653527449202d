package rule

import (
	"cmp"
	"maps"
	"slices"
)

// maxIndexed is how many attributes an index looks up.
const maxIndexed = 7

// index finds the rules that may apply without asking each one. Every rule
// stands under one of its matchers, under each of its values, or, when it has
// no matcher that is indexed, among those always asked. A request has one value
// of an attribute, so it meets each rule at most once. Lists hold positions in
// the set, rising.
type index struct {
	attributes []indexed
	always     []int32
}

type indexed struct {
	name    string
	byValue map[string][]int32
}

func newIndex(rules []Rule) *index {
	crowd := crowds(rules)
	names := busiest(rules)
	x := &index{}
	for _, name := range names {
		x.attributes = append(x.attributes, indexed{name, map[string][]int32{}})
	}
	for i := range rules {
		m := rarest(rules[i].Match, names, crowd)
		if m == nil {
			x.always = append(x.always, int32(i))
			continue
		}
		lists := x.attributes[slices.Index(names, m.Attribute)].byValue
		for _, v := range m.Values {
			lists[v] = append(lists[v], int32(i))
		}
	}
	return x
}

type pair struct{ attribute, value string }

// crowds counts the rules that name each value of each attribute.
func crowds(rules []Rule) map[pair]int {
	n := map[pair]int{}
	for i := range rules {
		for _, m := range rules[i].Match {
			for _, v := range m.Values {
				n[pair{m.Attribute, v}]++
			}
		}
	}
	return n
}

// busiest are the attributes that most rules match on, at most maxIndexed.
func busiest(rules []Rule) []string {
	n := map[string]int{}
	for i := range rules {
		for _, m := range rules[i].Match {
			n[m.Attribute]++
		}
	}
	names := slices.SortedFunc(maps.Keys(n), func(a, b string) int {
		return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b))
	})
	return names[:min(len(names), maxIndexed)]
}

// rarest is the indexed matcher whose values the fewest rules share.
func rarest(match []Matcher, names []string, crowd map[pair]int) *Matcher {
	var best *Matcher
	least := 0
	for i := range match {
		m := &match[i]
		if !slices.Contains(names, m.Attribute) {
			continue
		}
		sum := 0
		for _, v := range m.Values {
			sum += crowd[pair{m.Attribute, v}]
		}
		if best == nil || sum < least {
			best, least = m, sum
		}
	}
	return best
}

// match merges the candidates' lists, so that rules come in the set's order.
func (x *index) match(rules []Rule, attrs Attributes, to []*Rule) []*Rule {
	var lists [maxIndexed + 1][]int32
	n := 0
	if len(x.always) > 0 {
		lists[n], n = x.always, n+1
	}
	for i := range x.attributes {
		value, ok := attrs[x.attributes[i].name]
		if !ok {
			continue
		}
		if list := x.attributes[i].byValue[value]; len(list) > 0 {
			lists[n], n = list, n+1
		}
	}
	for n > 0 {
		first := 0
		for i := 1; i < n; i++ {
			if lists[i][0] < lists[first][0] {
				first = i
			}
		}
		if r := &rules[lists[first][0]]; r.applies(attrs) {
			to = append(to, r)
		}
		if lists[first] = lists[first][1:]; len(lists[first]) == 0 {
			n--
			lists[first] = lists[n]
		}
	}
	return to
}
