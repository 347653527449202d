// The page: what is asked of the node, and which part shows what it answers.

import { byId, h, icons, setClass, setText } from './dom.js';
import { Feed, getNode, getQuota } from './feed.js';
import { num, plural, secondsText, visible } from './format.js';
import { bindKeys } from './keys.js';
import { hashOf, idFrom, splitId } from './model.js';
import { News } from './news.js';
import { Panel } from './panel.js';
import { legend, QuotaTable } from './quotas.js';
import { QuotaRates, RegionRates } from './rates.js';
import { drawRules } from './rules.js';
import { Strip } from './strip.js';

const PAGE_SIZE = 50;
const TYPING_PAUSE = 150; // ms without a keystroke before a search is sent
const GAP = 10;           // seconds without a connection after which rates start over

const state = {
  search: '', rule: '', order: 'QUOTA_ORDER_USED',
  tokens: [''],   // page tokens from the first page to this one
  page: null,     // the newest answer
  anew: true,     // the next answer is to another question than the one shown
  node: null, skew: 0,
  aside: null,    // {quota, t} of a quota in the panel that is not on the page
};

const say = text => { byId('say').textContent = text; };
const seconds = () => Date.now() / 1000;
const nodeName = () => state.node?.node ?? location.host;

const feed = new Feed({ onPage, onState, onRefused });
const quotaRates = new QuotaRates(), regionRates = new RegionRates(), asideRates = new QuotaRates();
const strip = new Strip(byId('strip'));
const news = new News(byId('news'), say, () => feed.retry());
const table = new QuotaTable(byId('quotas').tBodies[0], open, PAGE_SIZE);
const panel = new Panel(byId('panel'), { step, close });

/* What is asked. */

const query = () => ({ rule: state.rule, search: state.search, order: state.order, pageSize: String(PAGE_SIZE), pageToken: state.tokens.at(-1) });

// ask sends the present question; other says that rates of the old one mean nothing for it.
function ask(other = true) {
  state.anew = true;
  if (other) regionRates.forget();
  feed.watch(query());
}

function askFirstPage(other = true) {
  state.tokens = [''];
  ask(other);
}

let typing = 0;
function search(text) {
  clearTimeout(typing);
  typing = setTimeout(() => {
    if (text === state.search) return;
    state.search = text;
    if (currentView() !== 'quotas') location.hash = '#quotas-page';
    askFirstPage();
  }, TYPING_PAUSE);
}

function clearSearch() {
  byId('search').value = '';
  search('');
}

function turn(n) {
  if (n > 0 && state.page?.next) state.tokens.push(state.page.next);
  else if (n < 0 && state.tokens.length > 1) state.tokens.pop();
  else return;
  ask();
}

function orderBy(order) {
  if (order === state.order) return;
  state.order = order;
  askFirstPage(!whole());
}

// whole: the page holds every quota that the question asks for.
const whole = () => state.page !== null && state.page.total <= state.page.quotas.length;

/* What is answered. */

function onPage(page) {
  const t = seconds(), anew = state.anew;
  state.page = page;
  state.anew = false;
  quotaRates.add(page.quotas, t);
  regionRates.add(page, t, whole());
  table.page(page, t, anew);
  news.page(page, t);
  if (anew) answered(page);
  drawFrame();
  tick();
}

function answered(page) {
  table.select(panel.id);
  if (state.search || state.rule || state.tokens.length > 1) say(page.total ? spanText() : 'No quota matches');
}

function onState(now) {
  if (now === 'lost') say(`Not connected to ${nodeName()}`);
  if (now === 'live' && !state.node) refreshNode();
  if (now === 'live' && lostAt && seconds() - lostAt > GAP) {
    quotaRates.forget();
    regionRates.forget();
  }
  if (now !== 'live') lostAt ||= seconds();
  else lostAt = 0;
  tick();
}
let lostAt = 0;

// A page token may be refused, for instance after an upgrade of the node.
function onRefused(message) {
  if (state.tokens.length > 1) return askFirstPage();
  say(`The node refused: ${message}`);
  blank('The node refused this question', message || 'It gave no reason.', null);
}

async function refreshNode() {
  try {
    const { node, skew } = await getNode();
    Object.assign(state, { node, skew });
    drawNode();
  } catch {
    // The feed says that the node is lost; it is asked again when it is back.
  }
}

/* The frame: what changes with an answer. */

