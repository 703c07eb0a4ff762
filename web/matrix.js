// One head as a matrix: rows are queries, columns keys. One canvas of ink and
// one over it for what moves with the pointer.
import {cellText, scoreText} from './format.js';
import {drawMagnifier} from './magnifier.js';
import {kBad, kHidden} from './maps.js';

const kLargestCell = 40, kLabelled = 10, kNumbered = 30;
const kFont = 11, kAbove = 6;

export class Matrix {
  constructor(figure, maps, store, colours) {
    Object.assign(this, {maps, store, colours});
    this.figure = figure;
    this.caption = figure.appendChild(document.createElement('figcaption'));
    this.box = figure.appendChild(document.createElement('div'));
    this.box.className = 'matrix';
    this.ink = this.box.appendChild(document.createElement('canvas'));
    this.over = this.box.appendChild(document.createElement('canvas'));
    this.over.className = 'over';
    this.over.tabIndex = 0;
    this.over.setAttribute('role', 'application');
    this.over.setAttribute('aria-roledescription', 'attention matrix');
    this.texels = document.createElement('canvas');
    this.listen();
    new ResizeObserver(() => store.request(true)).observe(figure);
  }

  listen() {
    const {over, store} = this, text = this.maps.number;
    let from = null;
    over.addEventListener('pointermove', event => {
      const cell = this.cellAt(event);
      store.point(cell ? {text, ...cell} : null);
      this.drag = from && cell ? [from, cell] : null;
    });
    over.addEventListener('pointerleave', () => { this.drag = from = null; store.point(null); });
    over.addEventListener('pointerdown', event => { from = this.cellAt(event); });
    over.addEventListener('pointerup', event => {
      const to = this.cellAt(event);
      const dragged = from && to && Math.max(Math.abs(from.q - to.q), Math.abs(from.k - to.k)) > 1;
      if (dragged) this.zoomTo(from, to);
      else if (to) store.lockPair(text, to.q, to.k);
      from = this.drag = null;
    });
    over.addEventListener('dblclick', event => {
      const cell = this.cellAt(event);
      if (cell) this.zoomBy(0.5, cell);
    });
  }

  whole() { return [0, this.maps.queries, 0, this.maps.keys]; }
  block() {
    const {text, block} = this.store.locked;
    return block && text === this.maps.number ? block : this.whole();
  }

  zoomTo(a, b) {
    this.store.point(null);
    this.store.lock({text: this.maps.number, block: [
      Math.min(a.q, b.q), Math.max(a.q, b.q) + 1, Math.min(a.k, b.k), Math.max(a.k, b.k) + 1]});
  }

  // Shows `factor` of the rows and columns, about a cell.
  zoomBy(factor, {q, k}) {
    const [q0, q1, k0, k1] = this.block();
    const {queries, keys} = this.maps;
    const span = (low, high, at, all) => {
      const size = Math.min(all, Math.max(4, Math.round((high - low) * factor)));
      const begin = Math.min(Math.max(0, Math.round(at - size / 2)), all - size);
      return [begin, begin + size];
    };
    const block = [...span(q0, q1, q, queries), ...span(k0, k1, k ?? q, keys)];
    const all = block.join() === this.whole().join();
    this.store.lock({text: this.maps.number, block: all ? null : block});
  }

  cellAt(event) {
    if (!this.place) return null;
    const box = this.over.getBoundingClientRect(), {x, y, cell, pool} = this.place;
    const [q0, q1, k0, k1] = this.block();
    const q = q0 + Math.floor((event.clientY - box.top - y) / cell) * pool;
    const k = k0 + Math.floor((event.clientX - box.left - x) / cell) * pool;
    return q >= q0 && q < q1 && k >= k0 && k < k1 ? {q, k} : null;
  }

