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
	limit int64
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
	found := first{most: in.from + in.size}
	limits := quotaLimits(set)
	now := r.now().Unix()
	r.rows.Each(func(row *crdt.Row) {
		name := row.Name()
		if now < name.Start || now >= name.End || !in.matches(name) {
			return
		}
		page.Total++
		c := candidate{name: name, limit: limits[name.Rule]}
		if in.order == weirv1.QuotaOrder_QUOTA_ORDER_USED {
			c.share = float64(row.Value()) / float64(max(1, c.limit))
		}
		found.add(c)
	})
	slices.SortFunc(found.kept, compare)
	for _, c := range found.kept[min(in.from, len(found.kept)):] {
		r.rows.View(c.name.ID(), func(row *crdt.Row) { page.Quotas = append(page.Quotas, r.quota(row, c.limit)) })
	}
	if to := in.from + in.size; int64(to) < page.Total {
		page.Next = strconv.Itoa(to)
	}
	return page
}

func quotaLimits(set *rule.Set) map[string]int64 {
	limits := make(map[string]int64)
	for i := range set.Rules {
		if quota := quotaOf(&set.Rules[i]); quota != nil {
			limits[set.Rules[i].Name] = quota.Limit
		}
	}
	return limits
}

func (in *request) matches(name crdt.RowName) bool {
	if in.rule != "" && in.rule != name.Rule {
		return false
	}
	return in.search == "" || strings.Contains(name.Key, in.search) || strings.Contains(name.Rule, in.search)
}
