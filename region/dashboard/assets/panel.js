// The panel beside the table: one quota, region by region.

import { Bar } from './bar.js';
import { h, icons, mark, setClass, setText } from './dom.js';
import { ageText, duration, num, per, utc } from './format.js';
import { hashOf, splitId } from './model.js';
import { keyName, placeIn, runsOutWords, tagOf } from './quotas.js';
import { ageAt } from './strip.js';

const FIGURES = ['Taken', 'Left', 'Runs out', 'Can go over by', 'Resets in'];

export class Panel {
  #id = null;
  #rows = new Map(); // region → cells of its line
  #bar = new Bar(true);
  #parts = {};

  // step(n) moves to another quota, close() leaves the panel.
  constructor(element, { step, close }) {
    this.element = element;
    this.step = step;
    this.close = close;
  }

  get id() { return this.#id; }

  // open shows the frame for id, at once and without numbers; null closes.
  open(id) {
    if (id === this.#id) return;
    this.#id = id;
    this.element.hidden = id === null;
    if (id === null) return this.element.replaceChildren();
    this.#rows.clear();
    this.#bar = new Bar(true);
    this.#frame(id);
    this.element.scrollTop = 0;
  }

  #frame(id) {
    const [rule, key] = splitId(id), button = (label, icon, act) => h('button', { class: 'btn sm quiet', type: 'button', 'aria-label': label, onclick: act }, icon);
    const p = this.#parts = {
      tag: h('span', { class: 'tag', hidden: true }), message: h('p', { class: 'blank-note', role: 'note' }, 'Looking for this quota…'),
      figures: FIGURES.map(() => h('dd')), note: h('p', { class: 'note' }), body: h('tbody'), foot: h('tr'), period: h('p'),
      numbers: h('div', { hidden: true }), heading: h('h2', { class: 'id', tabindex: '-1' }, h('b', {}, h('bdi', {}, rule)), keyName(key)),
    };
    p.heading.append(p.tag);
    p.foot.append(h('th', { scope: 'row' }, 'All'), ...Array.from({ length: 4 }, () => h('td', { class: 'r' })));
    const columns = ['Taken', 'Given back', 'Net', 'Heard'].map(text => h('th', { scope: 'col', class: 'r' }, text));
    p.numbers.append(
      h('section', {}, h('dl', { class: 'fig' }, ...p.figures.map((dd, i) => h('div', {}, h('dt', {}, FIGURES[i]), dd))), this.#bar.element, p.note),
      h('section', {}, h('h3', {}, 'By region'), h('div', { class: 'scroll' }, h('table', { class: 'tight' },
        h('caption', { class: 'vh' }, 'Taken, given back and net by region, and when each was heard'),
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Region'), ...columns)), p.body, h('tfoot', {}, p.foot))),
      h('p', { class: 'note' }, 'Net = taken − given back. The regions’ nets add up to what is taken.')),
      h('section', {}, h('h3', {}, 'Period'), p.period),
      h('section', {}, h('h3', {}, 'Link'), h('p', {}, h('a', { class: 'mono wrap', href: hashOf(id) }, hashOf(id)))));
    this.element.replaceChildren(h('header', {}, h('div', {}, p.heading),
      button('Previous quota', icons.up(), () => this.step(-1)), button('Next quota', icons.down(), () => this.step(1)), button('Close, Escape', icons.close(), this.close)),
    p.message, p.numbers);
  }

  // missing says why there is nothing to show.
  missing(text) {
    this.#parts.numbers.hidden = true;
    this.#parts.message.hidden = false;
    setText(this.#parts.message, text);
  }

  focus() { this.#parts.heading?.focus({ preventScroll: true }); }

  // update shows q. view: {regions, hot, now, perSecond, since, lost}.
  update(q, view) {
    const p = this.#parts, place = placeIn(view.regions.map(r => r.name)), tag = tagOf(q);
    p.numbers.hidden = false;
    p.message.hidden = true;
    p.tag.hidden = !tag.words;
    setText(p.tag, tag.words);
    setClass(p.tag, 'tag ' + tag.tone);
    const [ends, speed] = runsOutWords(q, view.perSecond, view.now);
    const limited = q.limit > 0;
    const figures = [[num(q.used), limited ? 'of ' + num(q.limit) : ''], [limited ? num(q.left) : '–', ''], [ends, speed],
      [limited ? 'not bounded' : '–', limited && q.used > q.limit ? `${num(q.used - q.limit)} over now` : ''], [duration(q.end - view.now), '']];
    figures.forEach(([text, small], i) => this.#figure(p.figures[i], text, small));
    this.#bar.update(q, place, view.hot);
    setText(p.note, this.#note(q, view));
    setText(p.period, `${utc(q.start)} to ${utc(q.end)}`);
    q.byRegion.forEach(use => this.#line(use, place, view));
    const sum = name => num(q.byRegion.reduce((total, use) => total + use[name], 0));
    [sum('taken'), sum('back'), sum('net'), ''].forEach((text, i) => setText(p.foot.children[i + 1], text));
  }

  #figure(dd, text, small) {
    if (!dd.firstChild) dd.append(h('span'), ' ', h('small'));
    setText(dd.firstChild, text);
    setText(dd.lastChild, small);
  }

  #note(q, view) {
    if (q.limit <= 0) return 'The rules of this node no longer name this rule; what was counted stays until the period ends.';
    const cut = view.regions.filter(r => r.state === 'cut').map(r => r.name);
    const start = `${num(q.limit)} ${per(q.end - q.start)}. `;
    if (cut.length) return `${start}${cut.join(', ')} ${cut.length > 1 ? 'have' : 'has'} not been heard; what is taken there is as last known.`;
    return start + 'Each region counts by itself and tells the others, so two at once may take the same last units.';
  }

  #line(use, place, view) {
    let cells = this.#rows.get(use.region);
    if (!cells) {
      cells = Array.from({ length: 4 }, () => h('td', { class: 'r' }));
      this.#rows.set(use.region, cells);
      this.#parts.body.append(h('tr', { 'data-region': use.region }, h('th', { scope: 'row', class: 'nw' }, h('i', { class: 'sw u ' + mark(place(use.region)) }), ' ', h('bdi', {}, use.region)), ...cells));
    }
    const region = view.regions.find(r => r.name === use.region), [heard, tone] = heardWords(region, view);
    [num(use.taken), num(use.back), num(use.net), heard].forEach((text, i) => setText(cells[i], text));
    setClass(cells[2], 'r b');
    setClass(cells[3], 'r nw ' + tone);
  }
}

function heardWords(region, view) {
  if (!region) return ['no longer a region', 'muted'];
  const age = ageAt(region, view.since, view.lost);
  if (region.state === 'here' && !view.lost) return ['here', 'muted'];
  if (age === null) return ['never', 'crit'];
  return [ageText(age) + ' ago', { behind: 'warn', cut: 'crit' }[region.state] ?? 'muted'];
}
