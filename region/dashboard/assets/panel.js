// The panel beside the table: one quota, region by region.

import { Bar } from './bar.js';
import { h, icons, mark, setClass, setText } from './dom.js';
import { ageText, duration, listing, num, per, plural, utc } from './format.js';
import { hashOf, splitId, wanting } from './model.js';
import { keyName, overWords, placeIn, runsOutWords, tagOf } from './quotas.js';
import { ageAt } from './strip.js';

const FIGURES = ['Taken', 'Left', 'Runs out', 'Can go over by', 'Resets in'];

const signed = sign => n => n ? sign + num(n) : '0';

// The columns by region: heading, number of a use, how it is written. Heard comes last.
const WITH_RIGHTS = [['Share', 'share', num], ['Taken', 'taken', num], ['Given back', 'back', num],
  ['In', 'in', signed('+')], ['Out', 'out', signed('\u2212')], ['Rights', 'rights', num]];
const WITHOUT = [['Taken', 'taken', num], ['Given back', 'back', num], ['Net', 'net', num]];

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
      figures: FIGURES.map(() => h('dd')), note: h('p', { class: 'note' }), wants: h('p', { class: 'note', hidden: true }),
      columns: null, head: h('tr'), body: h('tbody'), foot: h('tr'), sum: h('p', { class: 'note' }), period: h('p'),
      numbers: h('div', { hidden: true }), heading: h('h2', { class: 'id', tabindex: '-1' }, h('b', {}, h('bdi', {}, rule)), keyName(key)),
    };
    p.heading.append(p.tag);
    p.numbers.append(
      h('section', {}, h('dl', { class: 'fig' }, ...p.figures.map((dd, i) => h('div', {}, h('dt', {}, FIGURES[i]), dd))), this.#bar.element, p.note, p.wants),
      h('section', {}, h('h3', {}, 'By region'), h('div', { class: 'scroll' }, h('table', { class: 'tight' },
        h('caption', { class: 'vh' }, 'What each region took and may still take, and when it was heard'),
        h('thead', {}, p.head), p.body, h('tfoot', {}, p.foot))), p.sum),
      h('section', {}, h('h3', {}, 'Period'), p.period),
      h('section', {}, h('h3', {}, 'Link'), h('p', {}, h('a', { class: 'mono wrap', href: hashOf(id) }, hashOf(id)))));
    this.element.replaceChildren(h('header', {}, h('div', {}, p.heading),
      button('Previous quota', icons.up(), () => this.step(-1)), button('Next quota', icons.down(), () => this.step(1)), button('Close, Escape', icons.close(), this.close)),
    p.message, p.numbers);
  }

  // #arrange makes the columns anew where rights came or went with the rules.
  #arrange(columns) {
    const p = this.#parts, cells = () => Array.from({ length: columns.length + 1 }, () => h('td', { class: 'r' }));
    if (p.columns === columns) return;
    p.columns = columns;
    this.#rows.clear();
    p.body.replaceChildren();
    p.head.replaceChildren(h('th', { scope: 'col' }, 'Region'), ...[...columns.map(([text]) => text), 'Heard'].map(text => h('th', { scope: 'col', class: 'r' }, text)));
    p.foot.replaceChildren(h('th', { scope: 'row' }, 'All'), ...cells());
  }

  // missing says why there is nothing to show.
  missing(text) {
    this.#parts.numbers.hidden = true;
    this.#parts.message.hidden = false;
    setText(this.#parts.message, text);
  }

  focus() { this.#parts.heading?.focus({ preventScroll: true }); }

  // update shows q. view: {regions, cut, now, perSecond, since, lost}.
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
      overFigure(q), [duration(q.end - view.now), '']];
    figures.forEach(([text, small], i) => this.#figure(p.figures[i], text, small));
    this.#bar.update(q, place, view.cut);
    setText(p.note, this.#note(q, view));
    const wants = this.#wants(q);
    p.wants.hidden = wants === '';
    setText(p.wants, wants);
    setText(p.period, `${utc(q.start)} to ${utc(q.end)}${q.zone && q.zone !== 'UTC' ? `, a period of ${q.zone}` : ''}`);
    this.#arrange(q.bounded ? WITH_RIGHTS : WITHOUT);
    q.byRegion.forEach(use => this.#line(use, place, view));
    p.columns.forEach(([, name, write], i) => setText(p.foot.children[i + 1], write(q.byRegion.reduce((total, use) => total + use[name], 0))));
    setText(p.sum, this.#sumNote(q));
  }

  #figure(dd, text, small) {
    if (!dd.firstChild) dd.append(h('span'), ' ', h('small'));
    setText(dd.firstChild, text);
    setText(dd.lastChild, small);
  }

  #note(q, view) {
    if (q.limit <= 0) return 'The rules of this node no longer name this rule; what was counted stays until the period ends.';
    const start = `${num(q.limit)} ${per(q.end - q.start)}. `, cut = q.byRegion.filter(u => view.cut.includes(u.region));
    if (!q.bounded) {
      if (cut.length) return `${start}${listing(cut.map(u => u.region))} ${cut.length > 1 ? 'have' : 'has'} not been heard; what is taken there is as last known.`;
      return start + 'Each region counts by itself and tells the others, so two at once may take the same last units.';
    }
    if (!cut.length) return start + 'A region lets through what it has rights to; all rights together are what is left and the overshoot.';
    const rights = list => num(list.reduce((sum, u) => sum + u.rights, 0));
    const others = q.byRegion.filter(u => !cut.includes(u));
    return `${start}${listing(cut.map(u => u.region))} ${cut.length > 1 ? 'hold' : 'holds'} ${rights(cut)} rights, as last known, and ${cut.length > 1 ? 'have' : 'has'} not been heard; the others hold ${rights(others)}.`;
  }

  // #wants puts the reason quota_rights_exhausted in words.
  #wants(q) {
    return wanting(q).map(u => `${u.region} refuses: it was asked for ${plural(u.unmet, 'unit')} and has rights to ${num(u.rights)}. ` +
      `${num(q.left)} are left, and another region must give first (quota_rights_exhausted).`).join(' ');
  }

  #sumNote(q) {
    if (!q.bounded) return 'Net = taken \u2212 given back. The regions’ nets add up to what is taken.';
    const granted = q.byRegion.reduce((sum, u) => sum + u.granted, 0);
    return 'Rights = share + in \u2212 out \u2212 taken + given back.' + (granted ? ` Of what came in, operators granted ${num(granted)}.` : '');
  }

  #line(use, place, view) {
    let cells = this.#rows.get(use.region);
    if (!cells) {
      cells = this.#parts.columns.concat([0]).map(() => h('td', { class: 'r' }));
      this.#rows.set(use.region, cells);
      this.#parts.body.append(h('tr', { 'data-region': use.region }, h('th', { scope: 'row', class: 'nw' }, h('i', { class: 'sw u ' + mark(place(use.region)) }), ' ', h('bdi', {}, use.region)), ...cells));
    }
    const region = view.regions.find(r => r.name === use.region), [heard, tone] = heardWords(region, view);
    this.#parts.columns.forEach(([, name, write], i) => setText(cells[i], write(use[name])));
    setText(cells.at(-1), heard);
    setClass(cells.at(-2), 'r b');
    setClass(cells.at(-1), 'r nw ' + tone);
  }
}

// overFigure is shorter than in the table, for a large number.
function overFigure(q) {
  const [words, small] = overWords(q), over = q.used - q.limit;
  if (!q.bounded) return [words, q.exposure > 0 || over > 0 ? small : ''];
  return [num(q.exposure), over > 0 ? `${num(over)} over now` : q.exposure === 0 && q.overshoot === 0 ? words : `of ${num(q.overshoot)}`];
}

function heardWords(region, view) {
  if (!region) return ['no longer a region', 'muted'];
  const age = ageAt(region, view.since, view.lost);
  if (region.state === 'here' && !view.lost) return ['here', 'muted'];
  if (age === null) return ['never', 'crit'];
  return [ageText(age) + ' ago', { behind: 'warn', cut: 'crit' }[region.state] ?? 'muted'];
}
