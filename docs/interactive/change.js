"use strict";
// The Nesterov-Todd scaling as a change of coordinates in a cone of dimension 2: s goes to W^-t s, z to W^t z.

(() => {
  const CONES = { orthant: [1, 1], round: [2] };
  const NAMES = { orthant: "the orthant", round: "the second-order cone |u₂| ≤ u₁" };
  const pairs = { orthant: { s: [2.6, 0.5], z: [0.6, 1.7] }, round: { s: [2.4, 1.5], z: [1.6, -0.9] } };
  const plane = new picture.Picture(document.getElementById("change-plane"), () => figure.draw(), { centre: [1.7, 1.2], half: 2.1 });
  const VIEWS = { orthant: { centre: [1.7, 1.3], half: 2 }, round: { centre: [1.7, 0], half: 2.4 } };
  const apply = (M, v) => M.map((row) => row[0] * v[0] + row[1] * v[1]);

  // The power t of a symmetric positive definite 2 x 2 matrix.
  function power([[a, b], [, d]], t) {
    const mean = (a + d) / 2, root = Math.hypot((a - d) / 2, b), angle = 0.5 * Math.atan2(2 * b, a - d);
    const [p, q] = [(mean + root) ** t, (mean - root) ** t], [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    return [[p * cos * cos + q * sin * sin, (p - q) * cos * sin], [(p - q) * cos * sin, p * sin * sin + q * cos * cos]];
  }

  const told = (v) => `(${v.map((u) => u.toFixed(2)).join(", ")})`;
  const depth = (kind, v) => (kind === "orthant" ? Math.min(...v) : v[0] - Math.abs(v[1]));

  function handles(kind, t, W) {
    return ["s", "z"].map((name) => ({
      label: name, kind: "place", text: plane.place(pairs[kind][name]), at: plane.toScreen(apply(power(W, name === "s" ? -t : t), pairs[kind][name])),
      move: (to) => {
        const back = power(W, name === "s" ? t : -t), wanted = apply(back, plane.toPlane(to)).map((v) => plane.rounded(v));
        if (depth(kind, wanted) > 0.15) pairs[kind][name] = wanted;
      },
    }));
  }

  function draw({ kind, t }) {
    const { s, z } = pairs[kind], [W] = new method.Cone(CONES[kind]).scaling(s, z), lam = apply(W, z);
    plane.fit();
    plane.view = { ...VIEWS[kind] };
    plane.drawScene({ objective: { kind: "linear", angle: 0, target: [0, 0] }, units: 0, constraints: [] }, handles(kind, t, W));
    const ends = kind === "orthant" ? [[9, 0], [0, 0], [0, 9]] : [[9, 9], [0, 0], [9, -9]], screen = (v) => plane.toScreen(v);
    plane.layers.region.replaceChildren(drawing.polygon("feasible", [...ends, ...(kind === "orthant" ? [[9, 9]] : [])].map(screen)),
      drawing.polyline("boundary", ends.map(screen)));
    const parts = [], toS = power(W, -t), toZ = power(W, t);
    for (let k = -8; k <= 8; k++) { // where the coordinate lines of s have gone
      for (const turn of [false, true]) {
        const points = [[0.5 * k, -20], [0.5 * k, 20]].map((v) => (turn ? [v[1], v[0]] : v));
        parts.push(drawing.polyline("bent", points.map((v) => screen(apply(toS, v)))));
      }
    }
    // a ball about lam in the scaled coordinates is one ellipse about s and another about z
    const radius = depth(kind, lam) / (kind === "orthant" ? 1 : Math.SQRT2);
    const circle = Array.from({ length: 73 }, (_, k) => [Math.cos((k * Math.PI) / 36), Math.sin((k * Math.PI) / 36)].map((v) => radius * v));
    const [sNow, zNow] = [apply(toS, s), apply(toZ, z)];
    for (const [name, at, M] of [["slack", sNow, power(W, 1 - t)], ["multiplier", zNow, power(W, t - 1)]]) {
      parts.push(drawing.polyline(name, circle.map((v) => screen(apply(M, v).map((u, j) => u + at[j])))));
    }
    plane.layers.paths.replaceChildren(...parts);
    const letter = (name, at, by) => { const [x, y] = screen(at); return drawing.text("letter", [x + by, y - 12], name, "middle"); };
    plane.layers.iterates.replaceChildren(drawing.dot("slack filled", screen(sNow), 5), drawing.dot("multiplier filled", screen(zNow), 5),
      ...(t === 1 ? [letter("λ", sNow, 14)] : [letter(t ? "W⁻ᵗs" : "s", sNow, 12), letter(t ? "Wᵗz" : "z", zNow, 12)]));
    const python = ["import numpy as np", "from docs.teaching import figures", "from socp import NonNeg, SecondOrder", "",
      `figures.scaling(${kind === "orthant" ? "NonNeg" : "SecondOrder"}(2), np.array([${s.join(", ")}]), np.array([${z.join(", ")}]))`].join("\n");
    return { caption: `In ${NAMES[kind]}: s at ${told(sNow)}, z at ${told(zNow)}, λ = ${told(lam)}, s'z = ${reading.short(s[0] * z[0] + s[1] * z[1])} for every t`, python };
  }

  const figure = new reading.Figure("change", {
    state: { kind: "orthant", t: 0 }, draw,
    controls: [{ key: "t", label: "scaled by", min: 0, max: 1, step: 0.05, say: ({ t }) => `t = ${t}` },
      { key: "kind", label: "cone", options: Object.entries(NAMES) }],
  });
})();
