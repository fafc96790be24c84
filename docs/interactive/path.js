"use strict";
// The central path: mu under the reader's hand, and on a logarithmic axis the pairs s_i z_i = mu.

(() => {
  const scene = {
    objective: { kind: "linear", angle: 50, target: [2, 2] }, units: 0,
    constraints: [scenes.half(1.9, 0.5, 10), scenes.half(0.4, 1.5, 80), scenes.half(-2, 0.4, 160), scenes.half(-0.3, -1.6, 262)],
  };
  const FROM = 2, A_DECADE = 10;
  const plane = new picture.Picture(document.getElementById("path-plane"), () => changed(), { centre: [0, 0], half: 2.6 });
  const pairs = document.getElementById("path-pairs");
  let program, path;

  function solve() {
    program = scenes.program(scene);
    path = method.centralPath(program, { from: 10 ** FROM, to: 0.9e-4, ratio: 10 ** (-1 / A_DECADE) });
  }

  function changed() {
    solve();
    figure.draw();
  }

  function draw({ exponent }) {
    const it = path[Math.round((FROM - exponent) * A_DECADE)], walked = path.filter(({ mu }) => mu >= 0.99 * 10 ** exponent);
    plane.fit();
    plane.drawScene(scene, plane.sceneHandles(scene).filter(({ kind }) => kind !== "angle"));
    plane.layers.paths.replaceChildren(
      drawing.polyline("central later", path.map(({ x }) => plane.toScreen(x))),
      drawing.polyline("central", walked.map(({ x }) => plane.toScreen(x))),
    );
    plane.layers.iterates.replaceChildren(...(it ? [drawing.dot("iterate current", plane.toScreen(it.x), 7)] : []));
    drawPairs(it);
    const python = [...scenes.declaration(program), "", "from docs.teaching import figures",
      `figures.central_path(program, mu=${reading.short(10 ** exponent)})`].join("\n");
    if (!it) return { caption: "No point fulfils all constraints strictly: there is no central path.", python };
    const value = program.c[0] * it.x[0] + program.c[1] * it.x[1], gap = it.s.length * it.mu;
    return { caption: `objective ${value.toFixed(4)}, gap sᵀz = ${it.s.length} μ = ${reading.short(gap)}`, python };
  }

  function drawPairs(it) {
    const axes = new drawing.Axes(pairs, { from: -5, to: 3, log: true, step: 2, label: "s (round), z (square)" },
      { from: -0.6, to: scene.constraints.length - 0.4, bare: true }, { left: 22 });
    scene.constraints.forEach((_, i) => {
      const row = scene.constraints.length - 1 - i, [, y] = axes.at([1, row]);
      axes.add(drawing.text("letter", [8, y + 5], scenes.LETTERS[i]), drawing.line("grid", axes.at([1e-9, row]), axes.at([1e9, row])));
      if (!it) return;
      const s = axes.at([it.s[i], row]), z = axes.at([it.z[i], row]);
      axes.add(drawing.line("pair", s, z), drawing.dot("slack filled", s, 5),
        drawing.element("rect", { class: "multiplier filled", x: z[0] - 4.5, y: z[1] - 4.5, width: 9, height: 9 }));
    });
    if (it) {
      const x = axes.at([Math.sqrt(it.mu), 0])[0];
      axes.add(drawing.line("middle", [x, axes.box[1]], [x, axes.box[3]]), drawing.text("label", [x + 4, axes.box[1] + 11], "√μ"));
    }
    axes.show();
  }

  solve();
  const figure = new reading.Figure("path", {
    state: { exponent: 2 }, draw,
    controls: [{ key: "exponent", label: "μ", min: -4, max: FROM, step: 0.1, say: ({ exponent }) => `μ = ${reading.short(10 ** exponent)}` }],
  });
})();
