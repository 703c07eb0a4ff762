// The cells about the pointer, large enough to carry their numbers.
import {cellText, scoreText} from './format.js';

const kReach = 4, kLargest = 28, kSmallest = 20;

// Draws into the corner where `right` and `top` meet, where there is room.
export function drawMagnifier(context, matrix, {layer, head, q, k}, {right, top}) {
  const {maps, colours, store, place} = matrix;
  // Its lower left corner touches the diagonal where the side is half the
  // matrix'.
  const free = Math.min(place.right - place.x, place.bottom - place.y) / 2 - 10;
  const cell = Math.min(kLargest, Math.floor(free / (2 * kReach + 1)));
  if (cell < kSmallest) return;
  const side = (2 * kReach + 1) * cell;
  const codes = maps.head(layer, head);
  const left = right - side - 4, y = top + 4;
  context.save();
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.font = `10px ${colours.mono}`;
  for (let row = -kReach; row <= kReach; ++row)
    for (let column = -kReach; column <= kReach; ++column) {
      const at = {q: q + row, k: k + column};
      if (at.q < 0 || at.q >= maps.queries || at.k < 0 || at.k >= maps.keys) continue;
      const value = maps.value(codes, at.q, at.k);
      const x0 = left + (column + kReach) * cell, y0 = y + (row + kReach) * cell;
      if (value === -Infinity) continue;
      if (Number.isNaN(value)) {
        context.fillStyle = colours.bad;
        context.fillText('NaN', x0 + cell / 2, y0 + cell / 2);
        continue;
      }
      const rowMax = maps.weights ? 1 : maps.rowMax(codes, at.q);
      const index = colours.index(maps, value, rowMax, store.locked.scale);
      context.fillStyle = colours.css[index];
      context.fillRect(x0, y0, cell, cell);
      context.fillStyle = colours.onInk[index];
      context.fillText(maps.weights ? cellText(value) : scoreText(value), x0 + cell / 2, y0 + cell / 2, cell - 2);
    }
  context.strokeStyle = colours.ink;
  context.strokeRect(left + kReach * cell + 0.5, y + kReach * cell + 0.5, cell - 1, cell - 1);
  context.strokeStyle = colours.rule;
  context.strokeRect(left - 0.5, y - 0.5, side + 1, side + 1);
  context.restore();
}
