// The table of quotas. Numbers change in place and rows never move by
// themselves: the order is held until the reader asks for a new one.

import { Bar, neverOver } from './bar.js';
import { h, mark, setAttr, setClass, setText } from './dom.js';
import { duration, num, per, rate, secondsText, utc, visible } from './format.js';
import { hashOf, runsOut, status, wouldMove } from './model.js';

// keyName shows a counted key: isolated, so that a right-to-left key leaves its row in order.
export function keyName(key) {
  return key === '' ? h('span', { class: 'faint' }, 'everyone together') : h('bdi', {}, h('code', { title: visible(key) }, visible(key)));
}

export function tagOf(q) {
  const { kind, text } = status(q);
  const words = kind === 'over' ? `${num(q.used - q.limit)} over` : text;
  return { words, tone: kind === 'near' ? 'warn' : kind ? 'crit' : '' };
}

// runsOutWords gives the cell's two lines and whether it is soon.
export function runsOutWords(q, perSecond, now) {
  const when = runsOut(q, perSecond, now), speed = perSecond === null ? 'measuring' : rate(perSecond) + '/s';
  if (q.limit <= 0) return ['–', 'no limit here', false];
  if (when === 'unknown') return ['–', speed, false];
  if (when === 'now') return ['now', speed, true];
  if (when === 'reset') return ['not before reset', speed, false];
  return ['in ' + duration(when), speed, when < 1800];
}

// overWords gives the two lines of what a quota can go over by, and its tone.
export function overWords(q) {
  if (q.limit <= 0) return ['–', '', ''];
  const over = q.used > q.limit, now = `${num(q.used - q.limit)} over now`;
  if (!q.bounded) return ['not bounded', over ? now : q.exposure > 0 ? `${num(q.exposure)} now at worst` : 'overshoot: unbounded', over ? 'b' : ''];
  if (neverOver(q)) return ['never over', 'overshoot 0', 'faint'];
  const allowed = over ? now : `of ${num(q.overshoot)} allowed`;
  return q.exposure > 0 ? [`at most ${num(q.exposure)}`, allowed, 'b'] : ['0 now', allowed, ''];
}

const limitWords = q => q.limit > 0 ? `${num(q.limit)} ${per(q.end - q.start)}` : 'the rule is gone here';

class Row {
  #tag = h('span', { class: 'tag' });
  #sub = h('span');
  #resetSub = h('span', { class: 'rs' });
  #bar = new Bar();
  #used = h('span', { class: 'b', 'data-v': 'used' });
  #of = h('span');
  #left = h('span', { 'data-v': 'left' });
  #ends = [h('span', { 'data-v': 'ends' }), h('small')];
  #over = [h('span', { 'data-v': 'over' }), h('small')];
  #reset = [h('span', { 'data-v': 'reset' }), h('small')];

