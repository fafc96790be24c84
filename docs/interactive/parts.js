"use strict";
// What each part of the method is for: a program that is solved with it and not without it.

(() => {
  const NAMED = Object.fromEntries(Object.values(scenes.EXAMPLES).filter(({ without }) => without).map((example) => [example.without, example]));
  const plane = new picture.Picture(document.getElementById("parts-plane"), () => {});
  const errors = document.getElementById("parts-errors");
  const runs = {}; // the programs do not change

  function run(part) {
    if (runs[part]) return runs[part];
    const { scene, whole } = NAMED[part], program = scenes.program(scene), switches = { ...method.SWITCHES, ...whole };
    const [on, off] = [true, false].map((value) => {
      const found = method.solve(program, { switches: { ...switches, [part]: value } });
      return { ...found, points: found.trace.map((it) => scenes.point(it, scene.units)) };
    });
    return (runs[part] = { scene, program, switches, on, off });
  }

  // How far an iterate is from what the method finds: from a solution or, of an infeasible program, from a certificate.
  const miss = (it, status) => (status === "optimal" ? it.error : it.tau / Math.max(it.kappa, 1e-300));

  function draw({ part, without }) {
    const { scene, program, switches, on, off } = run(part), shown = without === "yes" ? off : on;
    plane.fit();
    plane.drawScene(scene, []);
    plane.drawRun({ central: [], whole: without === "yes" ? on.points : [], points: shown.points, current: shown.points.length - 1, ray: null });
    const longest = without === "yes" ? Math.max(on.trace.length, off.trace.length) : on.trace.length, certificate = on.status !== "optimal";
    const axes = new drawing.Axes(errors, { from: 0, to: longest - 1, label: "iteration" },
      { from: -12, to: 6, log: true, step: 4, label: certificate ? "τ / κ" : "largest residual" });
    const curve = (kind, { trace }) => axes.curve(kind, trace.map((it, k) => [k, miss(it, on.status)]), trace.length > 40 ? 0 : 2.5);
    curve("with", on);
    if (without === "yes" && !(certificate && part === "embedding")) curve("without", off);
    axes.show();
    const tell = ({ status, trace }) => `${status.replaceAll("_", " ")} after ${trace.length - 1} steps`;
    const changed = Object.keys(switches).filter((name) => switches[name] !== method.SWITCHES[name]).map((name) => `${name}=True`);
    const python = [...scenes.declaration(program), "", "from docs.teaching import figures", "from socp import textbook",
      `figures.without(program, "${part}", textbook.Switches(${changed.join(", ")}))`].join("\n");
    return { caption: `With the ${part}: ${tell(on)}.` + (without === "yes" ? ` Without: ${tell(off)}.` : ""), python };
  }

  new reading.Figure("parts", {
    state: { part: "predictor", without: "no" }, draw,
    controls: [{ key: "part", label: "part", options: Object.keys(method.SWITCHES).map((name) => [name, name]) },
      { key: "without", label: "left out", options: [["no", "no"], ["yes", "yes"]] }],
  });
})();
