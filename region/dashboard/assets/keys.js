// The keyboard. Keys act only where the reader is not writing.

import { byId, h } from './dom.js';

const HELP = [['/', 'Search'], ['j k', 'Next, previous quota'], ['Enter', 'Open'], ['Esc', 'Close, clear'], ['[ ]', 'Previous, next page'], ['p', 'Pause live numbers'], ['t', 'Light or dark'], ['?', 'These keys']];

const writing = target => target.closest('input, select, textarea') !== null;

// bindKeys calls the act named for each key: search, move(±1), page(±1), pause, theme, escape.
export function bindKeys(acts) {
  const help = byId('help');
  help.querySelector('dl').append(...HELP.flatMap(([keys, what]) => [h('dt', {}, ...keys.split(' ').flatMap((k, i) => i ? [' ', h('kbd', {}, k)] : [h('kbd', {}, k)])), h('dd', {}, what)]));
  const inRow = () => document.activeElement?.closest('#quotas tbody tr') !== null && document.activeElement !== document.body;
  const table = {
    '/': acts.search, j: () => acts.move(1), k: () => acts.move(-1), '[': () => acts.page(-1), ']': () => acts.page(1),
    t: acts.theme, p: acts.pause, '?': () => help.showModal(),
  };
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help.open) return;
    if (event.key === 'Escape') return acts.escape();
    if (writing(event.target)) return;
    const arrow = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const act = arrow && inRow() ? () => acts.move(arrow) : table[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
