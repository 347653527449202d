// The bar of one quota: taken by region, what is left and who has the rights to
// it, the mark at 100 %, and what may go over. It is drawn once and then changed
// in place.

import { h, mark, setAttr, setClass, setStyle } from './dom.js';
import { num, plural } from './format.js';

const OVER_LEAST = 12, OVER_MOST = 70; // per cent of the zone: not to scale, but never invisible or full

function words(q) {
  const parts = q.byRegion.map(u => `${u.region} ${num(u.net)} taken${q.bounded ? `, ${num(u.rights)} rights left` : ''}`);
  if (q.limit <= 0) return [`${num(q.used)} taken, no limit in force here`, ...parts];
  const over = q.used > q.limit ? `; ${num(q.used - q.limit)} over` : '';
  return [`${num(q.used)} of ${num(q.limit)} taken; ${num(q.left)} left${over}; ${mayGoOver(q)}`, ...parts];
}

function mayGoOver(q) {
  if (!q.bounded) return 'going over is not bounded';
  return neverOver(q) ? 'never over' : `can go over by ${num(q.exposure)} now`;
}

// neverOver: nothing was allowed for and nothing can happen.
export const neverOver = q => q.bounded && q.overshoot === 0 && q.exposure === 0;

// overWidth grows with the logarithm of the overuse: one unit shows, ten times the quota still fits.
function overWidth(q) {
  const share = (q.used - q.limit) / q.limit;
  return Math.min(OVER_MOST, OVER_LEAST + 20 * Math.log10(1 + 99 * Math.min(share, 10)));
}

// rightsShown spreads what is left over those who have the rights to it: they may
// add up to more, by what may go over.
function rightsShown(q) {
  const all = q.byRegion.reduce((sum, u) => sum + Math.max(0, u.rights), 0);
  return q.byRegion.map(u => q.bounded && all > 0 ? q.left * Math.max(0, u.rights) / all : 0);
}

export class Bar {
  #segments = [];
  #rights = [];
  #left = h('i', { class: 'left' });
  #track = h('span', { class: 'tr' }, this.#left);
  #over = h('i', { class: 'over' });
  #zone = h('span', { class: 'zone' });

  constructor(large = false) {
    this.element = h('div', { class: large ? 'qb lg' : 'qb', role: 'img' },
      this.#track, h('span', { class: 'm' }), h('span', { class: 'beyond' }, this.#zone, this.#over));
  }

  // update draws q. place gives a region's index in the node's order; cut names
  // the regions that are cut off: with one, going over is possible now.
  update(q, place, cut) {
    while (this.#segments.length < q.byRegion.length) {
      const segment = h('i');
      this.#segments.push(segment);
      this.#track.insertBefore(segment, this.#rights[0] ?? this.#left);
      const rights = h('i');
      this.#rights.push(rights);
      this.#track.insertBefore(rights, this.#left);
    }
    const shown = rightsShown(q);
    this.#rights.forEach((segment, i) => {
      const use = q.byRegion[i], units = shown[i] ?? 0;
      segment.hidden = units === 0;
      if (!use || !units) return;
      setClass(segment, `t ${mark(place(use.region))}${cut.includes(use.region) ? ' lost' : ''}`);
      setStyle(segment, 'flex-grow', String(units));
    });
    const rest = shown.some(units => units > 0) ? 0 : q.left;
    this.#segments.forEach((segment, i) => {
      const use = q.byRegion[i], units = Math.max(0, use?.net ?? 0);
      segment.hidden = units === 0;
      if (!use) return;
      setClass(segment, 'u ' + mark(place(use.region)));
      setStyle(segment, 'flex-grow', String(units));
    });
    setStyle(this.#left, 'flex-grow', String(q.limit > 0 ? rest : 0));
    this.#left.hidden = q.limit <= 0 || rest === 0;
    this.#overuse(q, cut.length > 0 && (!q.bounded || q.exposure > 0));
    const [sentence, ...parts] = words(q);
    setAttr(this.element, 'aria-label', [sentence, ...parts].join('; '));
    setAttr(this.element, 'title', [plural(q.used, 'unit') + ' taken', ...parts].join('\n'));
  }

  #overuse(q, hot) {
    const limited = q.limit > 0, over = limited && q.used > q.limit;
    setClass(this.element, this.element.className.replace(/ (free|hot|bound|never)\b/g, '') + (limited ? '' : ' free') +
      (q.bounded ? neverOver(q) && !over ? ' never' : ' bound' : '') + (hot ? ' hot' : ''));
    this.#over.hidden = !over;
    if (over) setStyle(this.#over, 'width', overWidth(q).toFixed(1) + '%');
  }
}
