// A text as tokens; a bar under each says how much of the attention it has.

const kTallest = 8;

export class Strip {
  constructor(box, maps, store, colours) {
    Object.assign(this, {box, maps, store, colours});
    // The two sides of cross attention are two texts under each other.
    this.queries = this.fill(maps.queryTokens, maps.queries, maps.keyTokens && 'queries');
    this.keys = maps.keyTokens ? this.fill(maps.keyTokens, maps.keys, 'keys') : this.queries;
    this.canvas = box.appendChild(document.createElement('canvas'));
    box.addEventListener('pointerover', event => {
      const token = this.tokenOf(event.target);
      if (token) store.point({text: maps.number, ...token});
    });
    box.addEventListener('pointerleave', () => store.point(null));
    box.addEventListener('click', event => {
      const token = this.tokenOf(event.target);
      if (!token || String(getSelection())) return;
      if (token.q !== undefined) store.lock({text: maps.number, q: token.q, k: token.k});
      else store.lockToken(maps.number, token.token);
    });
    new ResizeObserver(() => this.measure()).observe(box);
  }

  fill(tokens, count, heading) {
    const {box} = this, spans = [];
    if (heading) box.appendChild(document.createElement('h2')).textContent = heading;
    const part = box.appendChild(document.createElement('div'));
    part.translate = false;
    part.classList.toggle('words', areWords(tokens));
    for (let i = 0; i < count; ++i) {
      const token = tokens[i] ?? {label: String(i)};
      const span = part.appendChild(document.createElement('span'));
      span.dir = 'auto';
      if (token.text === undefined) {
        span.className = 'odd';
        span.textContent = token.label;
      } else {
        if (token.text.startsWith(' ')) span.className = 'space';
        span.textContent = token.text.replace(/\n/g, '\u21B5\n');
      }
      spans.push(span);
    }
    return spans;
  }

  // {token}: either side; of cross attention a key has no meaning without its
  // query.
  tokenOf(span) {
    const q = this.queries.indexOf(span);
    if (q >= 0) return {token: q};
    const k = this.keys.indexOf(span);
    return k >= 0 ? {q: this.store.shown().q, k} : null;
  }

  measure() {
    const origin = this.box.getBoundingClientRect();
    const left = origin.left - this.box.scrollLeft, top = origin.top - this.box.scrollTop;
    this.places = new Map();
    for (const spans of new Set([this.queries, this.keys]))
      this.places.set(spans, spans.map(span => {
        // A wrapped token carries its bar under its last part.
        const rects = span.getClientRects(), r = rects[rects.length - 1];
        return r ? [r.left - left, r.bottom - top, r.width] : [0, 0, 0];
      }));
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.canvas.style.height = '0';  // not counted in what follows
    const width = this.box.clientWidth, height = this.box.scrollHeight;
    this.ratio = ratio;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.draw();
  }

  draw() {
    if (!this.places) return;
    const {maps, store, colours} = this, shown = store.shown();
    const here = shown.text === maps.number;
    const mark = (span, name, on) => span && span.classList.toggle(name, on);
    mark(this.lastQuery, 'query', false);
    mark(this.lastKey, 'key', false);
    const q = here ? shown.q : maps.queries - 1;
    this.lastQuery = this.queries[q];
    this.lastKey = here && shown.k !== null ? this.keys[shown.k] : null;
    mark(this.lastQuery, 'query', true);
    mark(this.lastKey, 'key', true);

    const codes = maps.head(shown.layer, shown.head);
    const context = this.canvas.getContext('2d');
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const by = store.locked.direction === 'by';
    const spans = by ? this.queries : this.keys, places = this.places.get(spans);
    const key = Math.min(shown.k ?? q, maps.keys - 1);
    const maxOf = (row) => maps.weights ? 1 : maps.rowMax(codes, row);
    const own = by ? 1 : maxOf(q);
    for (let i = 0; i < spans.length; ++i) {
      const row = by ? i : q, column = by ? key : i;
      const value = maps.value(codes, row, column);
      if (!(value > -Infinity)) continue;
      const rowMax = by ? maxOf(row) : own;
      const index = colours.index(maps, value, rowMax, store.locked.scale);
      const [x, y, width] = places[i];
      const height = kTallest * index / 255;
      context.fillStyle = colours.css[index];
      context.fillRect(x, y, Math.max(1, width - 1), height);
    }
  }
}

// Whether the tokens are words without the blanks between them.
function areWords(tokens) {
  const texts = tokens.map(token => token.text ?? '');
  return texts.some(text => text.length > 1) && !texts.some(text => /\s/.test(text));
}
