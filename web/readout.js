// One line, always in the same place: what the shown pair is and its numbers.
import {countText, scoreText, tokenName, weightText} from './format.js';

// An array of texts and, for tokens, of [text].
export function readoutParts(store) {
  const {maps} = store, {layer, head, q, k} = store.shown();
  const name = `layer ${maps.firstLayer + layer} head ${maps.firstHead + head}`;
  const codes = maps.head(layer, head);
  const parts = [[tokenName(q, maps.queryToken(q))]];
  if (store.all.length > 1) parts.unshift(`text ${store.shown().text + 1}: `);
  if (k === null) {
    const {best, value} = largest(maps, codes, q);
    if (best < 0) return [...parts, ` sees no key in ${name}: exactly 0`];
    parts.push(` looks most at `, [tokenName(best, maps.keyToken(best))], `, ${name}: ${number(maps, value)}`);
    return parts;
  }
  parts.push(' \u2192 ', [tokenName(k, maps.keyToken(k))], `, ${name}: `);
  const value = maps.value(codes, q, k);
  if (value === -Infinity) return [...parts, 'masked'];
  if (Number.isNaN(value)) return [...parts, 'NaN'];
  const {rank, seen} = maps.rank(codes, q, k);
  parts.push(`${number(maps, value)}, rank ${countText(rank)} of ${countText(seen)}`);
  if (maps.weights) {
    parts.push(`, chance ${weightText(1 / seen)}`);
    const sink = maps.value(codes, q, 0);
    if (k !== 0 && sink > 0.5) parts.push(`; token 0 takes ${weightText(sink)}: the sink`);
  }
  return parts;
}

export function showReadout(line, parts) {
  line.replaceChildren(...parts.map(part => {
    if (typeof part === 'string') return part;
    const token = document.createElement('bdi');
    token.textContent = part[0];
    return token;
  }));
}

function number(maps, value) {
  return maps.weights ? weightText(value) : scoreText(value);
}

function largest(maps, codes, q) {
  let best = -1, value = -Infinity;
  for (let k = 0; k < maps.visible(q); ++k) {
    const v = maps.value(codes, q, k);
    if (v > value) { best = k; value = v; }
  }
  return {best, value};
}