  constructor(q, open) {
    this.link = h('a', { href: hashOf(q.id), tabindex: '-1' }, h('b', {}, h('bdi', {}, q.rule)), keyName(q.key));
    const pair = ([first, second]) => h('span', {}, first, second);
    this.element = h('tr', { role: 'row', 'data-id': q.id, onclick: event => { if (!event.target.closest('a')) open(q.id); } },
      h('th', { role: 'rowheader', scope: 'row', class: 'c1' }, h('span', { class: 'id' }, this.link, this.#tag), h('small', {}, this.#sub, this.#resetSub)),
      h('td', { role: 'cell', class: 'c2' }, this.#bar.element, h('small', { class: 'cap' }, h('span', {}, this.#used, this.#of), this.#left)),
      h('td', { role: 'cell', class: 'r', 'data-l': 'Runs out' }, pair(this.#ends)),
      h('td', { role: 'cell', class: 'r', 'data-l': 'Can go over by' }, pair(this.#over)),
      h('td', { role: 'cell', class: 'r c5', 'data-l': 'Resets in' }, pair(this.#reset)));
  }

  // update shows q. view: {place, cut, now, perSecond, goneFor}; goneFor is how
  // many seconds ago the node last had this quota on the page, null while it has.
  update(q, view) {
    setClass(this.element, view.goneFor === null ? '' : 'gone');
    const tag = tagOf(q);
    this.#tag.hidden = !tag.words;
    setText(this.#tag, tag.words);
    setClass(this.#tag, 'tag ' + tag.tone);
    setText(this.#sub, view.goneFor === null ? limitWords(q) : `not on this page any more, last known ${secondsText(view.goneFor)} ago`);
    setText(this.#resetSub, ' · resets in ' + duration(q.end - view.now));
    this.#bar.update(q, view.place, view.cut);
    setText(this.#used, num(q.used));
    setText(this.#of, q.limit > 0 ? ' of ' + num(q.limit) : ' taken');
    setText(this.#left, q.limit > 0 ? num(q.left) + ' left' : '');
    const [ends, speed, soon] = runsOutWords(q, view.perSecond, view.now);
    this.#pair(this.#ends, ends, speed, soon ? 'b' : '');
    this.#pair(this.#over, ...overWords(q));
    this.#pair(this.#reset, duration(q.end - view.now), utc(q.end), '');
  }

  #pair([first, second], text, sub, tone) {
    setText(first, text);
    setText(second, sub);
    setClass(first, tone);
  }
}

export class QuotaTable {
  #rows = new Map();  // id → Row, of the order held
  #held = [];         // ids as shown
  #known = new Map(); // id → {q, t}: the newest numbers of each row, t in seconds
  #wanted = [];       // ids as the node would order them now

  // open(id) is called for a row clicked; size is the most rows of a page.
  constructor(body, open, size) {
    this.body = body;
    this.open = open;
    this.size = size;
  }

  get held() { return this.#held; }
  get moves() { return wouldMove(this.#held, this.#wanted); }
  known(id) { return this.#known.get(id)?.q; }

  // page takes a new answer. anew: it answers another question than the one shown.
  page(page, t, anew) {
    this.#wanted = page.quotas.map(q => q.id);
    page.quotas.forEach(q => this.#known.set(q.id, { q, t }));
    if (anew) return this.resort();
    // A row at the end moves nothing, so what is new is shown while there is room.
    const held = new Set(this.#held);
    this.#hold([...this.#held, ...this.#wanted.filter(id => !held.has(id))].slice(0, Math.max(this.size, this.#held.length)));
  }

  resort() {
    this.#hold(this.#wanted);
    const held = new Set(this.#held);
    for (const id of this.#known.keys()) if (!held.has(id)) this.#known.delete(id);
  }

  #hold(ids) {
    if (ids.length === this.#held.length && ids.every((id, i) => id === this.#held[i]) && this.#rows.size) return;
    const focused = this.body.querySelector('tr:focus-within')?.dataset.id;
    this.#held = ids;
    this.#rows = new Map(ids.map(id => [id, this.#rows.get(id) ?? new Row(this.#known.get(id).q, this.open)]));
    this.body.replaceChildren(...ids.map(id => this.#rows.get(id).element));
    this.stop(focused && this.#rows.has(focused) ? focused : ids[0]);
    if (focused) this.#rows.get(focused)?.link.focus({ preventScroll: true });
  }

  // update redraws the numbers. view: {order, cut, now, t, rates} with order the regions' names.
  update(view) {
    const place = placeIn(view.order);
    const wanted = new Set(this.#wanted);
    for (const [id, row] of this.#rows) {
      const { q, t } = this.#known.get(id);
      row.update(q, { place, cut: view.cut, now: view.now, perSecond: view.rates.perSecond(id, view.t), goneFor: wanted.has(id) ? null : view.t - t });
    }
  }

  // stop makes one row the table's tab stop.
  stop(id) {
    for (const [other, row] of this.#rows) setAttr(row.link, 'tabindex', other === id ? '0' : '-1');
  }

  select(id) {
    for (const [other, row] of this.#rows) setAttr(row.element, 'aria-selected', String(other === id));
    if (this.#rows.has(id)) this.stop(id);
  }

  focus(id) {
    if (!this.#rows.has(id)) return;
    this.stop(id);
    this.#rows.get(id).link.focus();
  }

  // neighbour is the id n rows after id (before, if negative), held within the table.
  neighbour(id, n) {
    const at = this.#held.indexOf(id);
    return this.#held[at < 0 ? 0 : Math.min(this.#held.length - 1, Math.max(0, at + n))];
  }
}

// placeIn gives a region's index; one that the node no longer lists comes after those it does.
export function placeIn(order) {
  const at = new Map(order.map((name, i) => [name, i]));
  return name => {
    if (!at.has(name)) at.set(name, at.size);
    return at.get(name);
  };
}

// legend draws the key above the table.
export function legend(order) {
  return [
    h('span', {}, 'Taken, then rights left'),
    ...order.map((name, i) => h('span', {}, h('span', { class: 'pair' }, h('i', { class: 'sw u ' + mark(i) }), h('i', { class: 'sw t ' + mark(i) })), h('bdi', {}, name))),
    h('span', {}, h('i', { class: 'sw leftkey' }), 'left to all'),
    h('span', {}, h('i', { class: 'tick' }), '100 %'),
    h('span', {}, h('i', { class: 'sw zonekey' }), 'May go over, not to scale'),
  ];
}
