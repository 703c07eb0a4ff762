// A row of the matrix as a table, for those who read rather than look.
import {scoreText, tokenName, weightText} from './format.js';

const kRows = 100;

export function rowTable(store) {
  const {maps} = store, {layer, head, q} = store.shown();
  const codes = maps.head(layer, head), rows = [];
  for (let k = 0; k < maps.visible(q); ++k) {
    const value = maps.value(codes, q, k);
    if (value !== -Infinity) rows.push({k, value});
  }
  rows.sort((a, b) => b.value - a.value || a.k - b.k);
  const table = document.createElement('table');
  const more = rows.length > kRows ? `, the largest ${kRows} of ${rows.length}` : '';
  table.createCaption().textContent =
      `${tokenName(q, maps.queryToken(q))} looks at, layer ${maps.firstLayer + layer} head ${maps.firstHead + head}${more}`;
  const heading = table.createTHead().insertRow();
  for (const text of ['key', maps.weights ? 'weight' : 'score']) {
    const cell = heading.appendChild(document.createElement('th'));
    cell.scope = 'col';
    cell.textContent = text;
  }
  const body = table.createTBody();
  for (const {k, value} of rows.slice(0, kRows)) {
    const row = body.insertRow();
    const cell = row.appendChild(document.createElement('th'));
    cell.scope = 'row';
    cell.textContent = tokenName(k, maps.keyToken(k));
    row.insertCell().textContent = maps.weights ? weightText(value) : scoreText(value);
  }
  return table;
}