function drawNode() {
  const { node } = state, rules = node.rules ?? [];
  byId('region').replaceChildren(h('bdi', {}, visible(String(node.region))));
  byId('node').replaceChildren('connected to ', h('bdi', {}, visible(String(node.node))));
  byId('node').title = `weir ${node.version}`;
  byId('region').hidden = byId('node').hidden = false;
  document.title = `weir · ${node.region}`;
  setText(byId('count-rules'), num(rules.length));
  byId('rule').replaceChildren(h('option', { value: '' }, 'All rules'), ...rules.map(r => h('option', { value: r.name }, visible(String(r.name)))));
  byId('rule').value = state.rule;
  drawRules(byId('view-rules'), node);
}

function spanText() {
  const { page } = state, first = (state.tokens.length - 1) * PAGE_SIZE;
  return page.quotas.length ? `${num(first + 1)}–${num(first + page.quotas.length)} of ${num(page.total)}` : '0 quotas';
}

function drawFrame() {
  const { page } = state;
  setText(byId('span'), spanText());
  byId('prev').disabled = state.tokens.length === 1;
  byId('next').disabled = !page.next;
  if (!state.search && !state.rule) setText(byId('count-quotas'), num(page.total));
  byId('order').value = state.order;
  document.querySelectorAll('#quotas th[data-order]').forEach(th => {
    if (th.dataset.order !== state.order) th.removeAttribute('aria-sort');
    else th.setAttribute('aria-sort', state.order === 'QUOTA_ORDER_USED' ? 'descending' : 'ascending');
  });
  drawLegend(page.regions.map(r => r.name));
  drawBlank(page);
  byId('scope').hidden = whole();
  setText(byId('scope'), `Units, rates and shares of regions are of the ${num(page.quotas.length)} quotas shown.`);
}

let legendOf = '';
function drawLegend(names) {
  if (legendOf === names.join('\n')) return;
  legendOf = names.join('\n');
  byId('legend').replaceChildren(...legend(names));
}

function drawBlank(page) {
  const filtered = state.search || state.rule;
  if (page.quotas.length || table.held.length) return blank(null);
  if (!filtered) return blank('No quota has been counted', 'A row appears with the first check of a key that a quota counts.', null);
  const what = [state.search && `“${visible(state.search)}”`, state.rule && `rule ${visible(state.rule)}`].filter(Boolean).join(' in ');
  blank(`No quota matches ${what}`, 'Keys and rule names are searched for this text. Keys appear with their first check of the period.', () => {
    byId('rule').value = state.rule = '';
    byId('search').value = state.search = '';
    askFirstPage();
  });
}

function blank(title, text, showAll) {
  const box = byId('blank');
  byId('quotas').classList.toggle('empty', title !== null);
  box.hidden = title === null;
  if (box.hidden || box.dataset.title === title) return;
  box.dataset.title = title;
  box.replaceChildren(h('div', { class: 'blank' }, showAll ? icons.search() : icons.weir(), h('h3', {}, title), h('p', {}, text),
    ...(showAll ? [h('button', { class: 'btn sm', type: 'button', onclick: showAll }, 'Show all')] : [])));
}

/* Once a second, and with every answer. */

function view() {
  const lost = feed.state === 'lost', paused = feed.state === 'paused', t = paused ? feed.heardAt / 1000 : seconds();
  const since = feed.heardAt ? Math.max(0, t - feed.heardAt / 1000) : 0;
  const regions = state.page?.regions ?? [];
  return { t, now: t + state.skew, since, lost, regions, order: regions.map(r => r.name), cut: regions.filter(r => r.state === 'cut').map(r => r.name) };
}

function tick() {
  const v = view();
  drawLive(v);
  document.body.classList.toggle('old', v.lost);
  news.tick({ page: state.page, since: v.since, lost: v.lost, node: nodeName() });
  if (!state.page) return;
  strip.update(state.page, { rates: regionRates, ...v });
  table.update({ rates: quotaRates, ...v });
  drawPanel(v);
  const moves = table.moves;
  byId('resort').hidden = moves === 0;
  setText(byId('resort'), `Order held, ${num(moves)} would move · re-sort`);
}

function drawLive({ lost, since }) {
  const button = byId('live'), words = { connecting: 'Connecting', live: 'Live', paused: 'Paused' };
  setClass(button, `btn quiet sm live ${feed.state}`);
  button.setAttribute('aria-pressed', String(feed.state === 'paused'));
  setText(button.lastChild, lost ? state.page ? `Not connected, last heard ${secondsText(since)} ago` : 'Not connected' : words[feed.state]);
  button.title = feed.state === 'paused' ? 'Go on with live numbers (p)' : 'Pause live numbers (p)';
}

function drawPanel(v) {
  const id = panel.id;
  if (id === null) return;
  const aside = state.aside?.quota?.id === id ? state.aside : null, onPage = table.known(id);
  const q = state.page.quotas.find(quota => quota.id === id) ?? aside?.quota ?? onPage;
  const perSecond = state.page.quotas.includes(q) ? quotaRates.perSecond(id, v.t) : asideRates.perSecond(id, v.t);
  if (q) panel.update(q, { ...v, perSecond });
}

