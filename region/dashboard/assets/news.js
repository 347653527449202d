// The sentences above the strip: who is cut off, who came back, and whether
// this page still hears its node.

import { h, s, icons } from './dom.js';
import { listing, plural, secondsText } from './format.js';
import { ageAt } from './strip.js';

const circle = (x, props) => s('circle', { cx: x, cy: 8, r: 3.5, ...props });

// reach draws the regions in touch on their line and those cut off beyond the break.
function reach(joined, cut) {
  const near = Math.min(joined, 5), far = Math.min(cut, 3), gap = 22, last = 5 + gap * (near - 1);
  const width = last + 24 + 14 * far;
  return s('svg', { class: 'reach', width, height: 16, viewBox: `0 0 ${width} 16`, fill: 'none', 'stroke-width': 1.5, 'aria-hidden': 'true' },
    s('path', { class: 'rope', d: `M5 8H${last}` }),
    ...Array.from({ length: near }, (_, i) => circle(5 + gap * i, { class: 'near' })),
    s('path', { class: 'break', d: `m${last + 12} 3.5-2.5 9m6-9-2.5 9` }),
    ...Array.from({ length: far }, (_, i) => circle(last + 26 + 14 * i, { class: 'break', 'stroke-dasharray': '2.2 1.7' })));
}

const bold = name => h('b', { class: 'b' }, h('bdi', {}, name));

// worst is by how much the quotas shown can go over, in words.
function worst(page) {
  const can = page.quotas.filter(q => q.bounded && q.exposure > 0), free = page.quotas.some(q => q.limit > 0 && !q.bounded);
  const units = can.reduce((sum, q) => sum + q.exposure, 0), shown = page.total > page.quotas.length ? ' shown' : '';
  const bounded = can.length ? `at most ${plural(units, 'unit')} over, across ${plural(can.length, 'quota')}${shown}` : `no bounded quota${shown} can go over`;
  return bounded + (free ? '; those without a bound may go over by more.' : '.');
}

function cutSentence(cut, live, worst) {
  const parts = cut.map(({ region, age }) => {
    const span = h('span', {}, secondsText(age ?? 0));
    live.push(now => { const a = now(region); if (a !== null) span.textContent = secondsText(a); });
    return age === null ? [bold(region.name), ' (never)'] : cut.length > 1 ? [bold(region.name), ' (', span, ')'] : [bold(region.name), span];
  });
  const rest = ` ${cut.length > 1 ? 'They decide on their' : 'It decides on its'} own rights; ${worst}`;
  if (cut.length === 1 && cut[0].age !== null) return [parts[0][0], ' has not been heard for ', parts[0][1], '.', rest];
  if (cut.length === 1) return [bold(cut[0].region.name), ' has never been heard.', rest];
  const joined = parts.flatMap((part, i) => i === 0 ? part : [i === parts.length - 1 ? ' and ' : ', ', ...part]);
  return [...joined, ' have not been heard.', rest];
}

export class News {
  #cutShape = '';
  #live = [];                                // updates of the ages in the sentence
  #cutSince = new Map();                     // name → {heardAt} of regions now cut off
  #cutBox = h('div', { hidden: true });
  #healed = h('div', { class: 'news' });
  #lostBox = h('div', { class: 'say lost', hidden: true });
  #lostWords = h('p');

  // say speaks to screen readers; retry asks for the node again.
  constructor(element, say, retry) {
    this.say = say;
    this.#lostBox.append(icons.late(), this.#lostWords, h('button', { class: 'btn sm', type: 'button', onclick: retry }, 'Try now'));
    element.append(this.#lostBox, this.#cutBox, this.#healed);
  }

  // page notes what a new answer says; t is when it came, in Unix seconds.
  page(page, t) {
    for (const region of page.regions) {
      const since = this.#cutSince.get(region.name);
      if (region.state === 'cut') {
        if (!since) this.say(`${region.name} is cut off`);
        this.#cutSince.set(region.name, { heardAt: region.age === null ? since?.heardAt ?? null : t - region.age });
      } else if (since && region.state !== 'unknown') {
        this.#cutSince.delete(region.name);
        this.#heal(region.name, since.heardAt === null ? null : t - since.heardAt, page);
      }
    }
    this.#drawCut(page);
  }

  #drawCut(page) {
    const cut = page.regions.filter(r => r.state === 'cut').map(region => ({ region, age: region.age }));
    const words = worst(page), shape = JSON.stringify([page.regions.length, cut.length && words, ...cut.map(c => [c.region.name, c.age === null])]);
    if (shape === this.#cutShape) return;
    this.#cutShape = shape;
    this.#live = [];
    this.#cutBox.hidden = cut.length === 0;
    this.#cutBox.className = 'say';
    this.#cutBox.replaceChildren(...(cut.length ? [reach(page.regions.length - cut.length, cut.length), h('p', {}, ...cutSentence(cut, this.#live, words))] : []));
  }

  // #heal states the outcome; it stays until closed, so that nobody misses it.
  #heal(name, seconds, page) {
    const over = page.quotas.filter(q => q.limit > 0 && q.used > q.limit);
    const units = over.reduce((sum, q) => sum + q.used - q.limit, 0);
    const among = page.total > page.quotas.length ? ' among those shown' : '';
    const outcome = units ? `${plural(units, 'unit')} over, in ${plural(over.length, 'quota')}${among}.` : `No quota${among} is over.`;
    const after = seconds === null ? '' : ' after ' + secondsText(seconds);
    const box = h('div', { class: 'say healed' }, icons.ok(), h('p', {}, bold(name), ` is heard again${after}. ${outcome}`),
      h('button', { class: 'btn sm quiet', type: 'button', 'aria-label': `Close: ${name} is heard again`, onclick: () => box.remove() }, icons.close()));
    this.#healed.prepend(box);
    while (this.#healed.children.length > 5) this.#healed.lastChild.remove();
    const rest = page.regions.filter(r => r.state === 'cut').map(r => r.name);
    this.say(`${name} is heard again${after}. ${outcome} ` + (rest.length ? `${listing(rest)} still cut off.` : `All ${page.regions.length} regions heard.`));
  }

  // tick moves the ages on. view: {page, since, lost, node}.
  tick({ page, since, lost, node }) {
    const current = new Map((page?.regions ?? []).map(r => [r.name, r]));
    this.#live.forEach(update => update(region => ageAt(current.get(region.name) ?? region, since, lost)));
    this.#lostBox.hidden = !lost;
    if (lost) this.#lostWords.replaceChildren('Not connected to ', bold(node), page ? ` for ${secondsText(since)}. The numbers below are as last heard, greyed; trying again.` : '. Nothing is known yet; trying again.');
  }
}
