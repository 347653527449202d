// The list of the rules that are in force at the node.

import { h } from './dom.js';
import { visible } from './format.js';

const words = value => visible(String(value ?? ''));

function row(rule) {
  const by = rule.countBy ?? [], limits = rule.limits ?? [];
  return h('tr', { role: 'row' },
    h('th', { role: 'rowheader', scope: 'row' }, h('span', { class: 'id' }, h('b', {}, h('bdi', {}, words(rule.name))))),
    h('td', { role: 'cell', 'data-l': 'Matches' }, h('span', {}, rule.match ? h('code', {}, words(rule.match)) : 'every check')),
    h('td', { role: 'cell', 'data-l': 'Counts by' }, h('span', {}, by.length ? h('code', {}, by.map(words).join(', ')) : 'everyone together')),
    h('td', { role: 'cell', 'data-l': 'Limits' }, h('span', { class: 'limits' }, ...limits.map(limit => h('span', {}, words(limit))))));
}

// drawRules fills the page from what /v1/node says; null while nothing is known.
export function drawRules(element, node) {
  const rules = node?.rules ?? [];
  const header = h('div', { class: 'tools' }, h('h2', {}, 'Rules'),
    h('span', { class: 'muted' }, node ? ['In force at ', h('bdi', {}, words(node.node)), ', region ', h('bdi', {}, words(node.region)), '.'] : 'Not heard yet.'));
  const table = h('div', { class: 'card' }, h('table', { class: 'rows cards list', role: 'table' },
    h('caption', { class: 'vh' }, 'Rules with what they match, what they count by, and their limits'),
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, ...['Rule', 'Matches', 'Counts by', 'Limits'].map(text => h('th', { scope: 'col' }, text)))),
    h('tbody', { role: 'rowgroup' }, ...rules.map(row))));
  const none = h('div', { class: 'card' }, h('div', { class: 'blank' }, h('h3', {}, 'No rule is in force'), h('p', {}, 'Without rules every check is allowed and nothing is counted.')));
  element.replaceChildren(header, ...(node ? [rules.length ? table : none] : []));
}
