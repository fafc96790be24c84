"use strict";
// tau against kappa while a half-plane is moved away from a disc, from feasible to infeasible.

(() => {
  const scene = (apart) => ({
    objective: { kind: "linear", angle: 60, target: [2, 2] }, units: 0,
    constraints: [scenes.cone(-0.9, 0, 1.2), scenes.half(0.3 + apart, 0, 180)],
  });
  const LIMIT = 1, STEP = 0.05;
  const plane = new picture.Picture(document.getElementById("embedding-plane"), () => figure.draw(), { centre: [-0.2, 0], half: 2.4 });
  const square = document.getElementById("embedding-square");
  const run = (apart) => method.solve(scenes.program(scene(apart)));
  const ends = Array.from({ length: Math.round((2 * LIMIT) / STEP) + 1 }, (_, k) => run(k * STEP - LIMIT).best);

  function handle(state) {
    const at = plane.toScreen([0.3 + state.apart, 0]);
    return {
      label: "the half-plane", kind: "place", text: `distance ${state.apart}`, at,
      move: ([x]) => (state.apart = Math.min(LIMIT, Math.max(-LIMIT, Math.round((plane.toPlane([x, 0])[0] - 0.3) / STEP) * STEP))),
    };
  }

  function draw(state) {
    const apart = (state.apart = Number(state.apart.toFixed(2))), shown = scene(apart), { status, trace, best } = run(apart);
    plane.fit();
    plane.drawScene(shown, [handle(state)]);
    plane.drawRun({ central: [], whole: [], points: trace.map((it) => scenes.point(it, 0)), current: trace.length - 1, ray: null });
    const axes = new drawing.Axes(square, { from: -9, to: 1, log: true, step: 3, label: "τ" }, { from: -9, to: 1, log: true, step: 3, label: "κ" });
    axes.add(drawing.line("zero", axes.at([1e-9, 1e-9]), axes.at([10, 10])));
    for (const it of ends) axes.add(drawing.dot("faint-dot", axes.at([it.tau, it.kappa]), 3));
    axes.curve("path", trace.map((it) => [it.tau, it.kappa]), 3.5);
    axes.add(drawing.dot("iterate current", axes.at([best.tau, best.kappa]), 6));
    axes.show();
    const python = [...scenes.declaration(scenes.program(shown)), "", "from docs.teaching import figures", "figures.embedding(program)"].join("\n");
    return { caption: `${status.replaceAll("_", " ")} after ${trace.length - 1} steps: τ = ${reading.short(best.tau, 2)}, κ = ${reading.short(best.kappa, 2)}`, python };
  }

  const figure = new reading.Figure("embedding", {
    state: { apart: -0.8 }, draw,
    controls: [{ key: "apart", label: "distance", min: -LIMIT, max: LIMIT, step: STEP, say: ({ apart }) => (apart > 0 ? `${apart} apart` : apart < 0 ? `${-apart} inside` : "touching") }],
  });
})();
