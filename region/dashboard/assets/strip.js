// The strip of regions: how each stands and what it takes. A region that is cut
// off leaves the strip and becomes an island.

import { h, s, icons, mark, setAttr, setClass, setStyle, setText } from './dom.js';
import { ageText, num, percent, rate, secondsText } from './format.js';

const LINE = { width: 120, height: 36, seconds: 60 };

// standing gives the colour, icon and words for a region; old is the age in
// seconds of the page's own news when its node is lost, else null.
export function standing(region, age, old) {
  if (old !== null) return ['muted', 'late', age === null ? 'never heard' : `last known ${ageText(age)} ago`];
  switch (region.state) {
    case 'here': return ['ok', 'ok', 'this region'];
    case 'touch': return ['ok', 'ok', 'in touch ' + ageText(age)];
    case 'behind': return ['warn', 'late', ageText(age) + ' behind'];
    case 'cut': return ['crit', 'cut', age === null ? 'cut off, never heard' : 'cut off ' + secondsText(age)];
    default: return ['muted', 'late', 'not known'];
  }
}

// ageAt adds the time since the page came. A region in touch was in touch when
// the node last spoke; it would have said otherwise.
export function ageAt(region, sinceHeard, lost) {
  if (region.age === null) return null;
  if (lost || region.state === 'behind' || region.state === 'cut') return region.age + sinceHeard;
  return region.age;
}

class Spark {
  #area = s('path', { fill: 'currentColor', opacity: '.1' });
  #line = s('path', { fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5, 'vector-effect': 'non-scaling-stroke', 'stroke-linejoin': 'round' });
  #silent = s('path', { class: 'silent', fill: 'none', 'stroke-width': 1.2, 'stroke-dasharray': '2 3', 'vector-effect': 'non-scaling-stroke' });
  element = s('svg', { viewBox: `0 0 ${LINE.width} ${LINE.height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    s('path', { class: 'base', d: `M0 ${LINE.height - .5}H${LINE.width}`, 'vector-effect': 'non-scaling-stroke' }), this.#area, this.#line, this.#silent);

  update(points) {
    const top = Math.max(...points.map(p => p.perSecond), 1e-9) * 1.15;
    const at = points.map(p => [LINE.width * (1 - p.ago / LINE.seconds), LINE.height - 2 - (LINE.height - 4) * p.perSecond / top]);
    if (at.length < 2) return [this.#area, this.#line, this.#silent].forEach(path => setAttr(path, 'd', null));
    const d = 'M' + at.map(p => p.map(v => v.toFixed(1)).join(' ')).join('L');
    const [x, y] = at.at(-1);
    setAttr(this.#line, 'd', d);
    setAttr(this.#area, 'd', `${d}V${LINE.height}H${at[0][0].toFixed(1)}Z`);
    setAttr(this.#silent, 'd', x < LINE.width - 4 ? `M${x.toFixed(1)} ${y.toFixed(1)}H${LINE.width}` : null);
  }
}

class Card {
  #state = h('span', { class: 'st' });
  #icon = '';
  #words = h('span');
  #rate = h('b');
  #unit = h('span');
  #spark = new Spark();
  #figures = ['Share of taken', 'Taken', 'Given back'].map(label => [label, h('dd')]);

  constructor(name, i) {
    this.name = name;
    this.element = h('article', { class: 'reg', 'aria-label': name, 'data-region': name },
      h('header', {}, h('i', { class: 'sw u ' + mark(i) }), h('b', { class: 'b name' }, h('bdi', {}, name)), this.#state),
      h('div', { class: 'big' }, h('div', {}, this.#rate, this.#unit), this.#spark.element),
      h('dl', {}, ...this.#figures.map(([label, dd]) => h('div', {}, h('dt', {}, label), dd))));
    this.hue = `g${i % 5}`;
  }

  update(region, { age, old, perSecond, points, use, all }) {
    const [tone, icon, words] = standing(region, age, old);
    setClass(this.element, `reg ${this.hue} ${region.state}`);
    setClass(this.#state, 'st ' + tone);
    if (this.#icon !== icon) {
      this.#icon = icon;
      this.#state.replaceChildren(icons[icon](), this.#words);
    }
    setText(this.#words, words);
    setText(this.#rate, perSecond === null ? '–' : rate(perSecond));
    setText(this.#unit, region.state === 'cut' || old !== null ? 'units/s, last known' : perSecond === null ? 'units/s, measuring' : 'units/s taken');
    this.#spark.update(points);
    const values = [all > 0 ? percent(use.net / all) : '–', num(use.taken), num(use.back)];
    this.#figures.forEach(([, dd], i) => setText(dd, values[i]));
  }
}

const breakMark = () => h('div', { class: 'gap', 'aria-hidden': 'true' },
  s('svg', { width: 20, height: 28, viewBox: '0 0 20 28', overflow: 'visible', fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5 },
    s('path', { class: 'rope', d: 'M-10 14H5M15 14h15' }), s('path', { d: 'm9 6-3 16M14 6l-3 16' })));

// columns keeps many regions in even lines: 8 as 4 and 4, not 5 and 3.
const columns = n => n <= 5 ? n : Math.ceil(n / Math.ceil(n / 5));

export class Strip {
  #cards = [];
  #shape = '';

  constructor(element) { this.element = element; }

  // update draws page's regions. view: {rates, t, since, lost} with t and since in seconds.
  update(page, view) {
    this.#arrange(page.regions);
    const use = new Map(page.regions.map(r => [r.name, { taken: 0, back: 0, net: 0 }]));
    for (const u of page.quotas.flatMap(q => q.byRegion)) {
      const sum = use.get(u.region);
      if (sum) for (const k of ['taken', 'back', 'net']) sum[k] += u[k];
    }
    const all = [...use.values()].reduce((total, u) => total + u.net, 0);
    page.regions.forEach((region, i) => {
      const known = !view.lost && region.state !== 'cut';
      this.#cards[i].update(region, {
        age: ageAt(region, view.since, view.lost), old: view.lost ? view.since : null,
        perSecond: view.rates.perSecond(region.name, view.t, known), points: view.rates.line(region.name, view.t, known),
        use: use.get(region.name), all,
      });
    });
  }

  // #arrange rebuilds the strip when a region came, went, left the strip or returned.
  #arrange(regions) {
    const shape = JSON.stringify(regions.map(r => [r.name, r.state === 'cut']));
    if (shape === this.#shape) return;
    this.#shape = shape;
    const known = new Map(this.#cards.map((card, i) => [card.name + '/' + i, card]));
    this.#cards = regions.map((r, i) => known.get(r.name + '/' + i) ?? new Card(r.name, i));
    const joined = this.#cards.filter((_, i) => regions[i].state !== 'cut'), cut = this.#cards.filter((_, i) => regions[i].state === 'cut');
    const land = h('div', { class: 'isle card' }, ...joined.map(card => card.element));
    setStyle(land, '--n', String(columns(joined.length)));
    this.element.replaceChildren(...(joined.length ? [land] : []),
      ...cut.map(card => h('div', { class: 'off' }, breakMark(), h('div', { class: 'isle card cut' }, card.element))));
    setAttr(this.element, 'aria-label', regions.length === 1 ? '1 region' : `${regions.length} regions`);
  }
}
