"use strict";
// Simplex, active set and interior point on one polygon.

(() => {
  const objective = { kind: "linear", angle: 28, target: [2, 2] };
  const plane = new picture.Picture(document.getElementById("walks-plane"), () => figure.draw(), { centre: [0, 0], half: 2.6 });
  const counts = document.getElementById("walks-counts");

  // Half-planes that touch an ellipse.
  function polygonOf(edges) {
    return Array.from({ length: edges }, (_, k) => {
      const t = (2 * Math.PI * (k + 0.3)) / edges, normal = [Math.cos(t) / 2.2, Math.sin(t) / 1.6];
      return scenes.half(2.2 * Math.cos(t), 1.6 * Math.sin(t), (Math.atan2(normal[1], normal[0]) * 180) / Math.PI);
    });
  }

  function solve(edges, curvature) {
    const program = scenes.program({ objective, units: 0, constraints: polygonOf(edges) }), { G, h, c } = program;
    if (curvature) program.P = [[curvature, 0], [0, curvature]];
    const around = polygon.corners(G, h), far = around.reduce((worst, corner) => (worth(c, corner.x) > worth(c, worst.x) ? corner : worst));
    const aside = around[(around.indexOf(far) + Math.ceil(edges / 4)) % edges].x; // a quarter of the way round
    const middle = [0, 1].map((j) => around.reduce((sum, { x }) => sum + x[j], 0) / edges);
    return {
      program, around, trace: method.solve(program).trace.map((it) => scenes.point(it, 0)),
      simplex: curvature ? null : polygon.activeSet({ c }, G, h, far.x, far.rows),
      active: polygon.activeSet({ c, curvature }, G, h, aside.map((v, j) => middle[j] + 0.97 * (v - middle[j]))),
    };
  }

  const worth = (c, x) => c[0] * x[0] + c[1] * x[1];

  function draw({ edges, curvature }) {
    const found = solve(edges, curvature), screen = (list) => list.map((v) => plane.toScreen(v));
    plane.fit();
    const empty = { objective, units: 0, constraints: [] };
    plane.drawScene(empty, [plane.objectiveHandle(objective)]);
    plane.layers.region.replaceChildren(drawing.polygon("feasible outlined", screen(found.around.map(({ x }) => x))));
    const walk = (kind, points) => [drawing.polyline(`walk ${kind}`, screen(points)), ...screen(points).map((v) => drawing.dot(`${kind} filled`, v, 3.5))];
    plane.layers.paths.replaceChildren(...(found.simplex ? walk("simplex-walk", found.simplex) : []), ...walk("active-walk", found.active), ...walk("interior-walk", found.trace));
    drawCounts(found);
    const steps = [found.simplex, found.active, found.trace].map((points) => (points ? points.length - 1 : null));
    const python = [...scenes.declaration(found.program), "", "from docs.teaching import figures", "figures.walks(program)"].join("\n");
    return {
      caption: `${edges} edges: simplex ${steps[0] === null ? "not for a quadratic objective" : `${steps[0]} steps`}, active set ${steps[1]}, interior point ${steps[2]}`, python,
    };
  }

  // How far the objective is above its minimum after every step.
  function drawCounts({ program: { c, P }, simplex, active, trace }) {
    const value = (x) => worth(c, x) + 0.5 * (P[0][0] * x[0] * x[0] + P[1][1] * x[1] * x[1]), least = value(active[active.length - 1]);
    const longest = Math.max(trace.length, active.length, simplex?.length ?? 0) - 1;
    const axes = new drawing.Axes(counts, { from: 0, to: longest, label: "step" }, { from: 0, to: 4, step: 1, label: "above the minimum" });
    for (const [kind, points] of [["simplex-walk", simplex], ["active-walk", active], ["interior-walk", trace]]) {
      if (points) axes.curve(kind, points.map((x, k) => [k, Math.abs(value(x) - least)]), 3);
    }
    axes.show();
  }

  const figure = new reading.Figure("walks", {
    state: { edges: 6, curvature: 0 }, draw,
    controls: [{ key: "edges", label: "edges", min: 4, max: 48, step: 1, say: ({ edges }) => `${edges} edges` },
      { key: "curvature", label: "curvature", min: 0, max: 2, step: 0.1, say: ({ curvature }) => (curvature ? `P = ${curvature} I` : "linear") }],
  });
})();
