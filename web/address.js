// The state as the address' fragment: #t=0&h=2.4&q=20&k=5&y=log&d=by&b=0-63,0-63
import {kScales} from './colours.js';

export function writeAddress(store) {
  const {all, locked} = store, maps = all[locked.text];
  const parts = [];
  if (locked.text > 0) parts.push(`t=${locked.text}`);
  parts.push(`h=${maps.firstLayer + locked.layer}.${maps.firstHead + locked.head}`);
  for (const name of ['q', 'k'])
    if (locked[name] !== null) parts.push(`${name}=${locked[name]}`);
  if (locked.scale !== 'sqrt') parts.push(`y=${locked.scale}`);
  if (locked.direction !== 'at') parts.push(`d=${locked.direction}`);
  if (locked.block) {
    const [q0, q1, k0, k1] = locked.block;
    parts.push(`b=${q0}-${q1 - 1},${k0}-${k1 - 1}`);
  }
  try { history.replaceState(null, '', '#' + parts.join('&')); } catch { /* sandboxed */ }
}

// Takes over what is possible and returns words about what is not.
export function readAddress(store) {
  const ignored = [];
  const change = {text: 0, q: null, k: null, scale: 'sqrt', direction: 'at', block: null};
  const values = new URLSearchParams(location.hash.slice(1));
  const take = (name, pattern, accept) => {
    const text = values.get(name);
    if (text === null) return;
    const match = pattern.exec(text);
    if (!match || !accept(match.slice(1).map(Number), text))
      ignored.push(`${name}=${text.slice(0, 40)}`);
  };
  take('t', /^(\d+)$/, ([t]) => t < store.all.length && (change.text = t, true));
  const maps = store.all[change.text];
  take('h', /^(\d+)\.(\d+)$/, ([layer, head]) => {
    layer -= maps.firstLayer;
    head -= maps.firstHead;
    if (layer < 0 || head < 0 || layer >= maps.layers || head >= maps.heads) return false;
    Object.assign(change, {layer, head});
    return true;
  });
  take('q', /^(\d+)$/, ([q]) => q < maps.queries && (change.q = q, true));
  take('k', /^(\d+)$/, ([k]) => k < maps.keys && change.q !== null && (change.k = k, true));
  take('y', /^\w+$/, (_, text) => kScales.includes(text) && (change.scale = text, true));
  take('d', /^(?:at|by)$/, (_, text) => (change.direction = text, true));
  take('b', /^(\d+)-(\d+),(\d+)-(\d+)$/, ([q0, q1, k0, k1]) => {
    if (q0 > q1 || k0 > k1 || q1 >= maps.queries || k1 >= maps.keys) return false;
    change.block = [q0, q1 + 1, k0, k1 + 1];
    return true;
  });
  Object.assign(store.locked, change);
  return ignored.length ? `ignored in the address: ${ignored.join(', ')}` : '';
}
