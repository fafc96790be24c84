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

  function curves(svg, trace, current, tol) {
    const last = Math.max(trace.length - 1, 1);
    const axes = new drawing.Axes(svg, { from: 0, to: last, label: "iteration" }, { from: -12, to: 4, log: true, step: 4 }, { right: 46 });
    axes.add(drawing.line("tolerance", axes.at([0, tol]), axes.at([last, tol])));
    axes.add(drawing.line("now", axes.at([current, 1e-12]), axes.at([current, 1e4])));
    const names = CURVES.map(([name, value]) => [name, axes.at([last, Math.max(value(trace[trace.length - 1]), 1e-300)])[1]]).sort((u, v) => u[1] - v[1]);
    names.forEach((end, i) => { if (i) end[1] = Math.max(end[1], names[i - 1][1] + 13); });
    const over = Math.max(0, names[names.length - 1][1] - axes.box[3] - 4);
    for (const [name, value] of CURVES) axes.curve(`curve ${name}`, trace.map((it, k) => [k, value(it)]), 2.2);
    for (const [name, y] of names) axes.add(drawing.text(name, [axes.box[2] + 8, y - over + 4], name));
    axes.show();
  }

  return { exponential, fill, mark, curves };
})();
