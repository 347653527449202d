// How numbers, times and keys are written.

const THIN = '\u202f', NBSP = '\u00a0', MINUS = '\u2212';

// num groups thousands by thin spaces. Beyond 2^53 a JavaScript number is no
// longer exact, and says so.
export function num(n, decimals = 0) {
  if (Math.abs(n) > Number.MAX_SAFE_INTEGER) return 'about ' + n.toExponential(2);
  const [whole, fraction] = Math.abs(n).toFixed(decimals).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, THIN);
  return (n < 0 ? MINUS : '') + grouped + (fraction ? '.' + fraction : '');
}

// rate writes units per second with two or three digits that count.
export function rate(perSecond) {
  if (perSecond >= 100) return num(perSecond);
  if (perSecond >= 1) return num(perSecond, 1);
  return perSecond >= 0.005 ? num(perSecond, 2) : '0';
}

export const percent = share => num(share * 100, share > 0 && share < 0.0995 ? 1 : 0) + NBSP + '%';

// duration writes seconds in its two largest units.
export function duration(seconds) {
  const t = Math.max(0, seconds);
  const d = Math.floor(t / 86400), hours = Math.floor(t % 86400 / 3600), m = Math.floor(t % 3600 / 60);
  const text = d ? `${d} d ${hours} h` : hours ? `${hours} h ${m} m` : m ? `${m} m` : `${Math.ceil(t)} s`;
  return text.replaceAll(' ', NBSP);
}

// ageText writes an age: tenths while they matter, then whole seconds, then minutes.
export function ageText(seconds) {
  const t = Math.max(0, seconds);
  if (t < 10) return t.toFixed(1) + NBSP + 's';
  return t < 60 ? Math.floor(t) + NBSP + 's' : `${Math.floor(t / 60)} m ${Math.floor(t % 60)} s`.replaceAll(' ', NBSP);
}

// secondsText is ageText without tenths, for ages inside a sentence.
export const secondsText = seconds => seconds < 10 ? Math.floor(Math.max(0, seconds)) + NBSP + 's' : ageText(seconds);

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

// utc writes a Unix instant to the minute. UTC because the reader's own zone
// says nothing about a quota's.
export function utc(unixSeconds) {
  const t = new Date(unixSeconds * 1000);
  if (Number.isNaN(t.getTime())) return 'unknown';
  const two = n => String(n).padStart(2, '0');
  return `${t.getUTCDate()} ${MONTHS[t.getUTCMonth()]} ${two(t.getUTCHours())}:${two(t.getUTCMinutes())} UTC`.replaceAll(' ', NBSP);
}

// per names a period: "a day" for 23 to 25 hours (a zone may change its clock), and so on.
export function per(seconds) {
  const hours = seconds / 3600, days = seconds / 86400;
  if (hours >= 23 && hours <= 25) return 'a day';
  if (days > 6.9 && days < 7.1) return 'a week';
  if (days > 27.9 && days < 31.1) return 'a month';
  if (hours === 1) return 'an hour';
  return 'in ' + duration(seconds);
}

// Control characters and those that reorder or hide text. The joiners of emoji
// and of Persian stay.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

// visible shows a key so that two keys that look alike are not taken for one:
// what cannot be seen is written as its code point.
export function visible(key) {
  const shown = key.replace(HIDDEN, c => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
  return shown.trim() === '' ? shown.replaceAll(' ', '␠') : shown;
}

export const plural = (n, one, many = one + 's') => `${num(n)} ${n === 1 ? one : many}`;

// listing joins names as a sentence does.
export const listing = parts => parts.length < 2 ? parts.join('') : parts.slice(0, -1).join(', ') + ' and ' + parts.at(-1);
