package chaos

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	weirv1 "weir/proto/weir/v1"
)

// view is what one node shows at one moment.
type view struct {
	node   *node
	life   int64
	asked  time.Time
	taken  map[counted]int64 // grows only
	net    map[counted]int64 // taken less given back
	rights map[counted]int64 // what the region may let through by itself
	gifts  map[counted]int64 // received from other regions, in all
	unmet  map[counted]int64 // the largest cost refused for want of rights
	touch  map[string]weirv1.Touch
	stale  map[string]time.Duration // age of the newest state heard; below 0 is never
	err    error                    // then the rest is empty
}

// region is that of the node.
func (v *view) region() string { return v.node.region.name }

// pageSize is the most quotas a page may hold.
const pageSize = 1000

// look asks a node for all its quotas, at the door that people use.
func (n *node) look(ctx context.Context) view {
	v := view{node: n, life: n.life.Load(), asked: time.Now(),
		taken: map[counted]int64{}, net: map[counted]int64{}, rights: map[counted]int64{}, gifts: map[counted]int64{}, unmet: map[counted]int64{},
		touch: map[string]weirv1.Touch{}, stale: map[string]time.Duration{}}
	for token := ""; ; {
		page, err := n.page(ctx, token)
		if err != nil {
			v.err = err
			return v
		}
		for _, q := range page.Quotas {
			v.take(q)
		}
		for _, r := range page.Regions {
			v.touch[r.Region], v.stale[r.Region] = r.Touch, time.Duration(r.StalenessMs)*time.Millisecond
		}
		if token = page.NextPageToken; token == "" {
			return v
		}
	}
}

func (n *node) page(ctx context.Context, token string) (*weirv1.ListQuotasResponse, error) {
	body, code, err := n.get(ctx, fmt.Sprintf("/v1/quotas?pageSize=%d&pageToken=%s", pageSize, url.QueryEscape(token)))
	if err != nil {
		return nil, err
	}
	if code != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d: %s", n.name, code, body)
	}
	page := new(weirv1.ListQuotasResponse)
	if err := protojson.Unmarshal(body, page); err != nil {
		return nil, fmt.Errorf("%s: %w", n.name, err)
	}
	return page, nil
}

// take takes in one quota.
func (v *view) take(q *weirv1.Quota) {
	for _, use := range q.ByRegion {
		c := counted{pot{q.Rule, q.Key, q.PeriodEndUnixSeconds}, use.Region}
		v.taken[c], v.net[c], v.rights[c] = use.Taken, use.Taken-use.GivenBack, use.Rights
		v.unmet[c] = use.Unmet
		for _, gift := range use.ReceivedFrom {
			v.gifts[c] += gift.Units
		}
	}
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
	now := time.Now()
	for c, least := range floor {
		if v.net[c] < least && !c.ended(now) {
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
			if v.taken[c] < least && !c.ended(time.Now()) {
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
