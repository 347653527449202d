package region

import (
	"weir/gossip"
	"weir/limiter/store/redis"
	"weir/region/telemetry"
)

func counter(name, help string, read func() uint64) telemetry.Figure {
	return telemetry.Figure{Name: name, Help: help, Counter: true, Read: func() float64 { return float64(read()) }}
}

func gauge(name, help string, read func() int64) telemetry.Figure {
	return telemetry.Figure{Name: name, Help: help, Read: func() float64 { return float64(read()) }}
}

// rightsFigures tell of gifts between regions, of leases, and of answers that
// were not believed.
func (n *Node) rightsFigures() []telemetry.Figure {
	return []telemetry.Figure{
		gauge("weir_split_conflicts", "Versions of the split of quotas of which regions were told different ones; each uses the smallest of its shares.", func() int64 { return int64(len(n.mesh.Splits().Conflicts())) }),
		counter("weir_gifts_total", "Gifts of rights this node made for its region.", n.giver.gifts.Load),
		counter("weir_gifted_units_total", "Units of rights in those gifts.", n.giver.units.Load),
		counter("weir_gift_failures_total", "Gifts that the store did not make; they are tried again while they are needed.", n.giver.failures.Load),
		gauge("weir_leases", "Leases on quotas this node holds.", func() int64 { held, _ := n.leases.Held(); return held }),
		gauge("weir_leased_units", "Units of those leases that are not spent.", func() int64 { _, units := n.leases.Held(); return units }),
		counter("weir_lease_checks_total", "Checks decided from leases.", n.leases.Decided),
		counter("weir_lease_spent_units_total", "Units that checks were allowed from leases.", n.leases.Spent),
		counter("weir_lease_returned_units_total", "Units of leases given back unspent.", n.leases.Returned),
		counter("weir_lease_forgotten_units_total", "Units of leases that count as spent though no check spent them: their period, reign or generation was over.", n.leases.Forgotten),
		counter("weir_lease_evictions_total", "Leases returned to make room for others.", n.leases.Evicted),
		counter("weir_lease_drops_total", "Rows that asked for a lease while too many did; they ask again.", n.leases.Dropped),
		counter("weir_lease_failures_total", "Times the store did not answer for a lease.", n.leases.Failed),
		counter("weir_answers_disbelieved_total", "Answers of the store that came after the region's nodes had begun to agree on a new reign; they were taken for lost and their charges taken back.", func() uint64 {
			return n.engine.Disbelieved() + n.leases.Disbelieved()
		}),
		counter("weir_settled_drops_total", "Rows of calls that were taken back, not looked at again at once because too many waited; they are read with all others within a minute.", n.settled.dropped.Load),
	}
}

// unresolvedFigures tell of calls to Redis whose answer was lost.
func unresolvedFigures(s *redis.Store) []telemetry.Figure {
	of := func(read func(redis.Unresolved) uint64) func() uint64 {
		return func() uint64 { return read(s.Unresolved()) }
	}
	return []telemetry.Figure{
		gauge("weir_unresolved_calls", "Calls to Redis whose answer was lost or not believed, waiting to be taken back.", func() int64 { return int64(s.Unresolved().Waiting) }),
		counter("weir_unresolved_returned_total", "Of those, calls whose charge went back.", of(func(u redis.Unresolved) uint64 { return u.Returned })),
		counter("weir_unresolved_uncharged_total", "Calls that had not been charged, and now cannot be.", of(func(u redis.Unresolved) uint64 { return u.Uncharged })),
		counter("weir_unresolved_ended_total", "Calls of a reign that ended: their charge stands or went with it.", of(func(u redis.Unresolved) uint64 { return u.Ended })),
		counter("weir_unresolved_expired_total", "Calls that waited a minute in vain or found no room; what they charged stands.", of(func(u redis.Unresolved) uint64 { return u.Expired + u.Overflowed })),
	}
}

// repairFigures tell how nodes find what they have not in common.
func (n *Node) repairFigures() []telemetry.Figure {
	figure := func(name, help string, read func(gossip.Stats) uint64) telemetry.Figure {
		return counter("weir_gossip_"+name, help, func() uint64 { return read(n.mesh.Stats()) })
	}
	return []telemetry.Figure{
		figure("exchanges_total", "Exchanges with the nodes of the own region, before its store was used in a reign new to this node.", func(s gossip.Stats) uint64 { return s.Exchanges }),
		gauge("weir_gossip_rows_withheld", "Rows with gifts that this node's disk does not hold yet; other nodes are told the state before.", func() int64 { return int64(n.mesh.Stats().RowsWithheld) }),
		figure("rows_unknown_total", "Rows asked for because a peer told of a change to a row not known here.", func(s gossip.Stats) uint64 { return s.RowsUnknown }),
		figure("rows_repaired_total", "Rows sent to a peer that was found to lack them.", func(s gossip.Stats) uint64 { return s.RowsRepaired }),
		figure("splits_sent_total", "Frames that told a peer how rights are split among regions: it had shown that it knows otherwise.", func(s gossip.Stats) uint64 { return s.SplitsSent }),
		figure("repairs_dropped_total", "Times that such rows were too many at once; the peer finds them by itself.", func(s gossip.Stats) uint64 { return s.RepairsDropped }),
		figure("requests_dropped_total", "Requests of peers' sessions dropped because too many waited; they are made again.", func(s gossip.Stats) uint64 { return s.RequestsDropped }),
		gauge("weir_gossip_parcels_waiting", "Parcels (refunds) for other regions that no node there has taken yet.", func() int64 { return int64(n.mesh.Stats().ParcelsWaiting) }),
		figure("parcels_expired_total", "Parcels dropped because they were worth nothing any more.", func(s gossip.Stats) uint64 { return s.ParcelsExpired }),
		figure("parcels_delivered_total", "Parcels of other regions taken here.", func(s gossip.Stats) uint64 { return s.ParcelsDelivered }),
		figure("parcels_refused_total", "Parcels that did not decode, or found the queue full and come again.", func(s gossip.Stats) uint64 { return s.ParcelsRefused + s.ParcelsDropped }),
	}
}
