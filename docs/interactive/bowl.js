"use strict";
// The barrier as a bowl: c'x + mu phi(x) over a polygon, phi = -sum log s_i, seen from the side; and a cut through it.

(() => {
  const scene = {
    objective: { kind: "linear", angle: 50, target: [2, 2] }, units: 0,
    constraints: [scenes.half(1.9, 0.5, 10), scenes.half(0.4, 1.5, 80), scenes.half(-2, 0.4, 160), scenes.half(-0.3, -1.6, 262)],
  };
  const program = scenes.program(scene), { G, h, c } = program, FROM = 0.5, A_DECADE = 10;
  const path = method.centralPath(program, { from: 10 ** FROM, to: 0.9e-3, ratio: 10 ** (-1 / A_DECADE) });
  const RAYS = 40, RINGS = 11, HEIGHT = 1.25, TILT = 0.5;
  const surface = document.getElementById("bowl-surface"), cut = document.getElementById("bowl-cut");
  const ends = polygon.corners(G, h).map(({ x }) => c[0] * x[0] + c[1] * x[1]), spread = Math.max(...ends) - Math.min(...ends);

  const slack = (x) => G.map((row, i) => h[i] - row[0] * x[0] - row[1] * x[1]);
  const value = (x, mu) => c[0] * x[0] + c[1] * x[1] - mu * slack(x).reduce((sum, s) => sum + Math.log(Math.max(s, 1e-12)), 0);

  // A net of rays from the analytic centre to the boundary, closer near the boundary.
  const middle = method.centralPath(program, { from: 1e3, to: 0.9e3 })[0].x;
  const net = Array.from({ length: RAYS }, (_, k) => {
    const d = [Math.cos((2 * Math.PI * k) / RAYS), Math.sin((2 * Math.PI * k) / RAYS)];
    const reach = Math.min(...slack(middle).map((s, i) => { const by = G[i][0] * d[0] + G[i][1] * d[1]; return by > 0 ? s / by : Infinity; }));
    return Array.from({ length: RINGS + 1 }, (__, r) => middle.map((v, j) => v + reach * 0.995 * (1 - (1 - r / RINGS) ** 1.8) * d[j]));
  });

  function draw({ exponent, turn }) {
    const it = path[Math.round((FROM - exponent) * A_DECADE)], { mu } = it, lowest = value(it.x, mu);
    const height = (x) => Math.min((value(x, mu) - lowest) / spread, HEIGHT);
    drawSurface(it, height, (turn * Math.PI) / 180);
    drawCut(it);
    const python = [...scenes.declaration(program), "", "from docs.teaching import figures", `figures.bowl(program, mu=${reading.short(mu)})`].join("\n");
    return { caption: `μ = ${reading.short(mu)}: the lowest point is (${it.x.map((v) => v.toFixed(3)).join(", ")}), objective ${(c[0] * it.x[0] + c[1] * it.x[1]).toFixed(4)}`, python };
  }

  function drawSurface(it, height, turn) {
    const [width, tall] = drawing.fit(surface), scale = Math.min(width / 5.4, tall / 4.6), [cos, sin] = [Math.cos(turn), Math.sin(turn)];
    const seen = (x, up) => { // on the screen, and how far away
      const [u, v] = [x[0] - middle[0], x[1] - middle[1]], side = cos * u - sin * v, deep = sin * u + cos * v;
      return [width / 2 + scale * side, 0.7 * tall - scale * (TILT * deep + 1.35 * up), deep];
    };
    const points = net.map((ray) => ray.map((x) => { const up = height(x); return [...seen(x, up), up]; })), faces = [];
    for (let k = 0; k < RAYS; k++) {
      const next = points[(k + 1) % RAYS];
      for (let r = 0; r < RINGS; r++) {
        const four = [points[k][r], points[k][r + 1], next[r + 1], next[r]], up = four.reduce((sum, v) => sum + v[3], 0) / 4;
        if (up < 0.99 * HEIGHT) faces.push({ deep: four.reduce((sum, v) => sum + v[2], 0) / 4, up, four });
      }
    }
    faces.sort((a, b) => b.deep - a.deep);
    const floor = scene.constraints.length ? drawing.polygon("shadow", polygon.corners(G, h).map(({ x }) => seen(x, -0.28).slice(0, 2))) : "";
    const drawn = faces.map(({ up, four }) => {
      const face = drawing.polygon("face", four.map((v) => v.slice(0, 2)));
      face.setAttribute("fill-opacity", (0.95 - 0.75 * (up / HEIGHT)).toFixed(2));
      return face;
    });
    const foot = seen(it.x, -0.28).slice(0, 2), low = seen(it.x, 0).slice(0, 2);
    surface.replaceChildren(floor, ...drawn, drawing.line("plumb", low, foot), drawing.dot("iterate later", foot, 4), drawing.dot("iterate current", low, 6));
  }

  // Along the line from the analytic centre to the solution, for this mu and for others.
  function drawCut(it) {
    const last = path[path.length - 1].x, way = last.map((v, j) => v - middle[j]), at = (t) => middle.map((v, j) => v + t * way[j]);
    const axes = new drawing.Axes(cut, { from: -0.6, to: 1, step: 0.5, label: "centre 0, solution 1" }, { from: -0.2, to: 1.6, step: 1, bare: false, label: "above its minimum" });
    const shares = Array.from({ length: 161 }, (_, k) => -0.6 + k * 0.01).filter((t) => Math.min(...slack(at(t))) > 1e-6);
    const curve = (kind, mu) => {
      const values = shares.map((t) => value(at(t), mu)), least = Math.min(...values);
      axes.curve(kind, shares.map((t, k) => [t, values[k] - least]).filter(([, v]) => v <= 1.6));
    };
    for (const mu of [3, 0.3, 0.03, 0.003]) curve("faint", mu);
    curve("with", it.mu);
    axes.show();
  }

  new reading.Figure("bowl", {
    state: { exponent: FROM, turn: 200 }, draw,
    controls: [{ key: "exponent", label: "μ", min: -3, max: FROM, step: 0.1, say: ({ exponent }) => `μ = ${reading.short(10 ** exponent)}` },
      { key: "turn", label: "turn", min: 0, max: 360, step: 5, say: ({ turn }) => `${turn} degrees` }],
  });
})();
