// Feed keeps one page of quotas up to date over server-sent events and knows
// how old what it has is. It holds one connection, closed while paused or
// hidden: browsers allow six to a host, and six forgotten tabs would take all.

import { readPage, readQuota } from './model.js';

const PROBE_AFTER = 5000;    // ms of silence before the node is asked whether it is there
const REOPEN_AFTER = 3000;   // ms before a stream that ended for good is opened again
const RENEW_AFTER = 60000;   // ms of silence before the stream is renewed though the node answers
const HIDDEN_AFTER = 60000;  // ms in the background before the stream is closed
const REQUEST_TIMEOUT = 4000;

const now = () => Date.now();

async function getJson(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_TIMEOUT), headers: { Accept: 'application/json' } });
  if (!response.ok) {
    const error = new Error(await refusal(response));
    error.status = response.status;
    throw error;
  }
  return { json: await response.json(), date: response.headers.get('Date') };
}

async function refusal(response) {
  const text = (await response.text()).slice(0, 500);
  try {
    const parsed = JSON.parse(text);
    return String(parsed.detail ?? parsed.message ?? text);
  } catch {
    return text.trim();
  }
}

// getNode asks the node who it is; skew is its clock less ours, in seconds, and
// 0 where they agree within two seconds, as the header has no finer grain.
export async function getNode() {
  const { json, date } = await getJson('v1/node');
  const skew = date ? (Date.parse(date) - now()) / 1000 : 0;
  return { node: json, skew: Math.abs(skew) > 2 ? skew : 0 };
}

async function listQuotas(query) {
  const { json } = await getJson('v1/quotas?' + new URLSearchParams(query));
  return readPage(json);
}

// getQuota asks for one quota; null where no such rule has one.
export async function getQuota(rule, key) {
  try {
    const { json } = await getJson('v1/quota?' + new URLSearchParams({ rule, key }));
    return json.quota ? readQuota(json.quota) : null;
  } catch (error) {
    if (error.status === 404 || error.status === 400) return null;
    throw error;
  }
}

export class Feed {
  #source = null;
  #query = null;
  #opened = false;  // whether the present stream ever opened
  #streamAt = 0;    // when the stream was opened or last spoke
  #probing = false;
  #reopen = 0;      // timer
  #hide = 0;        // timer
  #asked = 0;       // counts queries, so that a late answer to an earlier one is dropped

  // state: connecting (nothing known yet), live, lost, paused.
  state = 'connecting';
  heardAt = 0; // Unix ms of the newest word from the node, 0 before the first

  // onPage(page), onState(state), onRefused(message) when the node refuses the query itself.
  constructor({ onPage, onState, onRefused }) {
    this.onPage = onPage;
    this.onState = onState;
    this.onRefused = onRefused;
    setInterval(() => this.#check(), 1000);
    document.addEventListener('visibilitychange', () => this.#visibility());
  }

  watch(query) {
    this.#query = query;
    this.#asked++;
    if (this.state === 'paused') this.#once();
    else this.#open();
  }

  pause() {
    this.#close();
    this.#set('paused');
  }

  resume() {
    this.#set(this.heardAt ? 'lost' : 'connecting');
    this.#open();
  }

  #open() {
    this.#close();
    this.#opened = false;
    this.#streamAt = now();
    const source = new EventSource('v1/quotas/watch?' + new URLSearchParams({ ...this.#query, intervalMs: '1000' }));
    this.#source = source;
    source.onopen = () => { this.#opened = true; };
    source.onmessage = event => this.#message(event.data);
    source.onerror = () => this.#failed(source);
  }

  #close() {
    clearTimeout(this.#reopen);
    this.#source?.close();
    this.#source = null;
  }

  #message(data) {
    let page;
    try {
      page = readPage(JSON.parse(data).page ?? {});
    } catch (error) {
      console.error('weir: an answer that is not JSON was dropped', error);
      return;
    }
    this.#streamAt = now();
    this.#heard(page);
  }

  #heard(page) {
    this.heardAt = now();
    if (this.state !== 'paused') this.#set('live');
    if (page) this.onPage(page);
  }

  #set(state) {
    if (this.state === state) return;
    this.state = state;
    this.onState(state);
  }

  // A stream that broke is opened again by the browser. One that was refused is
  // closed for good, and only an ordinary request can say why.
  #failed(source) {
    if (source !== this.#source) return;
    if (source.readyState !== EventSource.CLOSED) return this.#lost();
    const refused = !this.#opened;
    this.#close();
    this.#reopen = setTimeout(() => this.#open(), REOPEN_AFTER);
    if (refused) this.#once();
    else this.#lost();
  }

  #lost() {
    if (this.state !== 'paused') this.#set('lost');
  }

  async #once() {
    const asked = this.#asked;
    try {
      const page = await listQuotas(this.#query);
      if (asked === this.#asked) this.#heard(page);
    } catch (error) {
      if (asked !== this.#asked) return;
      if (error.status === 400) this.onRefused(error.message);
      else this.#lost();
    }
  }

  // #check finds a connection that died without an error: silence alone proves
  // nothing, as the node speaks only of changes.
  async #check() {
    if (!this.#source || this.#probing || this.state === 'paused' || now() - this.heardAt < PROBE_AFTER) return;
    this.#probing = true;
    try {
      await getNode();
      if (this.#opened && this.#source?.readyState === EventSource.OPEN) this.#heard(null);
      if (this.#source && now() - this.#streamAt > RENEW_AFTER) this.#open();
    } catch {
      this.#lost();
      if (this.#source?.readyState === EventSource.OPEN) this.#open();
    } finally {
      this.#probing = false;
    }
  }

  retry() {
    if (this.state !== 'paused') this.#open();
  }

  #visibility() {
    clearTimeout(this.#hide);
    if (document.hidden) this.#hide = setTimeout(() => this.#close(), HIDDEN_AFTER);
    else if (!this.#source && this.#query && this.state !== 'paused') this.#open();
  }
}
