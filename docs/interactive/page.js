"use strict";
// The controls: what is solved, what is shown of it, and the address that holds both.

(() => {
  const $ = (id) => document.getElementById(id);
  const PAUSE = 700; // milliseconds between iterates
  const LATER = 250; // milliseconds until the address follows; browsers refuse to change it too often
  const FORM = [["x", "at", 0], ["y", "at", 1], ["angle", "angle"], ["size", "size"], ["eccentricity", "eccentricity"]];

  const PARTS = {
    predictor: "predictor: try the affine step, then choose σ",
    corrector: "corrector: the second-order term",
    centrality: "centrality: aim at the central path",
    scaling: "scaling: Nesterov and Todd's",
    equilibration: "equilibration: rows and columns near one",
    refinement: "refinement of the linear solves",
    regularization: "regularization of the KKT matrix",
    embedding: "embedding: homogeneous, with τ and κ",
  };

  const MEANING = {
    optimal: "Residuals and gap are below the tolerance: a solution.",
    primal_infeasible: "Nothing is feasible: the multipliers below combine the constraints to one that cannot hold.",
    dual_infeasible: "Unbounded below: along the dashed ray the objective falls for ever.",
    inaccurate: "No progress any more; the best iterate misses the tolerance, by little.",
    numerical_error: "No progress any more, and no iterate is near a solution.",
    max_iterations: "The limit of 100 iterations was reached.",
  };

  let scene, program, switches, settings, order, run, comparing, central, current = 0, timer = null, writing = null, opened = false;
  const plane = new picture.Picture($("picture"), () => solve());

  // ---- solving

  function solve(at = Infinity) {
    program = scenes.program(scene);
    run = method.solve(program, { ...settings, switches });
    run.points = run.trace.map((it) => scenes.point(it, scene.units));
    const untouched = Object.keys(switches).every((part) => switches[part] === method.SWITCHES[part]);
    run.whole = untouched ? [] : method.solve(program, settings).trace.map((it) => scenes.point(it, scene.units));
    central = method.centralPath(program).map(({ x }) => [x[0], x[1] * 10 ** scene.units]);
    clearTimeout(comparing);
    comparing = setTimeout(compare, LATER / 4); // eight more solves, when the hand rests
    $("python").textContent = scenes.python(program, switches, method.SWITCHES, settings, method.DEFAULTS);
    $("sizes").textContent = sizes(program);
    tables.fill($("trace"), run.trace, show);
    drawControls();
    plane.drawScene(scene);
    show(at);
  }

  function sizes({ b, cones }) {
    const rows = cones.filter((size) => size === 1).length, round = cones.length - rows;
    return `variables 2, equalities ${b.length}, ${rows} nonnegative rows` +
      (round ? `, ${round} second-order cone${round > 1 ? "s" : ""} of dimension 3` : "") +
      `; tol ${tables.exponential(settings.tol, 0)}`;
  }

  const isAnswer = ({ status }) => ["optimal", "primal_infeasible", "dual_infeasible"].includes(status);

  // What becomes of the program when one part after another is switched over.
  function compare() {
    for (const part of Object.keys(PARTS)) {
      const worth = $(`worth-${part}`), other = method.solve(program, { ...settings, switches: { ...switches, [part]: !switches[part] } });
      worth.textContent = `${switches[part] ? "without" : "with"}: ${outcome(other)}`;
      worth.className = isAnswer(run) && !isAnswer(other) ? "worth bad" : "worth";
    }
  }

  function outcome({ status, trace }) {
    return `${trace.length - 1} iterations, ${status.replaceAll("_", " ")}`;
  }

  // ---- showing

  function show(at) {
    current = Math.max(0, Math.min(at, run.trace.length - 1));
    const it = run.trace[current], ended = current === run.trace.length - 1;
    const ray = ended && run.status === "dual_infeasible" ? [it.x[0], it.x[1] * 10 ** scene.units] : null;
    plane.drawRun({ central, whole: run.whole, points: run.points, current, ray });
    Object.assign($("iterate"), { max: run.trace.length - 1, value: current });
    $("iterate").setAttribute("aria-valuetext", `iterate ${current} of ${run.trace.length - 1}, gap ${tables.exponential(it.gap, 1)}, μ ${tables.exponential(it.mu, 1)}`);
    $("shown").textContent = `${current} of ${run.trace.length - 1}`;
    for (const id of ["first", "back"]) $(id).disabled = current === 0;
    for (const id of ["forward", "last"]) $(id).disabled = ended;
    tables.mark($("trace"), current);
    tables.curves($("curves"), run.trace, current, settings.tol);
    drawMatrix(it);
    prices(it, ended && run.status === "primal_infeasible");
    $("link").href = `#${here()}`;
    writeAddress();
  }

  function drawMatrix(it) {
    const found = kkt.analyse(method.kktMatrix(program, it, switches), order);
    kkt.draw($("kkt"), found, kkt.labels(scene.constraints, scenes.LETTERS));
    $("kkt-note").textContent = kkt.describe(found);
  }

  function prices(it, certificate) {
    const scale = certificate ? it.tau / it.scale : 1;
    scenes.multipliers(it, scene.constraints).forEach(({ slack, multiplier }, i) => {
      const parts = [`multiplier ${tables.exponential(multiplier * scale, 2)}`];
      if (!Number.isNaN(slack) && !certificate) parts.unshift(`slack ${tables.exponential(slack, 2)}`);
      document.querySelectorAll("#constraints .prices")[i].textContent = parts.join(", ");
    });
  }

  function play(on) {
    clearInterval(timer);
    timer = on ? setInterval(() => (current < run.trace.length - 1 ? show(current + 1) : play(false)), PAUSE) : null;
    $("play").textContent = on ? "pause" : "\u25B6\uFE0E play";
    $("play").setAttribute("aria-label", on ? "pause" : "play");
    if (on && current === run.trace.length - 1) show(0);
  }

  // ---- controls

  function drawControls() {
    const good = isAnswer(run), { best } = run;
    const [x, y] = scenes.point(best, scene.units).map((v) => v.toFixed(4));
    $("status").className = good ? "status" : "status bad";
    $("status").innerHTML = `<b>${outcome(run)}</b>${MEANING[run.status]}` +
      (run.status === "optimal" ? ` x = (${x}, ${y}).` : "");
    $("footer").textContent = run.status.includes("infeasible") ? `${run.status}` :
      `${run.status}: objective ${best.objective.toPrecision(12)}, dual objective ${best.dualObjective.toPrecision(12)}`;
    $("whole-key").hidden = !run.whole.length;
    $("central-key").hidden = !central.length;
    for (const part of Object.keys(PARTS)) $(`part-${part}`).checked = switches[part];
    for (const radio of document.getElementsByName("objective")) radio.checked = radio.value === scene.objective.kind;
    $("units").value = scene.units;
    $("tol").value = settings.tol;
    $("order").value = order;
    if (document.activeElement !== $("share")) $("share").value = settings.share;
    drawConstraints();
    for (const button of document.querySelectorAll("[data-add]")) button.disabled = scene.constraints.length >= scenes.LETTERS.length;
  }

  // The forms are made anew only when there are others, so that the focus stays.
  function drawConstraints() {
    const kinds = scene.constraints.map(({ kind }) => kind).join(" "), box = $("constraints");
    if (box.dataset.kinds !== kinds) {
      box.dataset.kinds = kinds;
      box.replaceChildren(...scene.constraints.map((_, i) => constraintForm(i)));
    }
    scene.constraints.forEach((constraint, i) => {
      const form = box.children[i];
      form.querySelector("b").textContent = `${scenes.LETTERS[i]}  ${scenes.name(constraint)}`;
      for (const input of form.querySelectorAll("input")) {
        const [, key, j] = FORM[input.dataset.field], value = j === undefined ? constraint[key] : constraint[key][j];
        if (document.activeElement !== input) input.value = value;
      }
      form.querySelector("select").value = constraint.units;
    });
  }

  function constraintForm(i) {
    const form = document.createElement("div"), letter = scenes.LETTERS[i];
    const fields = FORM.map(([name, key], f) => (key in scene.constraints[i]
      ? `<label>${name} <input type="number" data-field="${f}" aria-label="${name} of ${letter}" step="${key === "angle" ? 1 : 0.1}"></label>` : "")).join("");
    form.className = "constraint";
    form.innerHTML = `<div class="row"><b></b><span class="prices"></span>
      <button type="button" aria-label="remove ${letter}">remove</button></div>
      <div class="row">${fields}<label>rows × <select aria-label="units of ${letter}">${powers()}</select></label></div>`;
    form.querySelector("button").addEventListener("click", () => {
      scene.constraints.splice(i, 1);
      $("constraints").dataset.kinds = "-";
      solve();
    });
    form.querySelector("select").addEventListener("change", (event) => {
      scene.constraints[i].units = Number(event.target.value);
      solve();
    });
    for (const input of form.querySelectorAll("input")) {
      input.addEventListener("input", () => change(scene.constraints[i], FORM[input.dataset.field], input.valueAsNumber));
      input.addEventListener("blur", drawConstraints);
    }
    return form;
  }

  function change(constraint, [name, key, j], value) {
    if (!Number.isFinite(value) || (name === "size" && value <= 0) || (name === "eccentricity" && value < 0)) return;
    if (j === undefined) constraint[key] = value;
    else constraint[key][j] = value;
    solve();
  }

  const powers = () => [-4, -3, -2, -1, 0, 1, 2, 3, 4].map((k) => `<option value="${k}">${k ? `1e${k}` : "1"}</option>`).join("");

  function buildControls() {
    $("example").innerHTML = Object.entries(scenes.EXAMPLES).map(([name, { title, without }]) =>
      `<option value="${name}">${title}${without ? ` (dies without ${without})` : ""}</option>`).join("");
    $("example").addEventListener("change", (event) => load(event.target.value));
    $("units").innerHTML = powers();
    $("units").addEventListener("change", (event) => { scene.units = Number(event.target.value); solve(); });
    $("tol").innerHTML = address.TOLERANCES.map((tol) => `<option value="${tol}">${tables.exponential(tol, 0)}</option>`).join("");
    $("tol").addEventListener("change", (event) => { settings.tol = Number(event.target.value); solve(); });
    $("share").addEventListener("input", (event) => {
      const share = event.target.valueAsNumber;
      if (address.isShare(share)) { settings.share = share; solve(); }
    });
    $("share").addEventListener("blur", () => { $("share").value = settings.share; });
    $("order").addEventListener("change", (event) => { order = event.target.value; show(current); });
    $("copy").addEventListener("click", copy);
    $("switches").innerHTML = Object.entries(PARTS).map(([part, text]) =>
      `<div class="switch"><label><input type="checkbox" id="part-${part}" aria-describedby="worth-${part}">${text}</label>
      <span class="worth" id="worth-${part}"></span></div>`).join("");
    for (const part of Object.keys(PARTS)) {
      $(`part-${part}`).addEventListener("change", (event) => { switches[part] = event.target.checked; solve(); });
    }
    for (const radio of document.getElementsByName("objective")) {
      radio.addEventListener("change", () => { scene.objective.kind = radio.value; solve(); });
    }
    for (const button of document.querySelectorAll("[data-add]")) button.addEventListener("click", () => addConstraint(button.dataset.add));
  }

  function addConstraint(kind) {
    const { view } = plane, [x, y] = view.centre.map((v) => plane.rounded(v)), third = plane.rounded(view.half / 3);
    const made = { half: () => scenes.half(x + third, y, 20), line: () => scenes.line(x, y, 100), cone: () => scenes.cone(x, y, 2 * third) };
    scene.constraints.push(made[kind]());
    solve();
  }

  function load(name) {
    scene = structuredClone(scenes.EXAMPLES[name].scene);
    switches = { ...method.SWITCHES, ...scenes.EXAMPLES[name].whole };
    plane.home();
    solve();
  }

  // ---- the address follows what is drawn, a little later, and what is drawn follows the address

  const here = () => address.encode({ scene, switches, ...settings, order, iterate: current });

  const isProgram = () => location.hash.includes("="); // not a heading of the article

  function writeAddress() {
    clearTimeout(writing);
    if (!opened) return;
    writing = setTimeout(() => history.replaceState(null, "", `#${here()}`), LATER);
  }

  function readAddress() {
    const read = address.decode(location.hash);
    ({ scene, switches, order } = read);
    settings = { tol: read.tol, share: read.share };
    $("example").value = read.example;
    plane.home();
    solve(read.iterate);
    opened = true;
  }

  async function copy() {
    const code = $("python").textContent;
    try {
      await navigator.clipboard.writeText(code);
      $("copied").textContent = "copied";
    } catch { // no clipboard here: show it, marked
      $("python").closest("details").open = true;
      getSelection().selectAllChildren($("python"));
      $("copied").textContent = "marked below: copy it by hand";
    }
  }

  // ---- keys and buttons

  const STEPS = { first: () => 0, back: () => current - 1, forward: () => current + 1, last: () => Infinity };
  const KEYS = { Home: "first", ArrowLeft: "back", ArrowRight: "forward", End: "last" };

  buildControls();
  for (const [id, to] of Object.entries(STEPS)) $(id).addEventListener("click", () => { play(false); show(to()); });
  $("play").addEventListener("click", () => play(!timer));
  $("iterate").addEventListener("input", (event) => { play(false); show(Number(event.target.value)); });
  $("laboratory").addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, button, summary, a, .scroll") || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key in KEYS) { play(false); show(STEPS[KEYS[event.key]]()); }
    else if (event.key === " ") play(!timer);
    else return;
    event.preventDefault();
  });
  const zoom = (factor) => { plane.zoom(factor, factor < 1 ? run.points[current] : null); plane.drawScene(scene); show(current); };
  $("zoom-in").addEventListener("click", () => zoom(0.5));
  $("zoom-out").addEventListener("click", () => zoom(2));
  $("home").addEventListener("click", () => { plane.home(); plane.drawScene(scene); show(current); });
  new ResizeObserver(() => { plane.fit(); plane.drawScene(scene); show(current); }).observe($("picture"));
  window.addEventListener("hashchange", () => { if (isProgram()) readAddress(); });
  readAddress();
  if (isProgram()) $("laboratory").scrollIntoView({ behavior: "instant" });
})();
