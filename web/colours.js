// The theme, and from values to colours of the ramp.
import {kBad, kHidden, kTop} from './maps.js';

const kThemes = ['auto', 'light', 'dark'];
const kSpan = 8;  // scores: softmax cannot see further down
export const kScales = ['sqrt', 'linear', 'log'];

export class Colours {
  constructor(ramps, onChange) {
    this.ramps = ramps;
    this.onChange = onChange;
    this.button = document.getElementById('theme');
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    try { this.choice = localStorage.getItem('qkv-theme'); } catch { /* file */ }
    if (!kThemes.includes(this.choice)) this.choice = 'auto';
    this.dark.addEventListener('change', () => this.apply());
    this.button.addEventListener('click', () => this.next());
    this.apply();
  }

  next() {
    this.choice = kThemes[(kThemes.indexOf(this.choice) + 1) % kThemes.length];
    try { localStorage.setItem('qkv-theme', this.choice); } catch { /* file */ }
    this.apply();
  }

  apply() {
    const dark = this.choice === 'auto' ? this.dark.matches : this.choice === 'dark';
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    this.button.textContent = `Theme: ${this.choice}`;
    const style = getComputedStyle(document.documentElement);
    for (const name of ['paper', 'ink', 'ink2', 'ink3', 'edge', 'rule', 'bad'])
      this[name] = style.getPropertyValue(`--${name}`).trim();
    this.mono = style.getPropertyValue('--mono');
    // Little-endian pixels of the ramp, paper at 256, the sign of NaN at 257.
    const ramp = this.ramps[dark ? 'dark' : 'light'];
    this.css = [];
    for (let i = 0; i < 256; ++i) this.css.push('#' + ramp.slice(6 * i, 6 * i + 6));
    this.pixels = Uint32Array.from([...this.css, this.paper, this.bad], pixelOf);
    this.onInk = this.css.map(
        (_, i) => (dark ? i < 110 : i >= 142) ? '#ffffff' : '#000000');
    this.onChange();
  }

  // Where a value stands on the ramp, 0…255.
  index(maps, value, rowMax, scale) {
    const t = maps.weights ? scaled(value, scale) : 1 + (value - rowMax) / kSpan;
    return Math.floor(255 * Math.min(1, Math.max(0, t)) + 0.5);
  }

  // The index of every code of a row, 256 for hidden and 257 for NaN.
  table(maps, rowMax, scale) {
    if (maps.weights && this.cached?.scale === scale) return this.cached.table;
    const table = new Uint16Array(4096);
    for (let code = 0; code <= kTop; ++code)
      table[code] = this.index(maps, maps.values[code], rowMax, scale);
    table[kHidden] = 256;
    table[kBad] = 257;
    if (maps.weights) this.cached = {scale, table};
    return table;
  }
}

function scaled(t, scale) {
  if (scale === 'linear') return t;
  return scale === 'log' ? 1 + Math.log10(Math.max(t, 1e-9)) / 3 : Math.sqrt(t);
}

// The ticks of the legend: values and where they stand.
export function legendTicks(weights, scale) {
  if (!weights)
    return [-8, -6, -4, -2, 0].map(v => [v === -8 ? '\u2264 \u22128' : v === 0 ? '0' : `\u2212${-v}`, 1 + v / kSpan]);
  const values = scale === 'linear' ? [0, 0.25, 0.5, 0.75, 1]
      : scale === 'log' ? [0.001, 0.01, 0.1, 1] : [0, 0.01, 0.1, 0.25, 0.5, 1];
  return values.map(v => [String(v).replace(/^0\./, '.'), scaled(v, scale)]);
}

function pixelOf(css) {
  const v = parseInt(css.slice(1), 16);
  return (0xff << 24 | (v & 255) << 16 | (v >> 8 & 255) << 8 | v >> 16) >>> 0;
}
