// The bar of one quota: taken by region, what is left, the mark at 100 %, and
// what may go over. It is drawn once and then changed in place.

import { h, mark, setAttr, setClass, setStyle } from './dom.js';
import { num, plural } from './format.js';

const OVER_LEAST = 12, OVER_MOST = 70; // per cent of the zone: not to scale, but never invisible or full

function words(q) {
  const parts = q.byRegion.map(u => `${u.region} ${num(u.net)} taken`);
  if (q.limit <= 0) return [`${num(q.used)} taken, no limit in force here`, ...parts];
  const over = q.used > q.limit ? `; ${num(q.used - q.limit)} over` : '';
  return [`${num(q.used)} of ${num(q.limit)} taken; ${num(q.left)} left${over}; going over is not bounded`, ...parts];
}

// overWidth grows with the logarithm of the overuse: one unit shows, ten times the quota still fits.
function overWidth(q) {
  const share = (q.used - q.limit) / q.limit;
  return Math.min(OVER_MOST, OVER_LEAST + 20 * Math.log10(1 + 99 * Math.min(share, 10)));
}

export class Bar {
  #segments = [];
  #left = h('i', { class: 'left' });
  #track = h('span', { class: 'tr' }, this.#left);
  #over = h('i', { class: 'over' });
  #zone = h('span', { class: 'zone' });

  constructor(large = false) {
    this.element = h('div', { class: large ? 'qb lg' : 'qb', role: 'img' },
      this.#track, h('span', { class: 'm' }), h('span', { class: 'beyond' }, this.#zone, this.#over));
  }

  // update draws q. place gives a region's index in the node's order; hot says
  // that a region is cut off, so that going over is possible now.
  update(q, place, hot) {
    while (this.#segments.length < q.byRegion.length) {
      const segment = h('i');
      this.#segments.push(segment);
      this.#track.insertBefore(segment, this.#left);
    }
    this.#segments.forEach((segment, i) => {
      const use = q.byRegion[i], units = Math.max(0, use?.net ?? 0);
      segment.hidden = units === 0;
      if (!use) return;
      setClass(segment, 'u ' + mark(place(use.region)));
      setStyle(segment, 'flex-grow', String(units));
    });
    setStyle(this.#left, 'flex-grow', String(q.limit > 0 ? q.left : 0));
    this.#left.hidden = q.limit <= 0 || q.left === 0;
    this.#overuse(q, hot);
    const [sentence, ...parts] = words(q);
    setAttr(this.element, 'aria-label', [sentence, ...parts].join('; '));
    setAttr(this.element, 'title', [plural(q.used, 'unit') + ' taken', ...parts].join('\n'));
  }

  #overuse(q, hot) {
    const limited = q.limit > 0, over = limited && q.used > q.limit;
    setClass(this.element, this.element.className.replace(/ (free|hot)\b/g, '') + (limited ? '' : ' free') + (hot ? ' hot' : ''));
    this.#over.hidden = !over;
    if (over) setStyle(this.#over, 'width', overWidth(q).toFixed(1) + '%');
  }
}
