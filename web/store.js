// What is locked and what is under the pointer. Every view draws from it.

export class Store {
  // all: the Maps of every text. draw is called once a frame while dirty.
  constructor(all, start, draw) {
    this.all = all;
    this.draw = draw;
    this.dirty = false;
    // q, k: locked; block: the zoomed part [q0, q1, k0, k1), null for all.
    this.locked = {text: 0, layer: start[0], head: start[1], q: null, k: null,
                   scale: 'sqrt', direction: 'at', block: null};
    // null, {layer, head}, {text, token} or {text, q, k}
    this.hover = null;
  }

  lock(change) {
    Object.assign(this.locked, change);
    this.request(true);
  }

  point(hover) {
    if (JSON.stringify(hover) === JSON.stringify(this.hover)) return;
    this.hover = hover;
    this.request(false);
  }

  request(ink) {
    this.ink ||= ink;
    if (this.dirty) return;
    this.dirty = true;
    requestAnimationFrame(() => {
      this.dirty = false;
      const drawInk = this.ink;
      this.ink = false;
      this.draw(drawInk);
    });
  }

  get maps() { return this.all[this.shown().text]; }

  // What is drawn: hover before lock before default. With a query locked the
  // token under the pointer is the key.
  shown() {
    const {locked, hover} = this;
    const text = hover?.text ?? locked.text;
    const here = text === locked.text;
    const maps = this.all[text];
    let q = here ? locked.q : null, k = here ? locked.k : null;
    if (hover?.q !== undefined) {
      ({q, k} = hover);
    } else if (hover?.token !== undefined) {
      if (q === null) q = hover.token; else k = hover.token;
    }
    q ??= maps.queries - 1;
    return {text, layer: hover?.layer ?? locked.layer, head: hover?.head ?? locked.head,
            q: Math.min(q, maps.queries - 1), k: k === null ? null : Math.min(k, maps.keys - 1)};
  }

  moveHead(by) {
    const {layers, heads} = this.maps;
    const n = layers * heads;
    const next = (this.locked.layer * heads + this.locked.head + by + n) % n;
    this.lock({layer: Math.floor(next / heads), head: next % heads});
  }

  moveLayer(by) {
    const {layers} = this.maps;
    this.lock({layer: (this.locked.layer + by + layers) % layers});
  }

  // One step back: zoom, key, query.
  unlock() {
    for (const what of ['block', 'k', 'q'])
      if (this.locked[what] !== null) return this.lock({[what]: null});
  }

  lockToken(text, token) {
    const {locked} = this, same = text === locked.text;
    if (!same || locked.q === null) this.lock({text, q: token, k: null});
    else if (locked.k === token) this.lock({k: null});
    else if (locked.q === token) this.lock({q: null, k: null});
    else this.lock({k: token});
  }

  lockPair(text, q, k) {
    const {locked} = this;
    const again = text === locked.text && q === locked.q && k === locked.k;
    this.lock({text, q: again ? null : q, k: again ? null : k});
  }
}
