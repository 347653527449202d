// The API's JSON as the page's own values. 64-bit integers come as strings.

const int = value => Number(value ?? 0);

export const quotaId = (rule, key) => rule + '/' + key;

// hashOf is the link to one quota; idFrom reads it back, null for any other hash.
export const hashOf = id => '#q/' + encodeURIComponent(id);

export function idFrom(hash) {
  if (!hash.startsWith('#q/')) return null;
  try {
    return decodeURIComponent(hash.slice(3));
  } catch {
    return null; // a link cut in the middle of an escape
  }
}

// splitId: a rule's name holds no slash, a key may.
export function splitId(id) {
  const at = id.indexOf('/');
  return at < 0 ? [id, ''] : [id.slice(0, at), id.slice(at + 1)];
}

const units = transfers => (transfers ?? []).reduce((sum, t) => sum + int(t.units), 0);

// in is what operators granted too.
function readUse(use) {
  const taken = int(use.taken), back = int(use.givenBack), granted = int(use.granted);
  return {
    region: use.region ?? '', taken, back, net: taken - back,
    share: int(use.share), rights: int(use.rights), unmet: int(use.unmet), granted,
    in: units(use.receivedFrom) + granted, out: units(use.givenTo),
  };
}

// readQuota reads a Quota.
export function readQuota(q) {
  const rule = q.rule ?? '', key = q.key ?? '';
  return {
    id: quotaId(rule, key), rule, key,
    limit: int(q.limit), used: int(q.used), left: int(q.remaining),
    start: int(q.periodStartUnixSeconds), end: int(q.periodEndUnixSeconds),
    overshoot: int(q.overshoot), exposure: int(q.exposure), zone: q.timeZone ?? '',
    bounded: int(q.limit) > 0 && !q.overshootUnbounded, // only then are there rights
    byRegion: (q.byRegion ?? []).map(readUse),
  };
}

const TOUCH = { TOUCH_IN_TOUCH: 'touch', TOUCH_BEHIND: 'behind', TOUCH_CUT_OFF: 'cut' };

function readRegion(r) {
  const ms = int(r.stalenessMs);
  return {
    name: r.region ?? '',
    state: r.here ? 'here' : TOUCH[r.touch] ?? 'unknown',
    age: r.here ? 0 : ms < 0 ? null : ms / 1000, // seconds; null is never heard
  };
}

// readPage reads a ListQuotasResponse.
export function readPage(json) {
  return {
    quotas: (json.quotas ?? []).map(readQuota),
    regions: (json.regions ?? []).map(readRegion),
    next: json.nextPageToken ?? '',
    total: int(json.total),
  };
}

// wanting lists the regions that refuse for want of rights, though enough is left.
export const wanting = q => q.bounded ? q.byRegion.filter(u => u.unmet > 0 && u.rights < u.unmet && u.unmet <= q.left) : [];

// Status of a quota by its numbers alone. Limit 0 means that the node's rules
// no longer name the rule: then nothing can be near or over.
export function status(q) {
  if (q.limit <= 0) return { kind: '', text: '' };
  if (q.used > q.limit) return { kind: 'over', text: 'over' };
  if (q.left <= 0) return { kind: 'out', text: 'exhausted' };
  if (wanting(q).length) return { kind: 'rights', text: 'no rights' };
  return q.used >= 0.9 * q.limit ? { kind: 'near', text: 'near limit' } : { kind: '', text: '' };
}

// runsOut says when what is left is gone at perSecond (units asked a second, last
// minute; null while too little was seen). Seconds, or 'now', 'reset', 'unknown'.
export function runsOut(q, perSecond, nowUnixSeconds) {
  if (q.limit <= 0) return 'unknown';
  if (q.left <= 0) return 'now';
  if (perSecond === null) return 'unknown';
  if (perSecond <= 0) return 'reset';
  const seconds = q.left / perSecond;
  return nowUnixSeconds + seconds >= q.end ? 'reset' : seconds;
}

// wouldMove is how many rows must change place to turn the order held into the
// wanted one: all but the longest run of rows that are in the right order already.
export function wouldMove(held, wanted) {
  const place = new Map(wanted.map((id, i) => [id, i]));
  const tails = [];
  for (const at of held.map(id => place.get(id)).filter(at => at !== undefined)) {
    const i = tails.findIndex(tail => tail >= at);
    tails[i < 0 ? tails.length : i] = at;
  }
  return Math.max(held.length, wanted.length) - tails.length;
}