  // Cells of whole device pixels; where there are more cells than pixels, a
  // pixel is the largest of pool × pool.
  layOut() {
    const ratio = Math.min(2, devicePixelRatio || 1);
    const [q0, q1, k0, k1] = this.block(), rows = q1 - q0, columns = k1 - k0;
    const width = this.figure.clientWidth;
    const height = Math.max(240, innerHeight - 150);
    const context = this.ink.getContext('2d');
    context.font = `${kFont}px ${this.colours.mono}`;
    const widest = (token, from, to) => {
      let most = 0;
      for (let i = from; i < to; ++i)
        most = Math.max(most, context.measureText(token(i)?.label ?? String(i)).width);
      return Math.ceil(most) + 6;
    };
    const fit = (left, below) => Math.floor(
        Math.min(kLargestCell, (width - left - 2) / columns, (height - below) / rows) * ratio) / ratio;
    let left = 36, below = 20, labels = false, upright = false;
    if (fit(left, below) >= kLabelled) {
      const rowWidth = widest(i => this.maps.queryToken(i), q0, q1);
      const columnWidth = widest(i => this.maps.keyToken(i), k0, k1);
      if (fit(rowWidth, columnWidth) >= kLabelled) {
        labels = true;
        left = rowWidth;
        upright = fit(left, 16) >= columnWidth;
        below = upright ? 16 : columnWidth;
      }
    }
    let cell = fit(left, below), pool = 1;
    if (cell * ratio < 1) {
      cell = 1 / ratio;
      pool = Math.ceil(Math.max(columns / ((width - left - 2) * ratio), rows / ((height - below) * ratio)));
    }
    const shownRows = Math.ceil(rows / pool), shownColumns = Math.ceil(columns / pool);
    this.place = {x: left, y: kAbove, cell, pool, labels, upright, ratio,
                  right: left + shownColumns * cell, bottom: kAbove + shownRows * cell,
                  width, height: kAbove + shownRows * cell + below};
    for (const canvas of [this.ink, this.over]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(this.place.height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${this.place.height}px`;
    }
    this.box.style.height = `${this.place.height}px`;
  }

  draw(ink) {
    const shown = this.store.shown();
    const name = `${shown.layer}.${shown.head}`;
    if (ink || name !== this.drawn) {
      this.layOut();
      this.drawInk(shown);
      this.drawn = name;
      this.figure.dataset.drawn = Number(this.figure.dataset.drawn ?? 0) + 1;
    }
    this.drawOver(shown);
  }

  drawInk({layer, head}) {
    const {maps, colours, store} = this, {x, y, cell, pool, ratio} = this.place;
    const [q0, q1, k0, k1] = this.block();
    const codes = maps.head(layer, head);
    const rows = Math.ceil((q1 - q0) / pool), columns = Math.ceil((k1 - k0) / pool);
    const image = new ImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer);
    const indices = new Int16Array(rows * columns).fill(-1);
    for (let q = q0; q < q1; ++q) {
      const table = colours.table(maps, maps.weights ? 1 : maps.rowMax(codes, q), store.locked.scale);
      const row = Math.floor((q - q0) / pool) * columns;
      const end = Math.min(k1, maps.visible(q));
      for (let k = k0; k < end; ++k) {
        const code = codes[maps.begins[q] + k];
        if (code === kHidden) continue;
        const at = row + (pool === 1 ? k - k0 : Math.floor((k - k0) / pool));
        if (indices[at] < 257) indices[at] = Math.max(indices[at], code === kBad ? 257 : table[code]);
      }
    }
    for (let i = 0; i < indices.length; ++i) pixels[i] = colours.pixels[indices[i] < 0 ? 256 : indices[i]];
    this.texels.width = columns;
    this.texels.height = rows;
    this.texels.getContext('2d').putImageData(image, 0, 0);
    const context = this.ink.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.ink.width, this.ink.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.texels, x, y, columns * cell, rows * cell);
    context.strokeStyle = colours.rule;
    context.strokeRect(x - 0.5, y - 0.5, columns * cell + 1, rows * cell + 1);
    if (cell >= kNumbered) this.drawNumbers(context, indices, columns, codes);
    this.drawLabels(context);
    const more = pool > 1 ? `; a pixel is the largest of ${pool} \u00D7 ${pool}` : '';
    this.caption.textContent = `layer ${maps.firstLayer + layer}, head ${maps.firstHead + head}: a row shows what its token looks at${more}`;
    this.over.setAttribute('aria-label', `layer ${maps.firstLayer + layer}, head ${maps.firstHead + head}, ${maps.queries} by ${maps.keys}; arrows move, Enter locks`);
  }

  drawNumbers(context, indices, columns, codes) {
    const {x, y, cell} = this.place, [q0, , k0] = this.block();
    context.font = `${kFont}px ${this.colours.mono}`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    indices.forEach((index, i) => {
      if (index < 0) return;
      const row = Math.floor(i / columns), column = i % columns;
      const value = this.maps.value(codes, q0 + row, k0 + column);
      context.fillStyle = this.colours.onInk[Math.min(index, 255)];
      context.fillText(this.maps.weights ? cellText(value) : scoreText(value),
                       x + (column + 0.5) * cell, y + (row + 0.5) * cell, cell - 2);
    });
  }

  drawLabels(context) {
    const {x, y, cell, pool, bottom, labels, upright} = this.place, [q0, q1, k0, k1] = this.block();
    const {maps, colours} = this;
    context.font = `${kFont}px ${colours.mono}`;
    context.textBaseline = 'middle';
    context.fillStyle = labels ? colours.ink : colours.ink3;
    const every = labels ? 1 : tickStep((Math.max(q1 - q0, k1 - k0)));
    const first = from => Math.ceil(from / every) * every;
    context.textAlign = 'right';
    for (let q = first(q0); q < q1; q += every)
      context.fillText(labels ? maps.queryToken(q)?.label ?? q : q, x - 4, y + ((q - q0) / pool + 0.5) * cell);
    for (let k = first(k0); k < k1; k += every) {
      const text = labels ? maps.keyToken(k)?.label ?? k : k;
      const middle = x + ((k - k0) / pool + 0.5) * cell;
      context.save();
      context.translate(middle, bottom + 4);
      if (labels && !upright) {
        context.rotate(-Math.PI / 2);
        context.textAlign = 'right';
        context.fillText(text, 0, 0);
      } else {
        context.textAlign = 'center';
        context.fillText(text, 0, 7);
      }
      context.restore();
    }
  }

  drawOver(shown) {
    const {place, maps, colours, store} = this, {x, y, cell, pool, right, bottom, ratio} = place;
    const [q0, q1, k0, k1] = this.block();
    const context = this.over.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.over.width, this.over.height);
    if (shown.text !== maps.number) return;
    const size = Math.max(cell, 3);
    const top = q => y + Math.floor((q - q0) / pool) * cell, left = k => x + Math.floor((k - k0) / pool) * cell;
    const outline = (q, k, width, colour) => {
      if (q < q0 || q >= q1 || k < k0 || k >= k1) return;
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.strokeRect(left(k) - (size - cell) / 2, top(q) - (size - cell) / 2, size, size);
    };
    context.fillStyle = colours.ink;
    if (shown.q >= q0 && shown.q < q1) context.fillRect(x - 4, top(shown.q), 3, Math.max(cell, 1));
    if (shown.k !== null && shown.k >= k0 && shown.k < k1) context.fillRect(left(shown.k), bottom + 1, Math.max(cell, 1), 3);
    const {locked, hover} = store;
    if (locked.text === maps.number && locked.q !== null && locked.k !== null) {
      outline(locked.q, locked.k, 4, colours.paper);
      outline(locked.q, locked.k, 2, colours.ink);
    }
    if (hover?.q !== undefined) {
      outline(shown.q, shown.k, 3, colours.paper);
      outline(shown.q, shown.k, 1, colours.ink);
    }
    if (this.drag) {
      const [a, b] = this.drag;
      context.strokeStyle = colours.ink;
      context.lineWidth = 1;
      context.strokeRect(Math.min(left(a.k), left(b.k)), Math.min(top(a.q), top(b.q)),
                         Math.abs(left(a.k) - left(b.k)) + cell, Math.abs(top(a.q) - top(b.q)) + cell);
    }
    // The triangle that the mask leaves empty has room for it.
    if (maps.causal && maps.queries === maps.keys && !locked.block && cell < kNumbered / 2 && shown.k !== null)
      drawMagnifier(context, this, shown, {right, top: y});
  }
}

function tickStep(span) {
  for (const step of [1, 2, 5, 10, 20, 50, 100, 200, 500])
    if (span / step <= 10) return step;
  return 1000;
}
