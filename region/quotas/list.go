package quotas

import (
	"cmp"
	"container/heap"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"weir/crdt"
	"weir/limiter/rule"
	weirv1 "weir/proto/weir/v1"
	"weir/region/api"
)

// request is what makes one page the same as another.
type request struct {
	rule, search string
	order        weirv1.QuotaOrder
	from, size   int
}

func parseRequest(in *weirv1.ListQuotasRequest) (request, error) {
	from, err := parseToken(in.PageToken)
	return request{rule: in.Rule, search: in.Search, order: in.Order, from: from, size: int(in.PageSize)}, err
}

// A page token is the place in the order where the page begins: rows that move
// between two pages may be seen twice or not at all, as everywhere that pages
// over moving numbers.

func parseToken(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	at, err := strconv.ParseUint(token, 10, 31)
	if err != nil {
		return 0, status.Error(codes.InvalidArgument, "page_token: not one that a page ended with; leave it empty for the first page")
	}
	return int(at), nil
}

// candidate is a row that the filters accept, with what orders it.
type candidate struct {
	name  crdt.RowName
	share float64 // used/limit; 0 unless ordered by it
}

func compare(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.name.Rule, b.name.Rule), cmp.Compare(a.name.Key, b.name.Key))
}

// first holds the first candidates in the order, as a heap with the last of
// them on top: the rest need not be kept or sorted.
type first struct {
	most int
	kept []candidate
}

func (f *first) add(c candidate) {
	switch {
	case len(f.kept) < f.most:
		heap.Push(f, c)
	case compare(c, f.kept[0]) < 0:
		f.kept[0] = c
		heap.Fix(f, 0)
	}
}

// Len, Less, Swap, Push and Pop implement heap.Interface.

func (f *first) Len() int           { return len(f.kept) }
func (f *first) Less(i, j int) bool { return compare(f.kept[i], f.kept[j]) > 0 }
func (f *first) Swap(i, j int)      { f.kept[i], f.kept[j] = f.kept[j], f.kept[i] }
func (f *first) Push(x any)         { f.kept = append(f.kept, x.(candidate)) } //nolint:forcetypeassert // add pushes nothing else
func (f *first) Pop() any           { panic("nothing is taken off") }

// list makes a page. It looks at every row of the current periods, which takes
// time in proportion to their number.
func (r *Reader) list(in request, set *rule.Set) *api.Page {
	page := &api.Page{Changes: r.rows.Changes()}
	of := quotasOf(set)
	found := r.walk(in, of, page)
	slices.SortFunc(found, compare)
	for _, c := range found[min(in.from, len(found)):] {
		if row := r.copy(c.name.ID()); row != nil {
			page.Quotas = append(page.Quotas, r.show(row, of[c.name.Rule]))
		}
	}
	if to := in.from + in.size; int64(to) < page.Total {
		page.Next = strconv.Itoa(to)
	}
	return page
}

// maxWalks bounds the walks for one page.
const maxWalks = 3

// walk finds the first rows that the page may need, and counts all that match.
// Of a row that was reset only the newest generation counts; where a walk meets
// one that it did not know of, it begins anew, though not for ever.
func (r *Reader) walk(in request, of map[string]*rule.Quota, page *api.Page) []candidate {
	now := r.now().Unix()
	for again := 1; ; again++ {
		found := first{most: in.from + in.size}
		page.Total = 0
		news := r.resets.walk(now, func(stale func(crdt.RowName) bool) {
			r.rows.Each(func(row *crdt.Row) {
				name := row.Name()
				if now < name.Start || now >= name.End || stale(name) || !in.matches(name) {
					return
				}
				page.Total++
				found.add(in.candidate(row, of[name.Rule]))
			})
		})
		if !news || again == maxWalks {
			return found.kept
		}
	}
}

func (in *request) candidate(row *crdt.Row, of *rule.Quota) candidate {
	c := candidate{name: row.Name()}
	if in.order == weirv1.QuotaOrder_QUOTA_ORDER_USED {
		limit := int64(1)
		if of != nil {
			limit = of.Limit
		}
		c.share = float64(row.Value()) / float64(limit)
	}
	return c
}

func quotasOf(set *rule.Set) map[string]*rule.Quota {
	quotas := make(map[string]*rule.Quota)
	for i := range set.Rules {
		if of := set.Rules[i].Quota(); of != nil {
			quotas[set.Rules[i].Name] = of
		}
	}
	return quotas
}

func (in *request) matches(name crdt.RowName) bool {
	if in.rule != "" && in.rule != name.Rule {
		return false
	}
	return in.search == "" || strings.Contains(name.Key, in.search) || strings.Contains(name.Rule, in.search)
}
