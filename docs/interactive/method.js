"use strict";
// The textbook interior-point method, a port of socp/textbook/method.py and socp/textbook/switches.py with the same
// names, the same start, the same steps and the same stopping tests.  The mathematics stands there.
//
//   minimize 1/2 x'Px + c'x   subject to   Ax = b,  Gx + s = h,  s in K
//
// A program is {P, c, A, b, G, h, cones}: matrices are arrays of rows, `cones` the dimensions of K's factors, an entry of
// the nonnegative orthant counting as one of dimension 1.

const method = (() => {
  const LEAST_STEP = 0.1; // is not made shorter so that mu falls
  const STEP = 0.99; // the share of the way to the boundary of K
  const SIGMA = 0.1; // the centering of a step that is not predicted
  const REGULARIZATION = 1e-9; // relative to the largest entry of the data
  const REFINEMENTS = 3;
  const INACCURATE = 1e-5;
  const PASSES = 10; // of the equilibration

  const SWITCHES = {
    predictor: true, corrector: true, centrality: true, scaling: true,
    equilibration: false, refinement: true, regularization: true, embedding: true,
  };

  const DEFAULTS = { tol: 1e-8, share: STEP };

  // ---- vectors and matrices

  const zeros = (n) => new Array(n).fill(0);
  const add = (u, v) => u.map((value, i) => value + v[i]);
  const times = (a, u) => u.map((value) => a * value);
  const plus = (u, a, v) => u.map((value, i) => value + a * v[i]); // u + a v
  const dot = (u, v) => u.reduce((sum, value, i) => sum + value * v[i], 0);
  const norm = (v) => v.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0); // the largest absolute entry
  const length = (v) => Math.sqrt(dot(v, v));
  const least = (a, b) => (b < a ? b : a); // where b is NaN: a
  const isFinite = (v) => v.every(Number.isFinite);
  const matrix = (rows, columns) => Array.from({ length: rows }, () => zeros(columns));
  const diagonal = (v) => v.map((value, i) => v.map((_, j) => (i === j ? value : 0)));
  const identity = (n) => diagonal(new Array(n).fill(1));
  const apply = (M, v) => M.map((row) => dot(row, v));
  const applyTransposed = (M, v, n) => M.reduce((sum, row, i) => plus(sum, v[i], row), zeros(n));
  const multiply = (M, N) => M.map((row) => applyTransposed(N, row, N.length ? N[0].length : 0));
  const largest = (M) => norm(M.flat());
  const absolute = (M) => M.map((row) => row.map(Math.abs));

  // LU factors by rows with partial pivoting; returns a function that solves.  A zero pivot makes the solution infinite.
  function factor(M) {
    const n = M.length, L = M.map((row) => row.slice()), order = M.map((_, i) => i);
    for (let k = 0; k < n; k++) {
      let pivot = k;
      for (let i = k + 1; i < n; i++) if (Math.abs(L[i][k]) > Math.abs(L[pivot][k])) pivot = i;
      [L[k], L[pivot]] = [L[pivot], L[k]];
      [order[k], order[pivot]] = [order[pivot], order[k]];
      if (L[k][k] === 0) continue;
      for (let i = k + 1; i < n; i++) {
        const share = (L[i][k] /= L[k][k]);
        for (let j = k + 1; j < n; j++) L[i][j] -= share * L[k][j];
      }
    }
    return (rhs) => {
      const u = order.map((i) => rhs[i]);
      for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) u[i] -= L[i][j] * u[j];
      for (let i = n - 1; i >= 0; i--) {
        for (let j = i + 1; j < n; j++) u[i] -= L[i][j] * u[j];
        u[i] /= L[i][i];
      }
      return u;
    };
  }

  // LDL' factors of M + delta diag(signs), without pivoting; returns a function that solves.  A pivot of the other sign,
  // or below delta / 10, is rounding: it takes its sign and a size by which its variable rests.
  function ldlFactor(M, signs, delta) {
    const n = M.length, L = identity(n), d = zeros(n);
    for (let j = 0; j < n; j++) {
      const row = L[j].slice(0, j).map((value, k) => d[k] * value);
      const column = M.map((entries, i) => (i < j ? 0 : row.reduce((sum, value, k) => sum - L[i][k] * value, entries[j])));
      d[j] = column[j] + delta * signs[j];
      if (signs[j] * d[j] < 0.1 * delta) d[j] = signs[j] * Math.max(Math.abs(d[j]), 1e4 * delta);
      for (let i = j + 1; i < n; i++) L[i][j] = column[i] / d[j];
    }
    return (rhs) => {
      const u = rhs.slice();
      for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) u[i] -= L[i][j] * u[j];
      for (let i = 0; i < n; i++) u[i] /= d[i];
      for (let i = n - 1; i >= 0; i--) for (let j = i + 1; j < n; j++) u[i] -= L[j][i] * u[j];
      return u;
    };
  }

  // ---- the cone

  const det = (u) => { // the product of the eigenvalues
    const tail = length(u.slice(1));
    return (u[0] - tail) * (u[0] + tail);
  };

  class Cone {
    constructor(sizes) {
      let start = 0;
      this.blocks = sizes.filter((size) => size > 0).map((size) => [start, (start += size)]);
      this.dim = start;
      this.degree = this.blocks.length;
      this.e = zeros(this.dim);
      for (const [first] of this.blocks) this.e[first] = 1;
    }

    // The smallest eigenvalue: positive in the interior of K, negative outside.
    depth(u) {
      return this.blocks.reduce((smallest, [k, end]) => least(smallest, u[k] - length(u.slice(k + 1, end))), Infinity);
    }

    // The matrix of v -> u o v.
    arrow(u) {
      const M = matrix(this.dim, this.dim);
      for (const [k, end] of this.blocks) {
        for (let i = k; i < end; i++) {
          M[i][i] = u[k];
          M[k][i] = M[i][k] = u[i];
        }
      }
      return M;
    }

    // The largest alpha with u + alpha du in K, for u inside, of each factor of K.
    longestSteps(u, du) {
      return this.blocks.map(([k, end]) => {
        const root = Math.sqrt(det(u.slice(k, end)));
        const unit = times(1 / root, u.slice(k, end)), d = times(1 / root, du.slice(k, end));
        const d0 = unit[0] * d[0] - dot(unit.slice(1), d.slice(1));
        const d1 = plus(d.slice(1), -(d0 + d[0]) / (1 + unit[0]), unit.slice(1));
        const smallest = d0 - length(d1);
        return smallest < 0 ? -1 / smallest : Infinity;
      });
    }

    longestStep(u, du) {
      return this.longestSteps(u, du).reduce(least, Infinity);
    }

    // The Nesterov-Todd scaling, the W = W' of K onto itself with W z = W^-1 s, and its inverse.
    scaling(s, z) {
      const W = matrix(this.dim, this.dim), inverse = matrix(this.dim, this.dim);
      for (const [k, end] of this.blocks) {
        const J = (i) => (i === k ? 1 : -1), e = (i) => (i === k ? 1 : 0);
        const rootS = Math.sqrt(det(s.slice(k, end))), rootZ = Math.sqrt(det(z.slice(k, end)));
        let w = zeros(end - k).map((_, i) => s[k + i] / rootS + (J(k + i) * z[k + i]) / rootZ);
        w = times(1 / Math.sqrt(det(w)), w);
        for (let i = k; i < end; i++) {
          for (let j = k; j < end; j++) {
            const V = ((w[i - k] + e(i)) * (w[j - k] + e(j))) / (1 + w[0]) - (i === j ? J(i) : 0);
            W[i][j] = Math.sqrt(rootS / rootZ) * V;
            inverse[i][j] = Math.sqrt(rootZ / rootS) * J(i) * V * J(j);
          }
        }
      }
      return [W, inverse];
    }
  }

  // ---- the method

  class Method {
    constructor(program, switches, share = STEP) {
      Object.assign(this, program);
      this.share = share;
      this.n = this.c.length;
      this.p = this.b.length;
      this.cone = new Cone(program.cones);
      this.on = switches;
      this.size = Math.max(...[this.P, this.A, this.G].map((M) => norm(M.flat())));
    }

    split(u) {
      return [u.slice(0, this.n), u.slice(this.n, this.n + this.p), u.slice(this.n + this.p)];
    }

    // The KKT matrix [P A' (W^-1 G)'; A 0 0; W^-1 G 0 -block], and what its regularization adds to the diagonal.
    kktMatrix(inverse, block) {
      const { n, p } = this, G = multiply(inverse, this.G), total = n + p + this.cone.dim;
      const K = matrix(total, total);
      const put = (M, row, column) => M.forEach((r, i) => r.forEach((value, j) => (K[row + i][column + j] = value)));
      const putBoth = (M, row) => M.forEach((r, i) => r.forEach((v, j) => (K[row + i][j] = K[j][row + i] = v)));
      put(this.P, 0, 0);
      putBoth(this.A, n);
      putBoth(G, n + p);
      put(block.map((row) => times(-1, row)), n + p, n + p);
      const little = this.on.regularization ? REGULARIZATION * Math.max(1, this.size) : 0;
      return { K, added: zeros(total).map((_, i) => (i < n ? little : -little)) };
    }

    // Solve with it, regularized and refined; W z is eliminated first.
    kktSolver(inverse, block) {
      const { K, added } = this.kktMatrix(inverse, block), total = K.length, before = this.n + this.p;
      const order = zeros(total).map((_, i) => (i + before) % total), signs = order.map((i) => (i < this.n ? 1 : -1));
      const permuted = order.map((i) => order.map((j) => K[i][j])), little = Math.abs(added[0] ?? 0);
      const once = this.on.scaling ? ldlFactor(permuted, signs, little)
        : factor(permuted.map((row, i) => row.map((v, j) => (i === j ? v + little * signs[i] : v))));
      const solves = this.on.refinement ? 1 + REFINEMENTS : 1;
      return (rhs) => {
        const u = zeros(total);
        for (let k = 0; k < solves; k++) {
          const left = plus(rhs, -1, apply(K, u)), found = once(order.map((i) => left[i]));
          order.forEach((i, at) => (u[i] += found[at]));
        }
        return u;
      };
    }

    // The solution when 1/2 ||s||^2 in the objective stands for the cone; then s = -z and z, moved inside.
    start() {
      const one = identity(this.cone.dim);
      const u = this.kktSolver(one, one)([...times(-1, this.c), ...this.b, ...this.h]);
      const [x, y, v] = this.split(isFinite(u) ? u : zeros(u.length));
      const inside = (w) => (this.cone.depth(w) > 1e-8 ? w : plus(w, 1 - this.cone.depth(w), this.cone.e));
      const kappa = this.on.embedding ? 1 : 0;
      return { x, y, z: inside(v), s: inside(times(-1, v)), tau: 1, kappa, sigma: NaN, alpha: NaN };
    }

    // The mean of the products that are to become zero.
    mu(it) {
      return (dot(it.s, it.z) + it.tau * it.kappa) / Math.max(this.cone.degree + (this.on.embedding ? 1 : 0), 1);
    }

    // Fill in mu, objectives and residuals, and what the stopping tests say.
    judge(it, tol) {
      const { P, A, G, b, c, h, n } = this;
      const [x, y, z, s] = [it.x, it.y, it.z, it.s].map((v) => times(1 / it.tau, v));
      const Px = apply(P, x), Ax = apply(A, x), Gx = apply(G, x);
      it.mu = this.mu(it);
      it.objective = 0.5 * dot(x, Px) + dot(c, x);
      it.dualObjective = -0.5 * dot(x, Px) - dot(b, y) - dot(h, z);
      const rows = norm(plus(Ax, -1, b)) / (1 + Math.max(norm(b), norm(Ax)));
      it.primalResidual = Math.max(rows, norm(plus(add(Gx, s), -1, h)) / (1 + Math.max(norm(h), norm(Gx))));
      const dual = add(add(Px, c), add(applyTransposed(A, y, n), applyTransposed(G, z, n)));
      it.dualResidual = norm(dual) / (1 + Math.max(norm(Px), norm(c)));
      const larger = Math.max(Math.abs(it.objective), Math.abs(it.dualObjective));
      it.gap = Math.abs(it.objective - it.dualObjective) / (1 + larger);
      it.error = Math.max(it.primalResidual, it.dualResidual, it.gap);
      it.status = null;
      it.scale = it.tau;

      // a ray must be near zero both as it is, scaled to slope -1, and beside the terms that cancel in it
      const ySlope = -(dot(b, it.y) + dot(h, it.z)), xSlope = -dot(c, it.x);
      const yRay = norm(add(applyTransposed(A, it.y, n), applyTransposed(G, it.z, n)));
      const ySize = largest(A) * norm(it.y) + largest(G) * norm(it.z);
      const outside = -this.cone.depth(times(-1, apply(G, it.x)));
      const xRays = [[norm(apply(P, it.x)), P], [norm(apply(A, it.x)), A], [outside, G]];
      const isRay = ([ray, data]) => ray <= tol * Math.min(xSlope, largest(data) * norm(it.x));
      if (it.error <= tol) {
        it.status = "optimal";
      } else if (ySlope > 0 && yRay <= tol * Math.min(ySlope, ySize)) {
        [it.status, it.scale] = ["primal_infeasible", ySlope];
      } else if (xSlope > 0 && xRays.every(isRay)) {
        [it.status, it.scale] = ["dual_infeasible", xSlope];
      }
      return it;
    }

    // The scaling at an iterate, the scaled points, and the block that they leave in the KKT matrix.
    scaled(it) {
      const { cone, on } = this;
      let W = identity(cone.dim), inverse = W, { s, z } = it;
      if (on.scaling) {
        [W, inverse] = cone.scaling(it.s, it.z);
        s = z = apply(W, it.z); // lam
      }
      const S = cone.arrow(s), Z = cone.arrow(z), overZ = factor(Z);
      const columns = on.scaling ? null : S.map((_, j) => overZ(S.map((row) => row[j])));
      const block = on.scaling ? identity(cone.dim) : S.map((_, i) => columns.map((column) => column[i]));
      return { W, inverse, s, z, S, overZ, block };
    }

    // What one Newton step needs: residuals, scaling, factors; `direction` is the solve for a right-hand side.
    linearize(it) {
      const { cone, on, P, A, G, b, c, h, n, p } = this, { tau, kappa } = it;
      const { W, inverse, s, z, S, overZ, block } = this.scaled(it), solve = this.kktSolver(inverse, block);

      const Px = apply(P, it.x), scaledH = apply(inverse, h);
      const duals = add(applyTransposed(A, it.y, n), applyTransposed(G, it.z, n));
      const rx = plus(add(Px, duals), tau, c), ry = plus(apply(A, it.x), -tau, b);
      const rz = plus(add(apply(G, it.x), it.s), -tau, h);
      const rtau = kappa + dot(c, it.x) + dot(b, it.y) + dot(h, it.z) + dot(it.x, Px) / tau;
      const r = [...rx, ...ry, ...apply(inverse, rz)];
      const xi = times(1 / tau, it.x), Pxi = apply(P, xi);
      const gradient = [...plus(c, 2, Pxi), ...b, ...scaledH]; // of rtau
      const u2 = on.embedding ? solve([...times(-1, c), ...b, ...scaledH]) : zeros(n + p + cone.dim); // of dtau

      const direction = (sigma, dsRhs, dkRhs) => {
        const shift = overZ(dsRhs);
        const u1 = solve(plus(times(sigma - 1, r), -1, [...zeros(n + p), ...shift]));
        let dtau = 0, dkappa = 0;
        if (on.embedding) {
          dtau = (1 - sigma) * rtau + dkRhs / tau + dot(gradient, u1);
          dtau /= kappa / tau + dot(xi, Pxi) - dot(gradient, u2);
          dkappa = (dkRhs - kappa * dtau) / tau;
        }
        const [dx, dy, dz] = this.split(plus(u1, dtau, u2)), ds = plus(shift, -1, apply(block, dz)); // scaled
        let alpha = least(cone.longestStep(z, dz), cone.longestStep(s, ds));
        for (const [v, dv] of [[tau, dtau], [kappa, dkappa]]) if (dv < 0) alpha = least(alpha, -v / dv);
        return { dx, dy, dz, ds, dtau, dkappa, alpha };
      };
      return { W, inverse, s, z, complementarity: apply(S, z), direction };
    }

    move(it, d, { W, inverse }, alpha, sigma) {
      return {
        x: plus(it.x, alpha, d.dx), y: plus(it.y, alpha, d.dy),
        z: plus(it.z, alpha, apply(inverse, d.dz)), s: plus(it.s, alpha, apply(W, d.ds)),
        tau: it.tau + alpha * d.dtau, kappa: it.kappa + alpha * d.dkappa, sigma, alpha,
      };
    }

    // The directions of Mehrotra's predictor-corrector step, each with its longest step: affine, centered, and combined,
    // the one that is taken, with the corrector.
    directions(it) {
      const { cone, on } = this, { tau, kappa } = it, mu = this.mu(it);
      const at = this.linearize(it), rest = times(-1, at.complementarity);
      let affine = null, sigma = SIGMA, dsSecond = zeros(cone.dim), dkSecond = 0;
      if (on.predictor) {
        affine = at.direction(0, rest, -tau * kappa);
        sigma = (1 - least(1, affine.alpha)) ** 3;
        if (on.corrector) {
          dsSecond = apply(cone.arrow(affine.ds), affine.dz);
          dkSecond = affine.dtau * affine.dkappa;
        }
      }
      if (!on.centrality) sigma = 0;
      const dsRhs = plus(rest, sigma * mu, cone.e), dkRhs = sigma * mu - tau * kappa;
      const centered = () => at.direction(sigma, dsRhs, dkRhs);
      const combined = at.direction(sigma, plus(dsRhs, -1, dsSecond), dkRhs - dkSecond);
      return { at, sigma, affine, centered, combined };
    }

    step(it) {
      const { at, sigma, combined: d } = this.directions(it);
      const alpha = least(1, least(this.share * d.alpha, Math.max(LEAST_STEP, this.descentLimit(it, d, at))));
      return this.move(it, d, at, alpha, sigma);
    }

    // The step at which mu is smallest: s'z + tau kappa is quadratic in it, where P adds a positive curvature.
    descentLimit(it, d, { s, z }) {
      const slope = dot(s, d.dz) + dot(z, d.ds) + it.tau * d.dkappa + it.kappa * d.dtau;
      const curvature = dot(d.ds, d.dz) + d.dtau * d.dkappa;
      return slope < 0 && curvature > 0 ? (-0.5 * slope) / curvature : Infinity;
    }

    // Whether an iterate can be stepped from.
    isInside(it) {
      const finite = isFinite([...it.x, ...it.y, ...it.z, ...it.s, it.tau, it.kappa]);
      const depth = finite ? Math.min(this.cone.depth(it.s), this.cone.depth(it.z), it.tau) : 0;
      return depth > 0 && (it.kappa > 0 || !this.on.embedding);
    }
  }

  // The program in other units, in which the rows and columns of its data have entries near one (Ruiz 2001).
  class Units {
    constructor(program) {
      const { P, c, A, b, G, h, cones } = program, n = c.length, p = b.length, M = [...A, ...G];
      let K = [...P.map((row, j) => [...row, ...M.map((r) => r[j])]), ...M.map((r) => [...r, ...zeros(M.length)])];
      K = absolute(K);
      let scale = new Array(K.length).fill(1);
      for (let pass = 0; pass < PASSES; pass++) {
        const size = K.map(norm);
        let start = n + p;
        for (const dim of cones) {
          size.fill(norm(size.slice(start, start + dim)), start, start + dim);
          start += dim;
        }
        const step = size.map((v) => 1 / Math.sqrt(v > 0 ? v : 1));
        K = K.map((row, i) => row.map((v, j) => v * (step[i] * step[j])));
        scale = scale.map((v, i) => v * step[i]);
      }
      const D = (this.D = scale.slice(0, n)), E = (this.E = scale.slice(n, n + p)), F = (this.F = scale.slice(n + p));
      const cost = Math.max(norm(K.slice(0, n).map((row) => norm(row.slice(0, n)))), norm(c.map((v, j) => D[j] * v)));
      const f = (this.factor = cost > 0 ? 1 / cost : 1);
      const scaled = (N, rows) => N.map((row, i) => row.map((v, j) => rows[i] * v * D[j]));
      this.program = {
        P: scaled(P, times(f, D)), c: c.map((v, j) => f * D[j] * v), A: scaled(A, E), b: b.map((v, i) => E[i] * v),
        G: scaled(G, F), h: h.map((v, i) => F[i] * v), cones,
      };
    }

    // The way back from `ofTheCaller`.
    ofTheMethod(it) {
      const { D, E, F, factor: f } = this;
      return {
        ...it, x: it.x.map((v, j) => v / D[j]), y: it.y.map((v, i) => (f * v) / E[i]), z: it.z.map((v, i) => (f * v) / F[i]),
        s: it.s.map((v, i) => F[i] * v), kappa: f * it.kappa,
      };
    }

    ofTheCaller(it) {
      const { D, E, F, factor: f } = this, by = (u, v) => u.map((value, i) => value * v[i]);
      return {
        ...it, x: by(D, it.x), y: times(1 / f, by(E, it.y)), z: times(1 / f, by(F, it.z)),
        s: it.s.map((v, i) => v / F[i]), kappa: it.kappa / f,
      };
    }
  }

  // The matrix that is factored at an iterate (of the caller's units), as the method sees it: {K, added}.
  function kktMatrix(program, it, switches = SWITCHES) {
    const units = switches.equilibration ? new Units(program) : null;
    const inner = new Method(units ? units.program : program, switches);
    const { inverse, block } = inner.scaled(units ? units.ofTheMethod(it) : it);
    return inner.kktMatrix(inverse, block);
  }

  // The iterates up to the first that has a status, at most maxIter steps, as long as there is progress.
  function iterates(program, { tol = DEFAULTS.tol, share = DEFAULTS.share, maxIter = 100, switches = SWITCHES } = {}) {
    const judge = new Method(program, switches, share), units = switches.equilibration ? new Units(program) : null;
    const inner = units ? new Method(units.program, switches, share) : judge, trace = [];
    let it = inner.start();
    for (let k = 0; k <= maxIter; k++) {
      const seen = judge.judge(units ? units.ofTheCaller(it) : it, tol);
      trace.push(seen);
      if (seen.status) break;
      it = inner.step(it);
      if (!(inner.isInside(it) && it.alpha > 1e-8)) break;
    }
    return trace;
  }

  // {status, trace, best}: best is the iterate that the answer is made of.
  function solve(program, options = {}) {
    const trace = iterates(program, options);
    let best = trace[trace.length - 1], { status } = best;
    if (!status) {
      best = trace.reduce((a, b) => (b.error < a.error ? b : a));
      status = best.error <= INACCURATE ? "inaccurate" : "numerical_error";
      if (trace.length > (options.maxIter ?? 100)) status = "max_iterations";
    }
    return { status, trace, best };
  }

  // Points {x, y, z, s, mu} of the central path, s o z = mu e with no residual, by Newton's method for one mu after another;
  // [] where there are none.
  function centralPath(program, { from = 1e3, to = 1e-6, ratio = 0.62, newton = 30 } = {}) {
    const method = new Method(program, { ...SWITCHES, embedding: false, refinement: false }), points = [];
    let it = method.start();
    for (let mu = from; mu >= to; mu *= ratio) {
      let near = Infinity;
      for (let k = 0; k < newton && near > 1e-6; k++) {
        const at = method.linearize(it);
        const d = at.direction(0, plus(times(mu, method.cone.e), -1, at.complementarity), 0);
        const alpha = least(1, STEP * d.alpha);
        it = method.move(it, d, at, alpha, 0);
        if (!method.isInside(it)) return points;
        near = alpha < 1 ? Infinity : length([...d.ds, ...d.dz]) / Math.sqrt(mu);
      }
      if (near > 1e-6) return points;
      points.push({ x: it.x, y: it.y, z: it.z, s: it.s, mu });
    }
    return points;
  }

  return { SWITCHES, DEFAULTS, Cone, Method, Units, kktMatrix, iterates, solve, centralPath };
})();

if (typeof module !== "undefined") module.exports = method;
