package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

func cutFault(w *world, random *rand.Rand, name, where string, links []link) *fault {
	return &fault{name: name, where: where, hold: seconds(random, 1, longestCut()),
		inject: func(context.Context) error { return w.network.cut(links...) },
		mend:   func(context.Context) error { return w.network.mend(links...) },
	}
}

func isolated(w *world, random *rand.Rand) *fault {
	at := w.anyRegion(random)
	return cutFault(w, random, "full partition", at.name+" | the others", append(w.from(at), w.to(at)...))
}

func allApart(w *world, random *rand.Rand) *fault {
	var links []link
	for _, r := range w.regions {
		links = append(links, w.from(r)...)
	}
	return cutFault(w, random, "full partition", "every region alone", links)
}

func pairCut(w *world, random *rand.Rand) *fault {
	a, b := w.anyTwo(random)
	return cutFault(w, random, "pair cut", a.name+" | "+b.name, []link{{a.name, b.name}, {b.name, a.name}})
}

func unheard(w *world, random *rand.Rand) *fault {
	at := w.anyRegion(random)
	return cutFault(w, random, "half partition", "nobody hears "+at.name, w.from(at))
}

func deaf(w *world, random *rand.Rand) *fault {
	at := w.anyRegion(random)
	return cutFault(w, random, "half partition", at.name+" hears nobody", w.to(at))
}

func halfPair(w *world, random *rand.Rand) *fault {
	a, b := w.anyTwo(random)
	return cutFault(w, random, "half pair cut", b.name+" does not hear "+a.name, []link{{a.name, b.name}})
}

func linkDown(w *world, random *rand.Rand) *fault {
	at := w.anyRegion(random).name
	return &fault{name: "link down", where: at, hold: seconds(random, 1, longestCut()),
		inject: func(context.Context) error { return w.network.setLink(at, "down") },
		mend:   func(context.Context) error { return w.network.setLink(at, "up") },
	}
}

// flapping cuts and mends, ten times or so, and is mended in the end.
func flapping(w *world, random *rand.Rand) *fault {
	at := w.anyRegion(random)
	links, how := append(w.from(at), w.to(at)...), "full"
	if random.IntN(2) == 0 {
		links, how = w.from(at), "half"
	}
	flaps := make([]time.Duration, 8+2*random.IntN(4))
	for i := range flaps {
		flaps[i] = seconds(random, 0.1, 1)
	}
	return &fault{name: "flapping", where: fmt.Sprintf("%s | the others, %s, %d times", at.name, how, len(flaps)/2),
		inject: func(ctx context.Context) error {
			for i, d := range flaps {
				change := w.network.cut
				if i%2 == 1 {
					change = w.network.mend
				}
				if err := change(links...); err != nil {
					return err
				}
				if err := last(ctx, d); err != nil {
					return err
				}
			}
			return nil
		},
		mend: func(context.Context) error { return nil },
	}
}

func (w *world) from(r *region) (links []link) {
	for _, other := range w.regions {
		if other != r {
			links = append(links, link{r.name, other.name})
		}
	}
	return links
}

func (w *world) to(r *region) (links []link) {
	for _, l := range w.from(r) {
		links = append(links, link{l.to, l.from})
	}
	return links
}
