// Elements are built here and nowhere else. What comes from the wire enters as
// a text node or an attribute, never as markup.

const SVG = 'http://www.w3.org/2000/svg';

function build(element, props, kids) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...kids.flat().filter(kid => kid !== null && kid !== undefined));
  return element;
}

// h makes an HTML element. A prop named on… is a listener, others are attributes.
export const h = (tag, props, ...kids) => build(document.createElement(tag), props, kids);

// s makes an SVG element.
export const s = (tag, props, ...kids) => build(document.createElementNS(SVG, tag), props, kids);

export const byId = id => document.getElementById(id);

// The setters below leave the document alone when nothing changed: once a
// second for hundreds of cells that is the difference between idle and busy,
// and a selection the reader made in a number survives.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element, names) {
  if (element.getAttribute('class') !== names) element.setAttribute('class', names);
}

export function setAttr(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

// setStyle goes through the object model: the page's policy forbids style attributes in markup.
export function setStyle(element, property, value) {
  if (element.style.getPropertyValue(property) !== value) element.style.setProperty(property, value);
}

const icon = (...parts) => s('svg', { class: 'ic', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, ...parts);
const line = d => s('path', { d });

export const icons = {
  cut: () => icon(line('M1 8h3.5M11.5 8H15M6.5 12 8 4M9.5 12 11 4')),
  late: () => icon(s('circle', { cx: 8, cy: 8, r: 5.5 }), line('M8 5v3.2l2 1.3')),
  ok: () => icon(line('m3.5 8.5 3 3 6-7')),
  close: () => icon(line('m4 4 8 8m0-8-8 8')),
  up: () => icon(line('M8 13V3M4 7l4-4 4 4')),
  down: () => icon(line('M8 3v10M4 9l4 4 4-4')),
  weir: () => icon(line('M2 5h5c1 0 1.5 1 1.5 2v2c0 1 .5 2 2 2h4M2 8h3M2 11h3')),
  search: () => icon(s('circle', { cx: 7, cy: 7, r: 4.5 }), line('m10.5 10.5 3 3')),
};

// mark is the class pair that draws region i: five hues, and five patterns that
// step on by one each time the hues come round, so that the first 25 regions
// differ and none differs by hue alone from its neighbour.
export const mark = i => `g${i % 5} p${(i + Math.floor(i / 5)) % 5}`;