/* The panel's quota where the page does not hold it: looked up each second. */

let lookingUp = false;
async function lookUp() {
  const id = panel.id;
  if (id === null || lookingUp || document.hidden || feed.state === 'paused' && state.aside?.quota?.id === id) return;
  if (!state.page || state.page.quotas.some(q => q.id === id)) return;
  lookingUp = true;
  try {
    const quota = await getQuota(...splitId(id));
    if (panel.id !== id) return;
    if (!quota) return panel.missing('No rule of this name has a quota here.');
    state.aside = { quota, t: seconds() };
    asideRates.add([quota], seconds());
    drawPanel(view());
  } catch {
    // The feed says that the node is lost; the last numbers stay.
  } finally {
    lookingUp = false;
  }
}

/* Where the reader is. */

function currentView() { return byId('view-rules').hidden ? 'quotas' : 'rules'; }

function open(id) { location.hash = hashOf(id); }

function close() {
  const id = panel.id;
  location.hash = '#quotas-page';
  route();
  table.focus(id);
}

function step(n) {
  const id = table.neighbour(panel.id, n);
  if (id !== undefined) open(id);
}

const covers = matchMedia('(max-width: 1180px)');

function route() {
  if (location.hash === '#main') return byId('main').focus();
  const id = idFrom(location.hash), page = location.hash === '#rules-page' ? 'rules' : 'quotas';
  byId('view-quotas').hidden = page !== 'quotas';
  byId('view-rules').hidden = page !== 'rules';
  document.querySelectorAll('.tabs a').forEach(a => a.dataset.page === page ? a.setAttribute('aria-current', 'page') : a.removeAttribute('aria-current'));
  show(id);
}

function show(id) {
  const was = panel.id;
  panel.open(id);
  document.querySelector('.shell').classList.toggle('open', id !== null);
  byId('main').inert = id !== null && matchMedia('(max-width: 720px)').matches;
  table.select(id);
  if (id === null || id === was) return;
  say(`${splitId(id).map(visible).join(' ')} opened`);
  if (covers.matches) panel.focus();
  tick();
  lookUp();
}

function move(n) {
  if (currentView() !== 'quotas') return;
  if (panel.id !== null) return step(n);
  const row = document.activeElement?.closest('#quotas tbody tr');
  const id = table.neighbour(row?.dataset.id, n);
  if (id !== undefined) table.focus(id);
}

function escape() {
  const field = byId('search');
  if (document.activeElement === field) {
    field.blur();
    if (field.value) return clearSearch();
  }
  if (panel.id !== null) close();
  else if (field.value) clearSearch();
}

function togglePause() {
  if (feed.state === 'paused') feed.resume();
  else feed.pause();
  say(feed.state === 'paused' ? 'Paused' : 'Live numbers go on');
}

function toggleTheme() {
  const root = document.documentElement;
  const dark = (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  root.dataset.theme = dark ? 'light' : 'dark';
  try {
    localStorage.setItem('weir-theme', root.dataset.theme);
  } catch {
    // Storage may be forbidden; the choice then ends with the page.
  }
}

function focusSearch() {
  byId('search').focus();
  byId('search').select();
}

/* Start. */

byId('search').addEventListener('input', event => search(event.target.value));
byId('rule').addEventListener('change', event => { state.rule = event.target.value; askFirstPage(); });
byId('order').addEventListener('change', event => orderBy(event.target.value));
document.querySelectorAll('#quotas th[data-order] button').forEach(button => button.addEventListener('click', () => orderBy(button.parentElement.dataset.order)));
byId('prev').addEventListener('click', () => turn(-1));
byId('next').addEventListener('click', () => turn(1));
byId('live').addEventListener('click', togglePause);
byId('theme').addEventListener('click', toggleTheme);
byId('help-close').addEventListener('click', () => byId('help').close());
byId('resort').addEventListener('click', () => {
  table.resort();
  table.select(panel.id);
  tick();
  say(`Sorted anew: ${plural(table.held.length, 'quota')}`);
});
bindKeys({ search: focusSearch, move, page: turn, pause: togglePause, theme: toggleTheme, escape });
addEventListener('hashchange', route);
setInterval(() => { tick(); lookUp(); }, 1000);
setInterval(refreshNode, 30000); // rules may be changed while the page is open
blank('Asking the node…', 'Only now is nothing known; later, old numbers stay with their age.', null);
drawRules(byId('view-rules'), null);
route();
refreshNode();
ask();
