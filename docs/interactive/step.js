"use strict";
// One step taken apart, and the same iterates in the space of their products: a triangle, where x starts, and the rule for
// sigma.  All points are strictly feasible, so the embedding is off and directions are arrows in the plane.

(() => {
  const scene = {
    objective: { kind: "linear", angle: 40, target: [2, 2] }, units: 0,
    constraints: [scenes.half(1.5, 0.3, 12), scenes.half(-0.7, 1.1, 118), scenes.half(-0.2, -1.5, 258)],
  };
  const RULES = {
    mehrotra: ["Mehrotra's, σ = (1 − α)³", {}],
    affine: ["always σ = 0", { predictor: false, centrality: false }],
    fixed: ["σ = 0.1, no corrector", { predictor: false }],
  };
  const STAGES = ["the affine direction", "where it meets the boundary", "centering", "the corrector", "the step"];
  const VIEW = { centre: [-0.2, -0.1], half: 2.6 }, LAST = 1e-7, MOST = 30;
  const program = scenes.program(scene), m = 3;
  const path = method.centralPath(program, { from: 100, to: 1e-4, ratio: 10 ** -0.1 });
  const { z } = path[20]; // at mu = 1; dual feasible
  let x = [-1.2, -0.9];

  const slack = (point) => program.G.map((row, i) => program.h[i] - row[0] * point[0] - row[1] * point[1]);

  function solve({ rule = "mehrotra", share = 0.99 } = {}) {
    const solver = new method.Method(program, { ...method.SWITCHES, embedding: false, ...RULES[rule][1] }, share);
    const trace = [{ x, y: [], z, s: slack(x), tau: 1, kappa: 0, sigma: NaN, alpha: NaN }];
    for (let it = trace[0]; solver.mu(it) > LAST && trace.length <= MOST; trace.push(it)) {
      it = solver.step(it);
      if (!(solver.isInside(it) && it.alpha > 1e-8)) break;
    }
    return { solver, trace };
  }

  function start(plane) {
    const at = plane.toScreen(x);
    return {
      label: "where x starts", text: plane.place(x), kind: "place", at,
      move: (to) => {
        const wanted = plane.toPlane(to).map((v) => plane.rounded(v));
        if (Math.min(...slack(wanted)) > 0.02) x = wanted;
      },
    };
  }

  function changed() {
    for (const figure of [apart, spaces]) figure.draw();
  }

  function drawPlane(plane, trace, upTo) {
    plane.fit();
    plane.drawScene(scene, [start(plane)]);
    const points = trace.map((it) => plane.toScreen(it.x));
    plane.layers.paths.replaceChildren(
      drawing.polyline("central", path.map((it) => plane.toScreen(it.x))),
      drawing.polyline("path later", points), drawing.polyline("path", points.slice(0, upTo + 1)),
    );
    plane.layers.iterates.replaceChildren(...points.map((v, k) => drawing.dot(`iterate ${k > upTo ? "later" : k === upTo ? "current" : ""}`, v, k === upTo ? 7 : 4)));
  }

  const python = (call) => ["import numpy as np", ...scenes.declaration(program), "", "from docs.teaching import figures", "from socp import textbook",
    `start = figures.start_at(program, np.array([${x.join(", ")}]))`, call].join("\n");

  // ---- one step

  const plane = new picture.Picture(document.getElementById("step-plane"), changed, VIEW);
  const ratios = document.getElementById("step-ratios");

  // Which entry of s or z becomes zero first, and after which share of the direction.
  function met(cone, d) {
    const steps = ["s", "z"].flatMap((name) => cone.longestSteps(d.point[name], d.way[name]).map((alpha, i) => ({ name, i, alpha })));
    return steps.reduce((first, step) => (step.alpha < first.alpha ? step : first));
  }

  // A direction in the units of the program.
  function unscaled(solver, it, at, d) {
    const next = solver.move(it, d, at, 1, 0), less = (name) => next[name].map((v, i) => v - it[name][i]);
    return { point: { s: it.s, z: it.z }, way: { x: d.dx, s: less("s"), z: less("z") } };
  }

  function drawStep({ k, stage }) {
    const { solver, trace } = solve(), last = Math.max(trace.length - 2, 0), it = trace[Math.min(k, last)];
    drawPlane(plane, trace, Math.min(k, last));
    const { at, sigma, affine, centered, combined } = solver.directions(it);
    const [first, second, third] = [affine, centered(), combined].map((d) => unscaled(solver, it, at, d));
    const shown = stage <= 1 ? first : third, ends = met(solver.cone, shown);
    const tip = (from, way, by = 1) => [from[0] + by * way[0], from[1] + by * way[1]], screen = (v) => plane.toScreen(v);
    const chain = [it.x, tip(it.x, first.way.x), tip(it.x, second.way.x), tip(it.x, third.way.x)].map(screen);
    const marks = [drawing.arrow("affine", chain[0], chain[1])];
    if (stage >= 2) marks.push(drawing.arrow("centering", chain[1], chain[2]));
    if (stage >= 3) marks.push(drawing.arrow("corrector", chain[2], chain[3]));
    if (stage === 1) marks.push(drawing.cross("met", screen(tip(it.x, shown.way.x, Math.min(ends.alpha, 1)))));
    if (stage === 4) marks.push(drawing.arrow("path-arrow", screen(it.x), screen(trace[Math.min(k, last) + 1]?.x ?? it.x)));
    plane.layers.marks.replaceChildren(...marks);
    drawRatios(it, shown, ends);
    const where = ends.alpha === Infinity ? "meets no boundary" : `reaches ${ends.name}${subscript(ends.i)} = 0 at α = ${reading.short(ends.alpha)}`;
    const caption = `Iterate ${Math.min(k, last)}, μ = ${reading.short(solver.mu(it), 2)}: ${shown === first ? "the affine direction" : "the combined direction"} ${where}; ` +
      `σ = ${reading.short(sigma, 2)}`;
    return { caption, limits: { k: last }, python: python(`figures.step_parts(program, start, ${Math.min(k, last)})`) };
  }

  const subscript = (i) => ` of ${scenes.LETTERS[i]}`;

  // Every s_i and z_i along the direction, as a share of what it is now: a line that comes to zero meets the boundary.
  function drawRatios(it, d, ends) {
    const axes = new drawing.Axes(ratios, { from: 0, to: 1.2, step: 0.5, label: "α" }, { from: -0.25, to: 2, step: 1, label: "share that is left" });
    axes.add(drawing.line("zero", axes.at([0, 0]), axes.at([1.2, 0])));
    for (const name of ["s", "z"]) {
      d.way[name].forEach((by, i) => {
        const value = (alpha) => 1 + (alpha * by) / it[name][i], first = name === ends.name && i === ends.i;
        const until = value(1.2) < -0.25 ? (-1.25 * it[name][i]) / by : value(1.2) > 2 ? it[name][i] / by : 1.2;
        axes.add(drawing.line(`${name === "s" ? "slack" : "multiplier"} ${first ? "first" : ""}`, axes.at([0, 1]), axes.at([until, value(until)])));
        const [right, y] = axes.at([Math.min(until, 1.08), value(Math.min(until, 1.08))]);
        axes.add(drawing.text("label", [right, y - 3], `${name} ${scenes.LETTERS[i]}`));
      });
    }
    if (ends.alpha <= 1.2) axes.add(drawing.cross("met", axes.at([ends.alpha, 0])));
    axes.show();
  }

  // ---- the products

  const beside = new picture.Picture(document.getElementById("products-plane"), changed, VIEW);
  const triangle = document.getElementById("products-triangle");

  function drawProducts({ k, beta, gamma, rule, share }) {
    const { solver, trace } = solve({ rule, share }), now = Math.min(k, trace.length - 1), [width, height] = drawing.fit(triangle);
    drawPlane(beside, trace, now);
    // the plane w_a + w_b + w_c = 3 of the products w = s o z / mu: corners at 3 e_i, sqrt(6) from the centre e
    const reach = Math.min(width / Math.sqrt(3), (height - 26) / 1.5) * 0.94, centre = [width / 2, 18 + reach];
    const corner = (i) => [centre[0] + reach * Math.sin((2 * Math.PI * i) / m), centre[1] - reach * Math.cos((2 * Math.PI * i) / m)];
    const corners = [0, 1, 2].map(corner);
    const at = (w) => [0, 1].map((j) => corners.reduce((sum, v, i) => sum + (w[i] / m) * v[j], 0));
    const products = trace.map((it) => { const mu = solver.mu(it); return it.s.map((s, i) => (s * it.z[i]) / mu); });
    const inner = corners.map((v) => v.map((u, j) => centre[j] + (1 - gamma) * (u - centre[j])));
    const points = products.map(at), w = products[now];
    const distance = Math.hypot(...w.map((v) => v - 1)), smallest = Math.min(...w);
    triangle.replaceChildren(
      drawing.polygon("simplex", corners), drawing.polygon("wide", inner), drawing.dot("near", centre, (beta * reach) / Math.sqrt(6)),
      drawing.cross("centre", centre, 4), ...corners.map((v, i) => drawing.text("letter", [v[0] + [0, 1, -1][i] * 4, v[1] + (i ? 15 : -5)], scenes.LETTERS[i], ["middle", "end", "start"][i])),
      drawing.polyline("path later", points), drawing.polyline("path", points.slice(0, now + 1)),
      ...points.map((v, j) => drawing.dot(`iterate ${j > now ? "later" : j === now ? "current" : ""}`, v, j === now ? 7 : 4)),
    );
    const options = Object.keys(RULES[rule][1]).map((name) => `, ${name}=False`).join("");
    const changed = share === method.DEFAULTS.share ? "" : `textbook.method.STEP = ${share}\n`;
    const neighbourhoods = `${changed}figures.neighbourhoods(program, start, beta=${beta}, gamma=${gamma}${options && `, switches=textbook.Switches(embedding=False${options})`})`;
    const caption = `Iterate ${now} of ${trace.length - 1}, μ = ${reading.short(solver.mu(trace[now]), 2)}: ‖s∘z − μ e‖ = ${reading.short(distance, 2)} μ, ` +
      `smallest product ${reading.short(smallest, 2)} μ`;
    return { caption, limits: { k: trace.length - 1 }, python: python(neighbourhoods) };
  }

  const iterate = { key: "k", label: "iterate", min: 0, max: MOST, step: 1, say: ({ k }) => `iterate ${k}` };
  const apart = new reading.Figure("step", {
    state: { k: 0, stage: 0 }, draw: drawStep,
    controls: [iterate, { key: "stage", label: "part", min: 0, max: 4, step: 1, say: ({ stage }) => STAGES[stage] }],
  });
  const spaces = new reading.Figure("products", {
    state: { k: 0, beta: 0.5, gamma: 0.1, rule: "mehrotra", share: 0.99 }, draw: drawProducts,
    controls: [iterate, { key: "rule", label: "σ", options: Object.entries(RULES).map(([name, [text]]) => [name, text]) },
      { key: "share", label: "share of the way", min: 0.5, max: 0.995, step: 0.005, say: (state) => String(state.share) },
      { key: "beta", label: "β", min: 0.05, max: 1, step: 0.05, say: (state) => `β = ${state.beta}` },
      { key: "gamma", label: "γ", min: 0.01, max: 0.5, step: 0.01, say: (state) => `γ = ${state.gamma}` }],
  });
})();
