// The keyboard: letters work everywhere, arrows in the matrix.

const kHelp = [
  ['[ ]', 'previous, next head'],
  ['{ }', 'previous, next layer'],
  [', .', 'previous, next token'],
  ['arrows', 'move the cell (Shift: 10), Home and End: ends of the row'],
  ['Enter', 'lock the cell, or the head in the grid'],
  ['Esc', 'unlock: zoom, key, query'],
  ['d', 'bars: what the token looks at, or who looks at it'],
  ['y', 'next scale of the colours'],
  ['+ - 0', 'zoom in, out, all (a drag zooms, too)'],
  ['w', 'the row as a table'],
  ['t', 'next text'],
  ['?', 'these keys'],
];

export function showDialog(content) {
  const dialog = document.getElementById('keys');
  dialog.replaceChildren(content);
  dialog.showModal();
}

export function keyHelp() {
  const table = document.createElement('table');
  table.createCaption().textContent = 'Keys; Esc closes';
  for (const [keys, what] of kHelp) {
    const row = table.insertRow();
    row.insertCell().textContent = keys;
    row.insertCell().textContent = what;
  }
  return table;
}

// actions: from a key to what it does.
export function listenToKeys(actions) {
  const dialog = document.getElementById('keys');
  dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close(); });
  document.addEventListener('keydown', event => {
    if (dialog.open || event.ctrlKey || event.metaKey || event.altKey) return;
    const onButton = event.target instanceof HTMLButtonElement;
    if (onButton && (event.key === 'Enter' || event.key === ' ')) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
}
