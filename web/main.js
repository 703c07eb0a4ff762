// Puts the page together: data, state, views.
import {readAddress, writeAddress} from './address.js';
import {Colours} from './colours.js';
import {HeadGrid} from './grid.js';
import {keyHelp, listenToKeys, showDialog} from './keys.js';
import {Legend} from './legend.js';
import {Maps} from './maps.js';
import {Matrix} from './matrix.js';
import {readoutParts, showReadout} from './readout.js';
import {Store} from './store.js';
import {Strip} from './strip.js';
import {rowTable} from './table.js';

const kSpeakAfter = 250;  // ms behind the last key

function startPage() {
  const page = JSON.parse(document.getElementById('data').textContent);
  const all = page.texts.map((info, i) => new Maps(info, i, page.quantity));
  const store = new Store(all, page.start, draw);
  let note = readAddress(store);
  const views = [];
  const colours = new Colours(page.ramps, () => store.request(true));

  const texts = document.getElementById('texts');
  texts.classList.toggle('several', all.length > 1);
  const strips = [], matrices = [];
  for (const maps of all) {
    const section = texts.appendChild(document.createElement('section'));
    section.className = 'text';
    section.setAttribute('aria-label', maps.title);
    const side = section.appendChild(document.createElement('div'));
    const counts = maps.keyTokens ? `${maps.queries} queries, ${maps.keys} keys` : `${maps.queries} tokens`;
    side.appendChild(document.createElement('h2')).textContent =
        all.length > 1 ? `Text ${maps.number + 1}, ${counts}` : `Text, ${counts}`;
    const box = side.appendChild(document.createElement('div'));
    box.className = 'strip';
    strips.push(new Strip(box, maps, store, colours));
    const figure = section.appendChild(document.createElement('figure'));
    figure.dataset.picture = 'matrix';
    matrices.push(new Matrix(figure, maps, store, colours));
  }
  const legend = new Legend(document.getElementById('legend'), store, colours);
  views.push(...matrices, ...strips, new HeadGrid(document.getElementById('head-grid'), store, colours), legend);

  const readout = document.getElementById('readout'), spoken = document.getElementById('spoken');
  let byKey = false, speaking = 0;
  function draw(ink) {
    for (const view of views) view.draw(ink);
    if (note) showReadout(readout, [note]);
    else showReadout(readout, readoutParts(store));
    note = '';
    if (ink) writeAddress(store);
    if (!byKey) return;
    byKey = false;
    clearTimeout(speaking);
    speaking = setTimeout(() => { spoken.textContent = readout.textContent; }, kSpeakAfter);
  }

  const move = (dq, dk) => event => {
    const {text, q, k} = store.shown(), maps = all[text], by = event.shiftKey ? 10 : 1;
    const within = (value, most) => Math.min(most - 1, Math.max(0, value));
    store.point({text, q: within(q + dq * by, maps.queries),
                 k: within((k ?? Math.min(q, maps.keys - 1)) + dk * by, maps.keys)});
  };
  const moveToken = by => () => {
    const {text, q} = store.shown();
    store.lock({text, q: Math.min(all[text].queries - 1, Math.max(0, q + by))});
  };
  const rowEnd = last => () => {
    const {text, q} = store.shown();
    store.point({text, q, k: last ? Math.max(0, all[text].visible(q) - 1) : 0});
  };
  const zoom = factor => () => {
    const {text, q, k} = store.shown();
    matrices[text].zoomBy(factor, {q, k});
  };
  const actions = {
    '[': () => store.moveHead(-1), ']': () => store.moveHead(1),
    '{': () => store.moveLayer(-1), '}': () => store.moveLayer(1),
    ',': moveToken(-1), '.': moveToken(1),
    ArrowUp: move(-1, 0), ArrowDown: move(1, 0), ArrowLeft: move(0, -1), ArrowRight: move(0, 1),
    Home: rowEnd(false), End: rowEnd(true),
    Enter: () => { const {text, q, k} = store.shown(); if (k !== null) store.lockPair(text, q, k); },
    Escape: () => { store.point(null); store.unlock(); },
    d: () => store.lock({direction: store.locked.direction === 'at' ? 'by' : 'at'}),
    y: () => legend.next(),
    '+': zoom(0.5), '=': zoom(0.5), '-': zoom(2), 0: () => store.lock({block: null}),
    w: () => showDialog(rowTable(store)),
    t: () => store.lock({text: (store.locked.text + 1) % all.length, q: null, k: null, block: null}),
    '?': () => showDialog(keyHelp()),
  };
  for (const [key, action] of Object.entries(actions))
    actions[key] = event => { byKey = true; action(event); };
  listenToKeys(actions);
  document.getElementById('show-keys').addEventListener('click', () => showDialog(keyHelp()));
  addEventListener('hashchange', () => { store.point(null); note = readAddress(store); store.request(true); });
  addEventListener('DOMContentLoaded', () => store.request(true));  // all codes are there
  addEventListener('resize', () => store.request(true));
  draw(true);
  document.documentElement.dataset.state = 'ready';
  performance.measure('first-heatmap', {start: 0});
}

startPage();
