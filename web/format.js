// Numbers and tokens as text: as src/plot/number.cc writes them.

const kMinus = '\u2212';

// Three digits: 0.312, 0.0412, <0.001, 0.
export function weightText(value) {
  if (Number.isNaN(value)) return 'NaN';
  if (value === 0) return '0';
  if (value === 1) return '1';
  if (Math.abs(value) < 0.001) return '<0.001';
  return significant(value, 3);
}

// For a narrow cell: .31, 1, 0.
export function cellText(value) {
  if (Number.isNaN(value)) return 'NaN';
  if (value === 0) return '0';
  return value >= 0.995 ? '1' : value.toFixed(2).slice(1);
}

export function scoreText(value) {
  if (Number.isNaN(value)) return 'NaN';
  if (value === -Infinity) return kMinus + '\u221E';
  if (Math.abs(value) < 0.005) return '0';
  return Math.abs(value) < 0.1 ? signed(value, 2) : significant(value, 3);
}

export function countText(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

// A token with its position: equal strings stay apart.
export function tokenName(position, token) {
  return token ? `${position} \u2039${token.label}\u203A` : String(position);
}

function significant(value, digits) {
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  return signed(value, Math.max(0, digits - 1 - exponent));
}

function signed(value, decimals) {
  return (value < 0 ? kMinus : '') + Math.abs(value).toFixed(decimals);
}
