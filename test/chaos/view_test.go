package chaos

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	weirv1 "weir/proto/weir/v1"
)

// view is what one node shows at one moment.
type view struct {
	node  *node
	life  int64
	asked time.Time
	taken map[counted]int64 // grows only
	net   map[counted]int64 // taken less given back
	touch map[string]weirv1.Touch
	err   error // then the rest is empty
}

// maxPage is the most quotas a page holds: more than the clients have keys.
const maxPage = 1000

// look asks a node for all its quotas, at the door that people use.
func (n *node) look(ctx context.Context) view {
	v := view{node: n, life: n.life.Load(), asked: time.Now(),
		taken: map[counted]int64{}, net: map[counted]int64{}, touch: map[string]weirv1.Touch{}}
	body, code, err := n.get(ctx, fmt.Sprintf("/v1/quotas?pageSize=%d", maxPage))
	page := new(weirv1.ListQuotasResponse)
	switch {
	case err != nil:
		v.err = err
		return v
	case code != http.StatusOK:
		v.err = fmt.Errorf("%s: status %d: %s", n.name, code, body)
		return v
	}
	if err := protojson.Unmarshal(body, page); err != nil {
		v.err = fmt.Errorf("%s: %w", n.name, err)
		return v
	}
	if page.Total > maxPage {
		v.err = fmt.Errorf("%s: %d quotas, at most %d were expected", n.name, page.Total, maxPage)
	}
	for _, q := range page.Quotas {
		for _, use := range q.ByRegion {
			c := counted{q.Rule, q.Key, use.Region}
			v.taken[c], v.net[c] = use.Taken, use.Taken-use.GivenBack
		}
	}
	for _, r := range page.Regions {
		v.touch[r.Region] = r.Touch
	}
	return v
}

// look asks every open node at once.
func (w *world) look(ctx context.Context) []view {
	var open []*node
	for _, n := range w.nodes() {
		if n.open.Load() {
			open = append(open, n)
		}
	}
	views := make([]view, len(open))
	var asking sync.WaitGroup
	for i, n := range open {
		asking.Go(func() { views[i] = n.look(ctx) })
	}
	asking.Wait()
	return views
}

// different names a part that two of the views show differently, or a view
// that failed; empty is none.
func different(views []view) string {
	for _, v := range views {
		if v.err != nil {
			return fmt.Sprintf("%s: %v", v.node.name, v.err)
		}
		if what := missing(v, views[0].net); what != "" {
			return what + " at " + views[0].node.name
		}
		if what := missing(views[0], v.net); what != "" {
			return what + " at " + v.node.name
		}
	}
	return ""
}

// missing names a part of which a view shows less than the floor.
func missing(v view, floor map[counted]int64) string {
	for c, least := range floor {
		if v.net[c] < least {
			return fmt.Sprintf("%v is %d at %s, %d", c, v.net[c], v.node.name, least)
		}
	}
	return ""
}

// own collects what each region's nodes show of their own region: what the
// others must come to show. Only taken units: they never shrink.
func own(views []view) map[counted]int64 {
	floor := map[counted]int64{}
	for _, v := range views {
		for c, n := range v.taken {
			if c.region == v.node.region.name {
				floor[c] = max(floor[c], n)
			}
		}
	}
	return floor
}

// behind names a part of which some view shows fewer taken units than the
// floor; empty is none.
func behind(views []view, floor map[counted]int64) string {
	for _, v := range views {
		if v.err != nil {
			return fmt.Sprintf("%s: %v", v.node.name, v.err)
		}
		for c, least := range floor {
			if v.taken[c] < least {
				return fmt.Sprintf("%v has taken %d at %s, want %d", c, v.taken[c], v.node.name, least)
			}
		}
	}
	return ""
}

// badTouch names a region that some node of another does not see in the given
// state; empty is none.
func badTouch(views []view, want func(observer, subject string) weirv1.Touch) string {
	for _, v := range views {
		if v.err != nil {
			return fmt.Sprintf("%s: %v", v.node.name, v.err)
		}
		for subject, got := range v.touch {
			w := want(v.node.region.name, subject)
			if subject != v.node.region.name && w != weirv1.Touch_TOUCH_UNSPECIFIED && got != w {
				return fmt.Sprintf("%s sees %s as %v, want %v", v.node.name, subject, got, w)
			}
		}
	}
	return ""
}
