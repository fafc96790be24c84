"use strict";
// What is drawn: an objective and constraints in the plane, and the cone program that they are.
//
//   half  the half-plane  a'(x - at) <= 0,  a = (cos angle, sin angle)           a row of the nonnegative orthant
//   line  the equation    a'(x - at)  = 0                                        a row of A
//   cone  the section     ||x - at|| <= eccentricity a'(x - at) + size           a second-order cone of dimension 3
//
// The last is every conic section, in its focus: a disc (eccentricity 0), an ellipse (below 1), a parabola (1), a
// branch of a hyperbola (above 1).  `units` of a constraint multiply its rows by 10^units; `units` of the scene measure
// x2 in units of 10^units, so that the picture stays and the numbers of the program change.

const scenes = (() => {
  const LETTERS = "abcdefgh";
  const half = (x, y, angle, units = 0) => ({ kind: "half", at: [x, y], angle, units });
  const line = (x, y, angle, units = 0) => ({ kind: "line", at: [x, y], angle, units });
  const cone = (x, y, size, eccentricity = 0, angle = 0, units = 0) =>
    ({ kind: "cone", at: [x, y], angle, size, eccentricity, units });
  const downhill = (angle) => ({ kind: "linear", angle, target: [2, 2] });
  const nearest = (x, y) => ({ kind: "distance", angle: 0, target: [x, y] });
  const scene = (objective, constraints, units = 0) => ({ objective, units, constraints });

  // `without` is the switch that the example shows the worth of, `whole` the switches it is solved with where they are not
  // the usual ones.
  const EXAMPLES = {
    disc: {
      title: "Half-planes and a disc",
      scene: scene(downhill(35), [cone(-0.3, 0.2, 2.4), half(1.2, 0, 10), half(0, 1.4, 75), half(-1.5, -1, 215)]),
    },
    polygon: {
      title: "A polygon: a linear program",
      scene: scene(downhill(62), [half(2.2, 0.5, 20), half(0.6, 1.9, 70), half(-1.8, 1.2, 150),
        half(-1.6, -1.4, 225), half(1.2, -1.9, 290)]),
    },
    sections: {
      title: "Ellipse, parabola, hyperbola",
      scene: scene(downhill(-50), [cone(-0.8, 0.2, 1.6, 0.6, 10), cone(-1, -0.4, 0.9, 1, 35), cone(1, 0.9, 0.9, 1.6, 215)]),
    },
    nearest: {
      title: "The nearest point: a quadratic objective",
      scene: scene(nearest(2.6, 2.1), [cone(-0.5, -0.3, 2), half(0.9, 0, -15), half(0, 1, 100)]),
    },
    infeasible: {
      title: "Nothing is feasible",
      scene: scene(downhill(90), [cone(-1.6, 0.6, 1.2), half(1, -0.5, 195), half(0, 1.6, 80)]),
    },
    unbounded: {
      title: "Unbounded below",
      scene: scene(downhill(30), [cone(-1.4, -0.8, 0.8, 1.7, 40), half(0, -1.6, 275)]),
    },
    touching: {
      title: "A single feasible point",
      scene: scene(downhill(10), [cone(-0.8, 0, 1.5), half(0.7, 0, 180)]),
    },
    parabola: {
      title: "A half-plane and a parabola", without: "predictor", whole: { equilibration: true },
      scene: scene(downhill(101), [half(-0.3, -0.6, 95), cone(0.7, -1.9, 0.6, 1, 103)]),
    },
    corner: {
      title: "A half-plane and a narrow parabola", without: "corrector", whole: { equilibration: true },
      scene: scene(downhill(80), [half(0.1, -1.4, 91), cone(0.5, 0.5, 0.1, 1, -124)]),
    },
    edges: {
      title: "A half-plane and a long ellipse", without: "centrality", whole: { equilibration: true },
      scene: scene(downhill(-175), [half(-1.8, 0.5, -59), cone(0.4, -0.4, 1.8, 0.9, 46)]),
    },
    centred: {
      title: "A target nearby", without: "scaling",
      scene: scene(nearest(-0.4, 0.3), [cone(0.9, 1.4, 1.1), cone(0.3, 1.2, 0.6, 0.8, 71), half(1.6, -2, 8)]),
    },
    units: {
      title: "Kilometres and metres", without: "equilibration", whole: { equilibration: true },
      scene: scene(nearest(-1.3, 0.9), [half(1.5, 0.2, 45, 1)], 4),
    },
    large: {
      title: "Two lines that nearly coincide", without: "refinement", whole: { equilibration: true },
      scene: scene(nearest(0.7, 0.1), [line(0.4, 0.2, 60), line(0.4, 0.2, 60.006)]),
    },
    twice: {
      title: "An equation twice", without: "regularization",
      scene: scene(downhill(0), [line(0.4, 0.2, 60), line(0.4, 0.2, 60), cone(0, 0, 2.2)]),
    },
    missed: {
      title: "A line that misses a hyperbola", without: "embedding",
      scene: scene(downhill(91), [line(1, 0.6, 67), cone(-0.4, 0.3, 1.8, 1.5, -134)]),
    },
  };

  const radians = (degrees) => (degrees * Math.PI) / 180;
  const degrees = (vector) => Math.round((Math.atan2(vector[1], vector[0]) * 180) / Math.PI);
  // exact on the axes, so that the program's zeros are zeros
  const direction = (angle) => [Math.cos(radians(angle)), Math.sin(radians(angle))].map((v) => Math.round(v * 1e12) / 1e12);
  const dot = (u, v) => u[0] * v[0] + u[1] * v[1];

  // The rows [G h] or [A b] of a constraint in the coordinates of the picture.
  function rows({ kind, at, angle, size, eccentricity }) {
    const a = direction(angle);
    if (kind !== "cone") return [[...a, dot(a, at)]];
    const slope = a.map((v) => (eccentricity ? -eccentricity * v : 0));
    return [[...slope, size + dot(slope, at)], [-1, 0, -at[0]], [0, -1, -at[1]]];
  }

  // The cone program, in the units of its constraints and of x2.
  function program({ objective, units, constraints }) {
    const D = [1, 10 ** units];
    const found = { P: [[0, 0], [0, 0]], c: [0, 0], A: [], b: [], G: [], h: [], cones: [] };
    if (objective.kind === "distance") {
      found.P = [[1, 0], [0, D[1] * D[1]]];
      found.c = objective.target.map((v, j) => -v * D[j]);
    } else {
      found.c = direction(objective.angle).map((v, j) => (v ? -v * D[j] : 0)); // the arrow is -c
    }
    for (const constraint of constraints) {
      const scaled = rows(constraint).map((row) => row.map((v) => (v ? v * 10 ** constraint.units : 0)));
      const [M, side] = constraint.kind === "line" ? [found.A, found.b] : [found.G, found.h];
      for (const [first, second, right] of scaled) {
        M.push([first * D[0], second * D[1]]);
        side.push(right);
      }
      if (constraint.kind !== "line") found.cones.push(scaled.length);
    }
    return found;
  }

  // The point of the picture that an iterate stands for.
  const point = (it, units) => [it.x[0] / it.tau, (it.x[1] / it.tau) * 10 ** units];

  // The slack and the multiplier of every constraint at an iterate (of a cone the first entries; an equation has no slack).
  function multipliers(it, constraints) {
    let row = 0, equation = 0;
    return constraints.map(({ kind }) => {
      if (kind === "line") return { slack: NaN, multiplier: it.y[equation++] / it.tau };
      const at = row;
      row += kind === "cone" ? 3 : 1;
      const [s, z] = [it.s, it.z].map((v) => v.slice(at, row).map((value) => value / it.tau));
      return { slack: s[0] - Math.hypot(...s.slice(1)), multiplier: z[0] };
    });
  }

  // The boundary of a constraint as a polygon (of the feasible side) or, for an equation, two points.
  function outline({ kind, at, angle, size, eccentricity }, far) {
    const a = direction(angle), along = [-a[1], a[0]];
    const from = (u, v) => [at[0] + u * a[0] + v * along[0], at[1] + u * a[1] + v * along[1]];
    if (kind === "line") return [from(0, -far), from(0, far)];
    if (kind === "half") return [from(0, -far), from(0, far), from(-2 * far, far), from(-2 * far, -far)];
    // in polar coordinates about the focus, r = size / (1 - eccentricity cos t)
    const open = eccentricity < 1 ? 0 : Math.acos(1 / eccentricity);
    const points = [];
    const steps = 720;
    for (let k = 0; k <= steps; k++) {
      const share = k / steps, bent = open || eccentricity >= 1 ? share - Math.sin(2 * Math.PI * share) / (2 * Math.PI) : share;
      const t = open + bent * (2 * Math.PI - 2 * open), slope = 1 - eccentricity * Math.cos(t);
      const r = slope > size / far ? size / slope : far;
      points.push(from(r * Math.cos(t), r * Math.sin(t)));
    }
    return points;
  }

  const NAMES = { half: "half-plane", line: "equation" };
  const section = (e) => (e === 0 ? "disc" : e < 1 ? "ellipse" : e === 1 ? "parabola" : "hyperbola");
  const name = (constraint) => NAMES[constraint.kind] ?? section(constraint.eccentricity);

  // Whether something that came from outside is a scene.
  function isScene(found) {
    const isPoint = (v) => Array.isArray(v) && v.length === 2 && v.every(Number.isFinite);
    const isPower = (v) => Number.isInteger(v) && Math.abs(v) <= 4;
    const isConstraint = (c) => c && ["half", "line", "cone"].includes(c.kind) && isPoint(c.at) && Number.isFinite(c.angle) &&
      isPower(c.units) && (c.kind !== "cone" || (c.size > 0 && Number.isFinite(c.size) && c.eccentricity >= 0 && Number.isFinite(c.eccentricity)));
    const goal = found?.objective, list = found?.constraints;
    return Boolean(goal && ["linear", "distance"].includes(goal.kind) && Number.isFinite(goal.angle) && isPoint(goal.target) &&
      isPower(found.units) && Array.isArray(list) && list.length <= LETTERS.length && list.every(isConstraint));
  }

  // The program in Python, as lines.
  function declaration(found) {
    const list = (v) => `[${v.map((value) => (Array.isArray(value) ? list(value) : String(value))).join(", ")}]`;
    const cones = found.cones.map((size) => (size === 1 ? "NonNeg(1)" : `SecondOrder(${size})`)).join(", ");
    const names = ["ConeProgram", ...(found.cones.includes(1) ? ["NonNeg"] : []), ...(found.cones.some((size) => size > 1) ? ["SecondOrder"] : [])];
    const lines = [`from socp import ${names.join(", ")}`, "", "program = ConeProgram("];
    lines.push(`    c=${list(found.c)},`);
    if (found.P.flat().some((v) => v)) lines.push(`    P=${list(found.P)},`);
    if (found.b.length) lines.push(`    A=${list(found.A)},`, `    b=${list(found.b)},`);
    if (found.h.length) lines.push(`    G=${list(found.G)},`, `    h=${list(found.h)},`, `    cones=[${cones}],`);
    return [...lines, ")"];
  }

  // The same solve in Python; it prints the table of the page.
  function python(found, switches, defaults, { tol, share }, usual) {
    const changed = Object.keys(defaults).filter((part) => switches[part] !== defaults[part]);
    const options = changed.map((part) => `${part}=${switches[part] ? "True" : "False"}`).join(", ");
    const same = tol === usual.tol, whole = share === usual.share;
    return [
      ...declaration(found), "", "from socp import solve, textbook", "",
      ...(whole ? [] : [`textbook.method.STEP = ${share}`]),
      `solution = textbook.solve(program, ${same ? "" : `tol=${tol}, `}switches=textbook.Switches(${options}))`,
      'print("       primal obj         dual obj    pres    dres     gap    step      mu   sigma     tau   kappa")',
      "for k, it in enumerate(solution.trace):",
      "    columns = (it.primal_residual, it.dual_residual, it.gap, it.alpha, it.mu, it.sigma, it.tau, it.kappa)",
      '    print(f"{k:3d} {it.objective:15.8e} {it.dual_objective:15.8e}", *(f"{value:7.1e}" for value in columns))',
      "print(solution.status)",
      "",
      `solve(program, ${same ? "" : `tol=${tol}, `}${whole ? "" : `step_fraction=${share}, `}verbose=True)  # the engine, without switches`,
    ].join("\n");
  }

  return { EXAMPLES, LETTERS, half, line, cone, direction, degrees, program, point, multipliers, outline, name, isScene, declaration, python };
})();

if (typeof module !== "undefined") module.exports = scenes;
