"use strict";
// The dual feasible set beside the primal one: four constraints in the plane have a dual polygon in the plane.

(() => {
  const scene = {
    objective: { kind: "linear", angle: 35, target: [2, 2] }, units: 0,
    constraints: [scenes.half(1.7, 0.5, 5), scenes.half(0.6, 1.5, 75), scenes.half(-1.8, 0.2, 165), scenes.half(-0.2, -1.6, 265)],
  };
  const FROM = 1, A_DECADE = 10;
  const primal = new picture.Picture(document.getElementById("dual-primal"), changed, { centre: [0, 0], half: 2.6 });
  const beside = new picture.Picture(document.getElementById("dual-dual"), () => {});
  let solved;

  function solve() {
    const program = scenes.program(scene);
    const path = method.centralPath(program, { from: 10 ** FROM, to: 0.9e-4, ratio: 10 ** (-1 / A_DECADE) });
    solved = { program, path, found: polygon.dual(program) };
  }

  function changed() {
    solve();
    figure.draw();
  }

  // The dual polygon as a scene in the coordinates u of z = z0 + N u; its objective -h'z grows along the arrow.
  function dualScene({ z0, rows, N }, h) {
    const constraints = rows.map((row, i) => {
      const size = Math.hypot(...row), a = row.map((v) => -v / size);
      return { ...scenes.half(a[0] * (z0[i] / size), a[1] * (z0[i] / size), (Math.atan2(a[1], a[0]) * 180) / Math.PI) };
    });
    const up = N.map((v) => -v.reduce((sum, value, i) => sum + value * h[i], 0));
    return { objective: { kind: "linear", angle: (Math.atan2(up[1], up[0]) * 180) / Math.PI, target: [0, 0] }, units: 0, constraints };
  }

  function mark(plane, constraint) {
    const far = 100, a = scenes.direction(constraint.angle), ends = [-far, far].map((v) => plane.toScreen([constraint.at[0] - v * a[1], constraint.at[1] + v * a[0]]));
    return drawing.line("marked", ...ends);
  }

  function show(plane, shown, points, now, row, handles) {
    plane.fit();
    plane.drawScene(shown, handles);
    plane.layers.paths.replaceChildren(mark(plane, shown.constraints[row]), drawing.polyline("central", points.map((v) => plane.toScreen(v))));
    plane.layers.marks.replaceChildren(...shown.constraints.map((constraint, i) => { // an edge chooses its constraint
      const edge = mark(plane, constraint);
      edge.setAttribute("class", "hit");
      edge.addEventListener("click", () => figure.set({ row: scenes.LETTERS[i] }));
      return edge;
    }));
    plane.layers.iterates.replaceChildren(...(points[now] ? [drawing.dot("iterate current", plane.toScreen(points[now]), 7)] : []));
  }

  function draw({ exponent, row }) {
    const { program, found, path } = solved, i = scenes.LETTERS.indexOf(row);
    const now = Math.round((FROM - exponent) * A_DECADE), it = path[now], turned = dualScene(found, program.h);
    const points = path.map(({ z }) => found.coordinates(z));
    if (points.length) {
      const seen = points.slice(Math.min(A_DECADE * FROM, points.length - 1)), last = points[points.length - 1];
      const reach = Math.max(...seen.map((v) => Math.hypot(v[0] - last[0], v[1] - last[1])), 0.3);
      beside.view = { centre: last.map((v, j) => (v + seen[0][j]) / 2), half: 1.25 * reach };
    }
    show(primal, scene, path.map(({ x }) => x), now, i, primal.sceneHandles(scene).filter(({ kind }) => kind !== "angle"));
    show(beside, turned, points, now, i, []);
    const a = scenes.direction(turned.objective.angle), from = [34, 34];
    beside.layers.marks.append(drawing.arrow("corrector", from, [from[0] + 26 * a[0], from[1] - 26 * a[1]]));
    const python = [...scenes.declaration(program), "", "from docs.teaching import figures", `figures.dual(program, mu=${reading.short(10 ** exponent)})`].join("\n");
    if (!it) return { caption: "The primal or the dual has no strictly feasible point: there is no central path.", python };
    const value = program.c[0] * it.x[0] + program.c[1] * it.x[1], below = -it.z.reduce((sum, v, k) => sum + v * program.h[k], 0);
    return { caption: `Objective ${value.toFixed(4)} ≥ dual objective ${below.toFixed(4)}. Constraint ${row}: slack ${reading.short(it.s[i])}, multiplier ${reading.short(it.z[i])}`, python };
  }

  solve();
  const figure = new reading.Figure("dual", {
    state: { exponent: 0, row: "b" }, draw,
    controls: [{ key: "exponent", label: "μ", min: -4, max: FROM, step: 0.1, say: ({ exponent }) => `μ = ${reading.short(10 ** exponent)}` },
      { key: "row", label: "constraint", options: [..."abcd"].map((letter) => [letter, letter]) }],
  });
})();
