// Layers × heads: a small picture each, one column a head. Pictures are drawn
// a few a frame, the heads that are looked at first.
import {kBad, kHidden} from './maps.js';

const kTexels = 48;  // of a picture, either way
const kBudget = 8, kWait = 30;  // ms a frame; ms until more codes are there

export class HeadGrid {
  constructor(box, store, colours) {
    Object.assign(this, {box, store, colours});
    const {layers, heads, firstLayer, firstHead} = store.maps;
    const room = (box.clientWidth || 336) - 24;
    const pitch = Math.max(16, Math.min(64, Math.floor(room / heads) - 2));
    box.style.gridTemplateColumns = `20px repeat(${heads}, ${pitch}px)`;
    const name = text => {
      const label = box.appendChild(document.createElement('span'));
      label.className = 'name';
      label.textContent = text;
    };
    name('');
    for (let head = 0; head < heads; ++head) name(firstHead + head);
    this.buttons = [];
    for (let layer = 0; layer < layers; ++layer) {
      name(firstLayer + layer);
      for (let head = 0; head < heads; ++head) this.add(layer, head);
    }
    box.addEventListener('pointerleave', () => store.point(null));
    box.addEventListener('keydown', event => this.key(event));
  }

  add(layer, head) {
    const {store} = this, {firstLayer, firstHead} = store.maps;
    const button = this.box.appendChild(document.createElement('button'));
    button.type = 'button';
    button.setAttribute('aria-label', `layer ${firstLayer + layer} head ${firstHead + head}`);
    button.appendChild(document.createElement('canvas'));
    button.addEventListener('pointerenter', () => store.point({layer, head}));
    button.addEventListener('focus', () => { if (button.matches(':focus-visible')) store.point({layer, head}); });
    button.addEventListener('blur', () => store.point(null));
    button.addEventListener('click', () => store.lock({layer, head}));
    this.buttons.push({button, layer, head, drawn: ''});
  }

  // Arrows walk; the button itself takes Enter.
  key(event) {
    const {heads} = this.store.maps;
    const by = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -heads, ArrowDown: heads}[event.key];
    const at = this.buttons.findIndex(({button}) => button === document.activeElement);
    if (!by || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    this.buttons[at + by]?.button.focus();
  }

  draw(ink) {
    const {locked} = this.store, shown = this.store.shown();
    for (const {button, layer, head} of this.buttons) {
      const pressed = layer === locked.layer && head === locked.head;
      button.setAttribute('aria-pressed', pressed);
      button.tabIndex = pressed ? 0 : -1;
      button.classList.toggle('shown', layer === shown.layer && head === shown.head);
    }
    if (ink || shown.text !== this.text) {
      this.text = shown.text;
      this.continue();
    }
  }

  continue() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const state = `${this.text} ${this.store.locked.scale} ${this.colours.paper}`;
      const begin = performance.now();
      for (const entry of this.buttons) {
        if (entry.drawn === state) continue;
        if (performance.now() - begin > kBudget) return this.continue();
        const arrived = this.store.all[this.text].element(entry.layer, entry.head);
        if (!arrived) return void setTimeout(() => this.continue(), kWait);
        this.drawHead(entry);
        entry.drawn = state;
      }
      this.box.dataset.state = 'ready';
    });
  }

  // A texel is the largest of its block: a mean would hide spikes.
  drawHead({button, layer, head}) {
    const maps = this.store.all[this.text], {colours, store} = this;
    const longest = Math.max(maps.queries, maps.keys);
    const pool = Math.ceil(longest / kTexels);
    const rows = Math.ceil(maps.queries / pool), columns = Math.ceil(maps.keys / pool);
    const indices = new Int16Array(rows * columns).fill(-1);
    const codes = maps.unpack(layer, head);
    for (let q = 0, i = 0; q < maps.queries; ++q) {
      const table = colours.table(maps, maps.weights ? 1 : maps.rowMax(codes, q), store.locked.scale);
      const row = Math.floor(q / pool) * columns, end = maps.visible(q);
      for (let k = 0; k < end; ++k, ++i) {
        const at = row + Math.floor(k / pool), code = codes[i];
        if (code !== kHidden && indices[at] < 257)
          indices[at] = Math.max(indices[at], code === kBad ? 257 : table[code]);
      }
    }
    const image = new ImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < indices.length; ++i) pixels[i] = colours.pixels[indices[i] < 0 ? 256 : indices[i]];
    const canvas = button.firstChild;
    canvas.width = columns;
    canvas.height = rows;
    canvas.getContext('2d').putImageData(image, 0, 0);
  }
}
