package model

import (
	"fmt"
	"strings"
)

// plain are the actions whose words need no more than who acts, and in which
// region.
var plain = map[kind]string{
	actApply:   "the call of WHO reaches the store",
	actLose:    "the reply to WHO is lost",
	actAbandon: "WHO leaves its unresolved call as charged",
	actAlone:   "WHO allows 1 without the store",
	actSpend:   "WHO allows 1 from its lease",
	actForget:  "WHO gives up returning its lease",
	actRead:    "WHO reads its store's row",
	actSync:    "WHO writes its rows to disk",
	actClaim:   "WHO claims the store",
	actAnswer:  "WHO answers the exchange",
	actOpen:    "WHO opens a reign",
	actRestart: "WHO restarts from its disk",
	actPledge:  "WHO pledges itself to the next split",
	actDeduct:  "the store of WHERE deducts what it gave",
	actWipe:    "the store of WHERE loses all",
	actCopy:    "the replica of WHERE's store is up to date",
	actDemote:  "the old store of WHERE stops",
	actBegin:   "the period begins in region WHERE",
	actExpire:  "region WHERE drops the rows of the period",
	actDrop:    "a message is dropped",
	actEnd:     "the period ends",
}

// teller knows who is who just before an action happens.
type teller struct {
	c     *Config
	s     *State
	a     action
	g     *region
	nd    *node
	names *[maxRegions][maxNodes]uint8
}

// tell puts an action that is about to happen into words.
func (c *Config) tell(s *State, a action, names *[maxRegions][maxNodes]uint8) string {
	g := &s.Regions[a.Region]
	t := teller{c: c, s: s, a: a, g: g, nd: &g.Nodes[a.Node], names: names}
	if words, ok := plain[a.Kind]; ok {
		return strings.NewReplacer("WHO", t.who(), "WHERE", regionName(int(a.Region))).Replace(words)
	}
	for _, tell := range []func() string{t.ofCalls, t.ofLeases, t.ofReigns, t.ofNews} {
		if words := tell(); words != "" {
			return words
		}
	}
	return fmt.Sprintf("%+v", a)
}

func (t *teller) name(r, n int) string {
	return fmt.Sprintf("node %s%d", regionName(r), t.names[r][n]+1)
}

func (t *teller) who() string { return t.name(int(t.a.Region), int(t.a.Node)) }

// without names the peers whose answers an exchange goes without.
func (t *teller) without() string {
	var gone []string
	for n := range t.c.nodes(int(t.a.Region)) {
		peer := &t.g.Nodes[n]
		answered := t.nd.Phase == phaseClaimed && peer.Answered == 1
		if peer != t.nd && !answered && (peer.Up == 0 || t.a.A == 1) {
			gone = append(gone, t.name(int(t.a.Region), n))
		}
	}
	if gone == nil {
		return ""
	}
	return " without " + strings.Join(gone, ", ")
}

// reign names a replica: "A.2" is the second of region A.
func (t *teller) reign(k uint8) string {
	return fmt.Sprintf("reign %s.%d", regionName(int(t.a.Region)), k+1)
}

// when is words if flag is set.
func when(flag uint8, words string) string {
	if flag == 0 {
		return ""
	}
	return words
}

const replyLost = ", the reply is lost"

func (t *teller) ofCalls() string {
	a := t.a
	switch a.Kind {
	case actIssue:
		what := [...]string{callDecide: "sends a check of 1", callLease: "asks for a lease of %d", callGive: "asks to give %[2]s %[1]d in all"}[a.A]
		if a.A != callDecide {
			what = fmt.Sprintf(what+"%.0[2]s", a.B, regionName(int(a.C)))
		}
		return fmt.Sprintf("%s %s under %s%s", t.who(), what, t.reign(t.nd.Reign-1), t.outcome())
	case actReply:
		what := [...]string{callDecide: "the check is allowed", callLease: "it holds the lease", callGive: "the gift is known"}[t.nd.Call.Kind]
		return fmt.Sprintf("the reply reaches %s%s: %s", t.who(), when(t.nd.Call.Lost, " late"), what)
	case actSettle:
		return fmt.Sprintf("%s cancels its unresolved call by id%s", t.who(), when(a.A, replyLost))
	}
	return ""
}

// outcome is what the store makes of a call that arrives at once.
func (t *teller) outcome() string {
	if t.c.Slow {
		return ""
	}
	next := *t.s
	t.c.step(&next, t.a)
	cl := &next.Regions[t.a.Region].Nodes[t.a.Node].Call
	if cl.Kind == callNone {
		return "; refused"
	}
	return "; the store's entry is " + cl.Reply.String()
}

func (t *teller) ofLeases() string {
	a, nd := t.a, t.nd
	switch a.Kind {
	case actReturn:
		return fmt.Sprintf("%s stops using its lease of %d left", t.who(), nd.Lease.Units)
	case actReturned:
		return fmt.Sprintf("%s returns the lease of %s under %s%s", t.who(), t.reign(nd.Lease.Reign), t.reign(nd.Reign-1), when(a.A, replyLost))
	case actRefund:
		again := "refunds"
		if t.g.Ghost.Fresh[a.A] == 0 {
			again = "refunds once more"
		}
		return fmt.Sprintf("a caller %s a receipt of %s at %s under %s%s", again, t.reign(a.A), t.who(), t.reign(nd.Reign-1), when(a.B, replyLost))
	}
	return ""
}

func (t *teller) ofReigns() string {
	a := t.a
	switch a.Kind {
	case actExchange:
		return fmt.Sprintf("%s has exchanged%s", t.who(), t.without())
	case actAdopt:
		return fmt.Sprintf("%s takes up %s", t.who(), t.reign(t.g.Stores[a.A].Reign))
	case actCrash:
		return t.who() + " crashes" + when(a.A, " and loses its disk")
	case actFailover:
		return fmt.Sprintf("the copy of %s's store takes over%s", regionName(int(a.Region)), when(a.A, ", and the old one goes on"))
	}
	return ""
}

func (t *teller) ofNews() string {
	a := t.a
	replica := fmt.Sprintf("replica %s.%d", regionName(int(a.A)), a.B+1)
	switch a.Kind {
	case actNews:
		return fmt.Sprintf("%s hears of %s from %s%s", t.who(), t.reign(a.A), t.name(int(a.Region), int(a.B)), [...]string{"", ", its P only", ", its N only"}[a.C])
	case actHear:
		return fmt.Sprintf("%s hears of %s from another region", t.who(), t.reign(a.A))
	case actDirect:
		return fmt.Sprintf("%s hears of %s from %s", t.who(), replica, t.name(int(a.C)/t.c.Nodes, int(a.C)%t.c.Nodes))
	case actSend:
		return fmt.Sprintf("%s sends what it knows of %s", t.who(), replica)
	case actDeliver:
		m := &t.s.Messages[a.A]
		return fmt.Sprintf("%s reads a message: replica %s.%d is %s", t.who(), regionName(int(m.Region)), m.Reign+1, m.Entry)
	case actAckHear:
		return fmt.Sprintf("%s hears of acknowledgements from %s", t.who(), t.name(int(a.A), int(a.B)))
	}
	return ""
}
