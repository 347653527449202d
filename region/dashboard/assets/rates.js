// Rates from successive samples. The node sends a page when something changed,
// so a silent second is a second in which nothing was taken.

const MINUTE = 60; // seconds: what "last minute" means, and how far a spark line goes back
const LEAST = 3;   // seconds of samples before a quota's rate is shown
const SMOOTH = 5;  // seconds a region's rate is averaged over
const KEEP = 130;  // samples kept for each quota and region

// QuotaRates holds, for the quotas of the last page, what was used over the last minute.
export class QuotaRates {
  #samples = new Map(); // id → {start, list: [{t, used}]}

  add(quotas, t) {
    const next = new Map();
    for (const q of quotas) {
      const old = this.#samples.get(q.id);
      const list = old && old.start === q.start ? old.list : [];
      list.push({ t, used: q.used });
      // The newest sample older than a minute stays: it is the value a minute ago.
      while (list.length > KEEP || (list.length > 1 && list[1].t <= t - MINUTE)) list.shift();
      next.set(q.id, { start: q.start, list });
    }
    this.#samples = next;
  }

  // perSecond is null while under three seconds were seen.
  perSecond(id, t) {
    const list = this.#samples.get(id)?.list;
    if (!list || t - list[0].t < LEAST) return null;
    let from = list[0];
    for (const sample of list) if (sample.t <= t - MINUTE) from = sample;
    return Math.max(0, (list.at(-1).used - from.used) / Math.min(MINUTE, t - from.t));
  }

  // forget starts over, for instance after a time without a connection.
  forget() { this.#samples.clear(); }
}

// RegionRates holds what each region took, as intervals {from, to, units}. An
// interval ends when something newer was heard from the region: what a region
// took while it was not heard is spread over that time, not shown as a leap.
export class RegionRates {
  #last = null;         // the page before: {t, taken: Map(id → {start, byRegion: Map})}
  #regions = new Map(); // name → {from, pending, intervals}
  #since = 0;

  // add takes a page heard at t. whole says that the page holds every quota
  // there is, so that one not seen before was counted since.
  add(page, t, whole) {
    const taken = new Map(page.quotas.map(q => [q.id, { start: q.start, byRegion: new Map(q.byRegion.map(u => [u.region, u.taken])) }]));
    if (!this.#last) this.#since = t;
    for (const region of page.regions) this.#addRegion(region, taken, t, whole);
    this.#last = { t, taken };
  }

  #addRegion(region, taken, t, whole) {
    let r = this.#regions.get(region.name);
    if (!r) this.#regions.set(region.name, r = { from: t, pending: 0, intervals: [] });
    if (!this.#last) return;
    for (const [id, now] of taken) r.pending += this.#delta(id, now, region.name, whole);
    const heard = region.age === null ? -Infinity : t - region.age;
    if (heard <= r.from && r.pending === 0) return;
    r.intervals.push({ from: r.from, to: t, units: r.pending });
    r.from = t;
    r.pending = 0;
    while (r.intervals.length > KEEP || (r.intervals.length && r.intervals[0].to < t - 2 * MINUTE)) {
      if (region.state === 'cut') break; // its last known line stays
      r.intervals.shift();
    }
  }

  #delta(id, now, region, whole) {
    const before = this.#last.taken.get(id);
    const value = now.byRegion.get(region) ?? 0;
    if (!before) return whole ? value : 0;
    return Math.max(0, value - (before.start === now.start ? before.byRegion.get(region) ?? 0 : 0));
  }

  // end is the instant up to which a region is known: its last interval's end
  // if it is not heard, else now.
  #end(name, t, known) {
    const last = this.#regions.get(name)?.intervals.at(-1)?.to;
    return last !== undefined && (!known || t - last < 2.5) ? last : t;
  }

  // perSecond averages the last seconds known; null before the second page.
  perSecond(name, t, known) {
    const r = this.#regions.get(name);
    if (!r || (!r.intervals.length && t - this.#since < 2)) return null;
    const end = this.#end(name, t, known), from = Math.max(this.#since, end - SMOOTH);
    if (end <= from) return null;
    return unitsWithin(r.intervals, from, end) / (end - from);
  }

  // line gives points {ago, perSecond} of the last minute, oldest first.
  line(name, t, known) {
    const r = this.#regions.get(name);
    if (!r) return [];
    const end = this.#end(name, t, known), points = [];
    for (let to = end; to > t - MINUTE && to > this.#since; to -= 1) {
      const from = Math.max(this.#since, to - 3);
      if (to - from > 0.5) points.unshift({ ago: t - to, perSecond: unitsWithin(r.intervals, from, to) / (to - from) });
    }
    return points;
  }

  forget() {
    this.#last = null;
    this.#regions.clear();
  }
}

function unitsWithin(intervals, from, to) {
  let units = 0;
  for (const i of intervals) {
    const overlap = Math.min(to, i.to) - Math.max(from, i.from);
    if (overlap > 0) units += i.units * overlap / (i.to - i.from);
  }
  return units;
}
