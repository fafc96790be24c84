"use strict";
// Polygons {x: Gx <= h} in the plane: corners, the walk of an active-set method, and the dual of a linear program.

const polygon = (() => {
  const dot = (u, v) => u[0] * v[0] + u[1] * v[1];
  const TOL = 1e-9;

  function meet(G, h, i, j) {
    const d = G[i][0] * G[j][1] - G[i][1] * G[j][0];
    if (Math.abs(d) < 1e-12) return null;
    return [(h[i] * G[j][1] - h[j] * G[i][1]) / d, (G[i][0] * h[j] - G[j][0] * h[i]) / d];
  }

  // {x, rows}: where two rows meet, around the polygon.
  function corners(G, h) {
    const found = [];
    G.forEach((_, i) => {
      for (let j = 0; j < i; j++) {
        const x = meet(G, h, i, j);
        if (x && G.every((row, k) => dot(row, x) <= h[k] + 1e-9 * (1 + Math.abs(h[k])))) found.push({ x, rows: [j, i] });
      }
    });
    const centre = [0, 1].map((k) => found.reduce((sum, { x }) => sum + x[k], 0) / found.length);
    const angle = ({ x }) => Math.atan2(x[1] - centre[1], x[0] - centre[0]);
    return found.sort((u, v) => angle(u) - angle(v));
  }

  // The points that a primal active-set method visits from x, of  minimize c'x + curvature/2 ||x||^2,  Gx <= h.  From a corner
  // with both of its rows active, and no curvature, it is the simplex method.
  function activeSet({ c, curvature = 0 }, G, h, x, rows = [], most = 200) {
    const points = [x], turned = (row) => [-row[1], row[0]];
    let active = [...rows];
    for (let k = 0; k < most; k++) {
      const gradient = c.map((v, j) => v + curvature * x[j]), scale = 1 + Math.hypot(...c);
      let d = active.length === 0 ? gradient.map((v) => -v) : [0, 0];
      if (active.length === 1) {
        const along = turned(G[active[0]]), slope = dot(gradient, along) / dot(along, along);
        d = along.map((v) => -slope * v);
      }
      if (curvature) d = d.map((v) => v / curvature);
      if (Math.hypot(...d) * (curvature || 1) <= TOL * scale) { // the minimum of this face
        const prices = active.length === 2 ? meet([[G[active[0]][0], G[active[1]][0]], [G[active[0]][1], G[active[1]][1]]], gradient.map((v) => -v), 0, 1)
          : active.map((i) => -dot(gradient, G[i]) / dot(G[i], G[i]));
        const worst = prices.reduce((at, v, i) => (v < prices[at] ? i : at), 0);
        if (!prices.length || prices[worst] >= -TOL * scale) return points;
        active.splice(worst, 1);
        continue;
      }
      let alpha = curvature ? 1 : Infinity, first = -1;
      G.forEach((row, i) => {
        const by = dot(row, d);
        if (active.includes(i) || by <= TOL * Math.hypot(...d)) return;
        const room = Math.max(0, h[i] - dot(row, x)) / by;
        if (room < alpha) [alpha, first] = [room, i];
      });
      if (alpha === Infinity) return points; // unbounded
      x = x.map((v, j) => v + alpha * d[j]);
      points.push(x);
      if (first >= 0) active.push(first);
    }
    return points;
  }

  // The dual feasible set {z >= 0: G'z = -c} for four rows, as {u: z0 + N u >= 0} with an orthonormal N.
  function dual({ c, G }) {
    const inner = (u, v) => u.reduce((sum, value, i) => sum + value * v[i], 0), basis = [];
    const orthogonal = (v) => {
      for (const b of basis) {
        const share = inner(b, v);
        v = v.map((value, i) => value - share * b[i]);
      }
      const size = Math.sqrt(inner(v, v));
      return size > 1e-9 ? v.map((value) => value / size) : null;
    };
    const columns = [0, 1].map((j) => G.map((row) => row[j]));
    for (const column of columns) basis.push(orthogonal(column));
    const N = [];
    for (let k = 0; N.length < G.length - 2; k++) {
      const v = orthogonal(G.map((_, i) => (i === k ? 1 : 0)));
      if (v) {
        basis.push(v);
        N.push(v);
      }
    }
    // z0 = G w with G'G w = -c, the shortest
    const [p, q] = [[inner(columns[0], columns[0]), inner(columns[0], columns[1])], [inner(columns[1], columns[0]), inner(columns[1], columns[1])]];
    const w = meet([p, q], c.map((v) => -v), 0, 1);
    const z0 = G.map((row) => dot(row, w));
    return { z0, N, coordinates: (z) => N.map((v) => inner(v, z)), rows: G.map((_, i) => N.map((v) => v[i])) };
  }

  return { corners, activeSet, dual };
})();

if (typeof module !== "undefined") module.exports = polygon;
