// The ramp with its values; a sign moves to the value that is read out.
import {kScales, legendTicks} from './colours.js';

const kNames = {sqrt: 'attention weight, \u221A scale', linear: 'attention weight', log: 'attention weight, log scale'};

export class Legend {
  constructor(button, store, colours) {
    Object.assign(this, {button, store, colours});
    this.canvas = button.appendChild(document.createElement('canvas'));
    button.addEventListener('click', () => this.next());
  }

  next() {
    if (!this.store.maps.weights) return;
    const at = kScales.indexOf(this.store.locked.scale);
    this.store.lock({scale: kScales[(at + 1) % kScales.length]});
  }

  draw() {
    const {store, colours, canvas} = this, {maps} = store, {scale} = store.locked;
    const ratio = Math.min(2, devicePixelRatio || 1), width = Math.min(336, this.button.clientWidth || 336), height = 56;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = '11px system-ui, sans-serif';
    context.fillStyle = colours.ink2;
    context.fillText(maps.weights ? kNames[scale] : 'score below the row\u2019s largest', 4, 12);
    const ramp = width - 100;
    for (let x = 0; x < ramp; ++x) {
      context.fillStyle = colours.css[Math.round(255 * x / (ramp - 1))];
      context.fillRect(4 + x, 26, 1.5, 10);
    }
    context.textAlign = 'center';
    let end = -Infinity;
    for (const [text, at] of legendTicks(maps.weights, scale)) {
      if (at < 0 || at > 1) continue;
      const x = 4 + at * ramp;
      context.fillStyle = colours.ink3;
      context.fillRect(Math.round(x), 36, 1, 3);
      const half = context.measureText(text).width / 2;
      const middle = Math.max(x, 4 + half);
      if (middle - half < end + 3) continue;
      end = middle + half;
      context.fillText(text, middle, 50);
    }
    context.textAlign = 'left';
    context.strokeStyle = colours.edge;
    context.strokeRect(ramp + 22.5, 26.5, 9, 9);
    context.fillStyle = colours.ink2;
    context.fillText('masked', ramp + 37, 35);

    const {layer, head, q, k} = store.shown();
    if (k === null) return;
    const codes = maps.head(layer, head), value = maps.value(codes, q, k);
    if (!(value > -Infinity)) return;
    const rowMax = maps.weights ? 1 : maps.rowMax(codes, q);
    context.fillStyle = colours.ink;
    context.textAlign = 'center';
    context.fillText('\u25BE', 4 + ramp * colours.index(maps, value, rowMax, scale) / 255, 25);
  }
}
