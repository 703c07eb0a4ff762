// The attention of one text: codes of 12 bits, unpacked a head at a time.
// A code up to kTop is a value, √w for weights and linear for scores.

export const kTop = 4093, kHidden = 4094, kBad = 4095;
const kKept = 24;  // unpacked heads

export class Maps {
  // info: an entry of the page's texts; number: its place among them.
  constructor(info, number, quantity) {
    Object.assign(this, info);
    this.number = number;
    this.weights = quantity === 'weights';
    this.values = new Float32Array(4096);
    for (let code = 0; code <= kTop; ++code) {
      const t = code / kTop;
      this.values[code] =
          this.weights ? t * t : info.low + (info.high - info.low) * t;
    }
    this.values[kHidden] = -Infinity;
    this.values[kBad] = NaN;
    this.begins = new Uint32Array(this.queries + 1);
    for (let q = 0; q < this.queries; ++q)
      this.begins[q + 1] = this.begins[q] + this.visible(q);
    this.unpacked = new Map();
  }

  // How many keys, counted from the first, a query may see.
  visible(q) {
    if (!this.causal) return this.keys;
    return Math.max(0, Math.min(this.keys, q + 1 + this.keys - this.queries));
  }

  queryToken(q) { return this.queryTokens[q]; }
  keyToken(k) { return (this.keyTokens ?? this.queryTokens)[k]; }

  // The element of its codes; null while it is on its way: only what another
  // one follows has come whole.
  element(layer, head) {
    const codes = document.getElementById(`codes-${this.number}-${layer}-${head}`);
    return codes?.nextSibling || document.readyState !== 'loading' ? codes : null;
  }

  // All codes of a head, row by row, visible keys only; all hidden while they
  // are on their way.
  head(layer, head) {
    const name = `${layer}-${head}`;
    if (!this.element(layer, head))
      return new Uint16Array(this.begins[this.queries]).fill(kHidden);
    let codes = this.unpacked.get(name);
    if (codes) {
      this.unpacked.delete(name);  // and in again as the latest
    } else {
      codes = this.unpack(layer, head);
      if (this.unpacked.size >= kKept)
        this.unpacked.delete(this.unpacked.keys().next().value);
    }
    this.unpacked.set(name, codes);
    return codes;
  }

  unpack(layer, head) {
    const bytes = atob(this.element(layer, head).textContent);
    const codes = new Uint16Array(this.begins[this.queries]);
    for (let i = 0, b = 0; i < codes.length; b += 3) {
      const middle = bytes.charCodeAt(b + 1);
      codes[i++] = bytes.charCodeAt(b) | (middle & 15) << 8;
      if (i < codes.length) codes[i++] = middle >> 4 | bytes.charCodeAt(b + 2) << 4;
    }
    return codes;
  }

  code(codes, q, k) {
    return k < this.visible(q) ? codes[this.begins[q] + k] : kHidden;
  }
  value(codes, q, k) { return this.values[this.code(codes, q, k)]; }

  // The largest value of a row.
  rowMax(codes, q) {
    let most = -1;
    for (let i = this.begins[q]; i < this.begins[q + 1]; ++i)
      if (codes[i] <= kTop && codes[i] > most) most = codes[i];
    return most < 0 ? NaN : this.values[most];
  }

  // What a pair's number means among its row's.
  rank(codes, q, k) {
    const value = this.code(codes, q, k);
    let larger = 0, seen = 0;
    for (let i = this.begins[q]; i < this.begins[q + 1]; ++i) {
      if (codes[i] > kTop) continue;
      ++seen;
      if (codes[i] > value) ++larger;
    }
    return {rank: larger + 1, seen};
  }
}
