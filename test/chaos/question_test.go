package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"

	weirv1 "weir/proto/weir/v1"
)

// question is one check and the keys of quotas that it counts if allowed.
type question struct {
	request *weirv1.CheckRequest
	units   int64
	keys    []pot // without the period, which the answer tells
}

const (
	keys     = 20
	maxUnits = 3 // of most checks
	bulk     = 10
	// hotSteps is for how many steps clients use one hot key.
	hotSteps = 3
)

// contested are the quotas that regions use up, one key after another.
var contested = []string{"strict", "tight", "wide", "loose", "minute"}

// newQuestion makes a client's next check. Most of them ask for a key of the
// step's own, of which the quota is fresh when a fault begins and used up
// before long; one such key is asked for everywhere, one mostly in one region,
// which then lives on the rights of others.
func newQuestion(r *region, number int, step int64, broken bool, random *rand.Rand) question {
	q := question{units: int64(1 + random.IntN(maxUnits)), request: &weirv1.CheckRequest{Attributes: map[string]string{}, Explain: true}}
	if random.IntN(3) == 0 {
		q.count("daily", dailyKey(r, step, broken, random))
	}
	if random.IntN(8) == 0 {
		q.request.Attributes["user"] = fmt.Sprintf("user-%d", random.IntN(2))
	}
	if random.IntN(10) < 7 || len(q.request.Attributes) == 0 {
		rule := contested[random.IntN(len(contested))]
		q.count(rule, contestedKey(number, rule, step, random))
		if random.IntN(10) == 0 {
			q.units = bulk
		}
	}
	units := uint64(q.units)
	q.request.Cost = &units
	return q
}

// dailyKey is one that is used all the time, or, of some calls while something
// is broken, one that nobody uses again: what was counted of it comes to others
// by what they find missing, or never.
func dailyKey(r *region, step int64, broken bool, random *rand.Rand) string {
	if broken && random.IntN(4) == 0 {
		return fmt.Sprintf("during-%d-%s-%d", step, r.name, random.IntN(2))
	}
	return fmt.Sprintf("key-%02d", random.IntN(keys))
}

func contestedKey(number int, rule string, step int64, random *rand.Rand) string {
	if rule == "minute" {
		return fmt.Sprintf("minute-%d", random.IntN(2))
	}
	if step > 0 && random.IntN(6) == 0 {
		step-- // mostly used up: denials count nothing
	}
	// The home of a step's second key moves on from step to step.
	if home := int(step) % 3; home == number || random.IntN(12) == 0 {
		return fmt.Sprintf("%d-home", step)
	}
	return fmt.Sprintf("%d-all", step)
}

// hotQuestion asks for one unit of a key that is asked for all the time.
func hotQuestion(step int64) question {
	one := uint64(1)
	q := question{units: 1, request: &weirv1.CheckRequest{Attributes: map[string]string{}, Cost: &one, Explain: true}}
	q.count("hot", fmt.Sprintf("hot-%d", step/hotSteps))
	return q
}

func (q *question) count(rule, key string) {
	q.request.Attributes[rule] = key
	q.keys = append(q.keys, pot{rule: rule, key: key})
}

// pots are those that the check may be counted in, if it is between two
// instants.
func (q *question) pots(from, to time.Time) (all []pot) {
	for _, k := range q.keys {
		for _, end := range quotaOf(k.rule).ends(from, to) {
			all = append(all, pot{k.rule, k.key, end})
		}
	}
	return all
}

// charged are the pots that an answer which allowed was counted in.
func (q *question) charged(a *weirv1.CheckResponse) ([]pot, error) {
	var all []pot
	for _, k := range q.keys {
		end := int64(0)
		for _, s := range a.Limits {
			if s.Rule == k.rule {
				end = s.ResetUnixSeconds
			}
		}
		if end == 0 {
			return nil, fmt.Errorf("rule %s is not in the answer: %v", k.rule, a)
		}
		all = append(all, pot{k.rule, k.key, end})
	}
	return all, nil
}

func of(region string, pots []pot) (parts []counted) {
	for _, p := range pots {
		parts = append(parts, counted{p, region})
	}
	return parts
}
