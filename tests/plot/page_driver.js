// Works the page as a person would and leaves what it showed in #results.
addEventListener('load', async () => {
  const frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const readout = () => document.getElementById('readout').textContent;
  const press = async (key, more = {}) => {
    (document.activeElement ?? document.body).dispatchEvent(
        new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true, ...more}));
    await frame();
  };
  const point = async (target, type, x, y) => {
    target.dispatchEvent(new PointerEvent(type, {clientX: x, clientY: y, bubbles: true}));
    await frame();
  };
  const results = {faults, state: document.documentElement.dataset.state, first: readout(), hash: location.hash};

  const spans = [...document.querySelectorAll('.strip span')];
  results.strip = spans.map(span => span.textContent);
  results.headings = [...document.querySelectorAll('h1, title')].map(h => h.textContent);
  results.heads = document.querySelectorAll('#head-grid button').length;

  // Every place of the matrix: what is read out there and the ink's colour.
  const over = document.querySelector('canvas.over'), ink = over.previousSibling;
  const box = over.getBoundingClientRect(), context = ink.getContext('2d');
  results.cells = [];
  for (let y = 3; y < box.height; y += 11)
    for (let x = 3; x < box.width; x += 11) {
      await point(over, 'pointermove', box.left + x, box.top + y);
      results.cells.push([readout(), [...context.getImageData(x, y, 1, 1).data].slice(0, 3)]);
    }
  await point(over, 'pointerleave', 0, 0);
  results.left = readout();

  await point(spans[2], 'pointerover', 0, 0);
  results.token = readout();
  spans[4].click();
  await point(spans[1], 'pointerover', 0, 0);
  results.pair = [readout(), location.hash];
  await point(document.querySelector('.strip'), 'pointerleave', 0, 0);
  await press('Escape');
  results.unlocked = location.hash;

  await press(']');
  results.nextHead = location.hash;
  await press('}');
  results.nextLayer = location.hash;
  await press('ArrowLeft');
  await press('Enter');
  results.lockedByKey = [readout(), location.hash];
  await press('y');
  results.scale = location.hash;
  await press('+');
  results.zoomed = location.hash;
  await press('0');
  await press('w');
  results.table = [...document.querySelectorAll('dialog tbody tr')].map(row => row.textContent);
  document.querySelector('dialog').close();
  await press('?');
  results.help = document.querySelector('dialog').textContent;
  document.querySelector('dialog').close();

  location.hash = '#h=1.0&q=3&k=1';
  await new Promise(done => setTimeout(done, 50));
  await frame();
  results.fromAddress = readout();
  location.hash = '#h=9.9&q=77';
  await new Promise(done => setTimeout(done, 50));
  await frame();
  results.wrongAddress = readout();

  const ground = () => getComputedStyle(document.body).backgroundColor;
  const theme = document.getElementById('theme');
  results.grounds = [];
  for (let i = 0; i < 3; ++i) {
    theme.click();
    results.grounds.push([theme.textContent, ground()]);
  }
  results.requests = performance.getEntriesByType('resource').map(entry => entry.name);

  const text = document.createElement('pre');
  text.id = 'results';
  text.textContent = JSON.stringify(results);
  document.body.replaceChildren(text);
});
