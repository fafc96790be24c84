"use strict";
// The iterates as numbers: the table that `verbose` prints, and the curves of its columns.

const tables = (() => {
  // As Python writes them in the formats 15.8e and 7.1e.
  function exponential(value, digits) {
    if (Number.isNaN(value)) return "nan";
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    const [mantissa, exponent] = value.toExponential(digits).split("e");
    return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }

  // Heading, what it is, digits, value.
  const COLUMNS = [
    ["primal obj", "1/2 x'Px + c'x", 8, (it) => it.objective],
    ["dual obj", "-1/2 x'Px - b'y - h'z", 8, (it) => it.dualObjective],
    ["pres", "relative residual of Ax = b, Gx + s = h", 1, (it) => it.primalResidual],
    ["dres", "relative residual of Px + c + A'y + G'z = 0", 1, (it) => it.dualResidual],
    ["gap", "relative difference of the objectives", 1, (it) => it.gap],
    ["step", "length of the step that led here", 1, (it) => it.alpha],
    ["mu", "mean of the products s z and tau kappa", 1, (it) => it.mu],
    ["sigma", "share of mu that the step aimed at", 1, (it) => it.sigma],
    ["tau", "tau of the embedding: a solution where it stays positive", 1, (it) => it.tau],
    ["kappa", "kappa of the embedding: a certificate where it stays positive", 1, (it) => it.kappa],
  ];

  const missing = { step: true, sigma: true }; // of the first iterate

  function fill(table, trace, select) {
    const head = document.createElement("tr");
    head.append(cell("th", "iter"), ...COLUMNS.map(([name, about]) => cell("th", name, { title: about })));
    table.tHead.replaceChildren(head);
    table.tBodies[0].replaceChildren(...trace.map((it, k) => {
      const row = document.createElement("tr"), button = document.createElement("button");
      button.type = "button";
      button.textContent = k;
      button.setAttribute("aria-label", `show iterate ${k}`);
      const first = cell("th", "");
      first.append(button);
      row.addEventListener("click", () => select(k));
      row.append(first, ...COLUMNS.map(([name, , digits, value]) => {
        const number = value(it), text = missing[name] && Number.isNaN(number) ? "------" : exponential(number, digits);
        const shown = cell("td", text);
        shown.dataset.value = number;
        return shown;
      }));
      return row;
    }));
    for (const th of table.tHead.rows[0].cells) th.scope = "col";
  }

  function cell(tag, text, properties = {}) {
    return Object.assign(document.createElement(tag), { textContent: text }, properties);
  }

  function mark(table, current) {
    [...table.tBodies[0].rows].forEach((row, k) => {
      if (k === current) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
    });
  }

  // ---- curves on a logarithmic axis

  const CURVES = [["gap", (it) => it.gap], ["pres", (it) => it.primalResidual], ["dres", (it) => it.dualResidual], ["mu", (it) => it.mu]];
  const WIDTH = 560, HEIGHT = 190, LEFT = 44, BOTTOM = 24, HIGHEST = 4, LOWEST = -12;

  function curves(svg, trace, current, tol) {
    const last = Math.max(trace.length - 1, 1), right = WIDTH - 56;
    const x = (k) => LEFT + (k / last) * (right - LEFT);
    const y = (value) => {
      const exponent = Math.log10(Math.max(value, 1e-300));
      return 8 + ((HIGHEST - Math.min(Math.max(exponent, LOWEST), HIGHEST)) / (HIGHEST - LOWEST)) * (HEIGHT - BOTTOM - 8);
    };
    const parts = [];
    for (let e = HIGHEST; e >= LOWEST; e -= 4) {
      const at = y(10 ** e);
      parts.push(`<line class="grid" x1="${LEFT}" x2="${right}" y1="${at}" y2="${at}"/>`);
      parts.push(`<text x="${LEFT - 6}" y="${at + 4}" text-anchor="end">1e${e}</text>`);
    }
    parts.push(`<line class="tolerance" x1="${LEFT}" x2="${right}" y1="${y(tol)}" y2="${y(tol)}"/>`);
    parts.push(`<line class="now" x1="${x(current)}" x2="${x(current)}" y1="4" y2="${HEIGHT - BOTTOM}"/>`);
    const ends = CURVES.map(([name, value]) => [name, y(value(trace[trace.length - 1]))]).sort((a, b) => a[1] - b[1]);
    ends.forEach((end, i) => { if (i) end[1] = Math.max(end[1], ends[i - 1][1] + 13); });
    const over = Math.max(0, ends[ends.length - 1][1] - (HEIGHT - BOTTOM + 4));
    for (const [name, value] of CURVES) {
      const points = trace.map((it, k) => [k, value(it)]).filter(([, v]) => Number.isFinite(v));
      parts.push(`<polyline class="curve ${name}" points="${points.map(([k, v]) => `${x(k)},${y(v)}`).join(" ")}"/>`);
      parts.push(...points.map(([k, v]) => `<circle class="curve-dot ${name}" r="2.2" cx="${x(k)}" cy="${y(v)}"/>`));
      const at = ends.find(([label]) => label === name)[1] - over;
      parts.push(`<text class="${name}" x="${right + 8}" y="${at + 4}">${name}</text>`);
    }
    parts.push(`<text x="${(LEFT + right) / 2}" y="${HEIGHT - 4}" text-anchor="middle">iteration 0 to ${trace.length - 1}</text>`);
    svg.innerHTML = parts.join("");
  }

  return { exponential, fill, mark, curves };
})();
