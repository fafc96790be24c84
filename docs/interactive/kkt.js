"use strict";
// The KKT matrix of an iterate and its factor L D L', as numbers and as a drawing.

const kkt = (() => {
  // The order of elimination: as it stands, or always next a row with the fewest neighbours (minimum degree).
  function permutation(K, kind) {
    const all = K.map((_, i) => i);
    if (kind !== "degree") return all;
    const near = K.map((row, i) => new Set(all.filter((j) => j !== i && row[j] !== 0)));
    const left = new Set(all), found = [];
    while (left.size) {
      const k = [...left].reduce((best, i) => (near[i].size < near[best].size ? i : best));
      left.delete(k);
      found.push(k);
      for (const i of near[k]) {
        for (const j of near[k]) if (j !== i) near[i].add(j);
        near[i].delete(k);
      }
    }
    return found;
  }

  const isSymmetric = (K) => K.every((row, i) => row.every((v, j) => Math.abs(v - K[j][i]) <= 1e-9 * (Math.abs(v) + Math.abs(K[j][i]))));

  // {L, d} of the rows and columns of K in an order, `added` on the diagonal; no pivoting: quasi-definite matrices need none.
  function factor(K, added, order) {
    const n = K.length, L = order.map((_, i) => order.map((__, j) => (i === j ? 1 : 0))), d = [];
    for (let j = 0; j < n; j++) {
      const below = (i) => {
        let sum = K[order[i]][order[j]] + (i === j ? added[order[j]] : 0);
        for (let k = 0; k < j; k++) sum -= L[i][k] * d[k] * L[j][k];
        return sum;
      };
      d.push(below(j));
      for (let i = j + 1; i < n; i++) L[i][j] = below(i) / d[j];
    }
    return { L, d };
  }

  // Where L has entries, whatever the numbers: true below the diagonal where a path of elimination leads.
  function pattern(K, order) {
    const found = order.map((i, r) => order.map((j, c) => r === c || K[i][j] !== 0));
    order.forEach((_, k) => {
      for (let i = k + 1; i < order.length; i++) {
        for (let j = k + 1; j < order.length; j++) if (found[i][k] && found[j][k]) found[i][j] = true;
      }
    });
    return found;
  }

  // What is drawn of K and of its factor: cells {row, column, value, fill}, in the order of elimination.
  function analyse({ K, added }, kind) {
    const order = permutation(K, kind), symmetric = isSymmetric(K), there = pattern(K, order), cells = { K: [], L: [] };
    const { L, d } = symmetric ? factor(K, added, order) : { L: null, d: [] };
    order.forEach((i, row) => order.forEach((j, column) => {
      if (K[i][j] !== 0) cells.K.push({ row, column, value: K[i][j], fill: false });
      if (!symmetric || column > row || !there[row][column]) return;
      const value = row === column ? d[row] : L[row][column];
      cells.L.push({ row, column, value, fill: row !== column && K[i][j] === 0 });
    }));
    const turned = order.filter((i, k) => d[k] * added[i] < 0).length; // by rounding
    return { order, symmetric, d, L, cells, turned, fill: cells.L.filter((cell) => cell.fill).length };
  }

  // ---- the drawing

  const SIDE = 250, GAP = 40, TOP = 22, DIGITS = 8;

  function labels(constraints, letters) {
    const names = [[], []];
    constraints.forEach(({ kind }, i) => {
      if (kind === "line") names[0].push(`y ${letters[i]}`);
      else names[1].push(...(kind === "cone" ? [0, 1, 2].map((k) => `z ${letters[i]}${k}`) : [`z ${letters[i]}`]));
    });
    return ["x1", "x2", ...names[0], ...names[1]];
  }

  // Darker is larger, on a logarithmic scale of so many digits.
  function squares(cells, size, left, names) {
    const largest = Math.max(...cells.map(({ value }) => Math.abs(value)).filter(Number.isFinite), 1e-300), side = SIDE / size;
    return cells.map(({ row, column, value, fill }) => {
      const depth = !Number.isFinite(value) ? 1 : Math.max(0, 1 + Math.log10(Math.max(Math.abs(value), 1e-300) / largest) / DIGITS);
      const kind = `cell ${value < 0 ? "negative" : "positive"}${fill ? " fill" : ""}`, label = `${names[row]}, ${names[column]}`;
      return `<rect class="${kind}" x="${(left + column * side).toFixed(2)}" y="${(TOP + row * side).toFixed(2)}" width="${(side * 0.92).toFixed(2)}"
        height="${(side * 0.92).toFixed(2)}" fill-opacity="${(0.15 + 0.85 * depth).toFixed(3)}"><title>${label}: ${value.toPrecision(4)}</title></rect>`;
    });
  }

  function draw(svg, found, names) {
    const size = found.order.length, ordered = found.order.map((i) => names[i]), parts = [], right = SIDE + GAP;
    parts.push(`<text x="0" y="14">K, order ${size}</text><rect class="frame" x="0" y="${TOP}" width="${SIDE}" height="${SIDE}"/>`);
    parts.push(...squares(found.cells.K, size, 0, ordered));
    parts.push(`<text x="${right}" y="14">${found.symmetric ? "L and D" : "no L D L'"}</text>`);
    parts.push(`<rect class="frame" x="${right}" y="${TOP}" width="${SIDE}" height="${SIDE}"/>`);
    parts.push(...squares(found.cells.L, size, right, ordered));
    svg.setAttribute("viewBox", `0 0 ${2 * SIDE + GAP} ${TOP + SIDE + 2}`);
    svg.innerHTML = parts.join("");
  }

  function describe({ symmetric, d, cells, fill, order, turned }) {
    if (!symmetric) return `K has ${cells.K.length} entries. Without the scaling it is not symmetric, and has no factorization L D L'.`;
    if (!d.every((v) => v && Number.isFinite(v))) return "A pivot is zero: without the regularization K cannot be factored in this order.";
    const sizes = d.map(Math.abs), positive = d.filter((v) => v > 0).length;
    return `K has ${cells.K.length} entries, L ${cells.L.length - order.length} below its diagonal, ${fill} of them fill. ` +
      `${positive} positive and ${d.length - positive} negative pivots, between ${Math.min(...sizes).toExponential(1)} and ${Math.max(...sizes).toExponential(1)} in size.` +
      (turned ? ` Rounding turned the sign of ${turned}: the engine would replace such a pivot.` : "");
  }

  return { permutation, factor, pattern, analyse, labels, draw, describe };
})();

if (typeof module !== "undefined") module.exports = kkt;
