"use strict";
// The plane: region, constraints with their handles, central path, iterates.  A handle is moved by pointer or arrow keys.

const picture = (() => {
  const FAR = 1e5;
  const { element } = drawing;

  class Picture {
    // `changed(final)` is called when a handle has moved the scene; `home` is the view at the beginning.
    constructor(svg, changed, home = { centre: [0, 0], half: 3.6 }) {
      Object.assign(this, { svg, changed, start: home });
      this.home();
      this.fit();
      this.layers = Object.fromEntries(["defs", "region", "axes", "boundaries", "paths", "marks", "handles", "iterates"].map((name) => {
        const layer = element(name === "defs" ? "defs" : "g", { class: name });
        svg.append(layer);
        return [name, layer];
      }));
      this.handles = [];
    }

    // ---- coordinates

    // Take the size that the drawing has on the screen now.
    fit() {
      [this.width, this.height] = drawing.fit(this.svg);
      this.size = Math.min(this.width, this.height);
    }

    get scale() { // pixels a unit of the plane
      return this.size / (2 * this.view.half);
    }

    toScreen([x, y]) {
      const { centre } = this.view, limit = (v) => Math.min(Math.max(v, -FAR), FAR);
      return [limit(this.width / 2 + (x - centre[0]) * this.scale), limit(this.height / 2 - (y - centre[1]) * this.scale)];
    }

    toPlane([x, y]) {
      const { centre } = this.view;
      return [centre[0] + (x - this.width / 2) / this.scale, centre[1] - (y - this.height / 2) / this.scale];
    }

    // Steps of the plane that are about a pixel wide, as a power of ten, so that programs have short numbers.
    rounded(v) {
      const digits = Math.max(0, Math.ceil(Math.log10(this.scale)));
      return Math.round(v * 10 ** digits) / 10 ** digits;
    }

    points(list) {
      return list.filter((v) => v.every(Number.isFinite)).map((v) => this.toScreen(v).map((u) => u.toFixed(2)).join(",")).join(" ");
    }

    // ---- the scene

    // `handles` in place of all that the scene has.
    drawScene(scene, handles) {
      const far = 40 * this.view.half + 40 * Math.hypot(...this.view.centre) + 100;
      const outlines = scene.constraints.map((constraint) => scenes.outline(constraint, far));
      this.drawAxes();
      this.drawRegion(scene, outlines);
      this.layers.boundaries.replaceChildren(...outlines.flatMap((outline, i) => {
        const { kind } = scene.constraints[i];
        const closed = kind === "cone" && scene.constraints[i].eccentricity < 1;
        const points = this.points(kind === "half" ? outline.slice(0, 2) : outline);
        return [element(closed ? "polygon" : "polyline", { class: `boundary ${kind}`, points })];
      }), ...scene.constraints.map((constraint, i) => this.letter(constraint, i)));
      this.drawHandles(handles ?? this.sceneHandles(scene));
    }

    drawAxes() {
      const { centre, half } = this.view, step = 10 ** Math.floor(Math.log10(half)), parts = [];
      for (let j = 0; j < 2; j++) {
        const reach = (j ? this.height : this.width) / (2 * this.scale);
        for (let k = Math.ceil((centre[j] - reach) / step); k * step <= centre[j] + reach; k++) {
          const at = this.toScreen([k * step, k * step])[j], along = j ? ["y1", "y2", "x1", "x2"] : ["x1", "x2", "y1", "y2"];
          const ends = { [along[0]]: at, [along[1]]: at, [along[2]]: 0, [along[3]]: j ? this.width : this.height };
          parts.push(element("line", { class: k === 0 ? "axis" : "grid", ...ends }));
          const text = element("text", j ? { x: 4, y: at - 4 } : { x: at + 4, y: this.height - 6 });
          text.textContent = Number((k * step).toPrecision(6));
          parts.push(text);
        }
      }
      this.layers.axes.replaceChildren(...parts);
    }

    // The region is the plane clipped by one constraint after another.
    drawRegion({ constraints }, outlines) {
      const clips = [], all = { x: 0, y: 0, width: this.width, height: this.height };
      let inner = element("rect", { class: "feasible", ...all });
      constraints.forEach(({ kind }, i) => {
        if (kind === "line") return;
        const id = `${this.svg.id}-clip-${i}`;
        clips.push(element("clipPath", { id }, element("polygon", { points: this.points(outlines[i]) })));
        inner = element("g", { "clip-path": `url(#${id})` }, inner);
      });
      this.layers.defs.replaceChildren(...clips);
      this.layers.region.replaceChildren(...(constraints.some(({ kind }) => kind === "line") ? [] : [inner]));
    }

    letter(constraint, i) {
      const [x, y] = this.rim(constraint), a = scenes.direction(constraint.angle), side = constraint.kind === "cone" ? -1 : 1;
      const text = element("text", { class: "letter", x: x + side * 15 * a[0], y: y - side * 15 * a[1] + 5 });
      text.textContent = scenes.LETTERS[i];
      return text;
    }

    // Where the boundary meets the axis of the constraint, on the screen.
    rim({ kind, at, angle, size, eccentricity }) {
      if (kind !== "cone") return this.toScreen(at);
      const a = scenes.direction(angle), reach = size / (1 + eccentricity);
      return this.toScreen([at[0] - reach * a[0], at[1] - reach * a[1]]);
    }

    // ---- handles

    sceneHandles(scene) {
      const handles = scene.constraints.flatMap((constraint, i) => this.constraintHandles(constraint, scenes.LETTERS[i]));
      return [this.objectiveHandle(scene.objective), ...handles];
    }

    // Each handle is {label, text, kind, at, move}, `at` on the screen, `stem` where its line starts; `turn` takes degrees.
    drawHandles(wanted) {
      if (wanted.length !== this.handles.length || wanted.some((w, k) => w.label !== this.handles[k].label)) {
        this.handles = wanted.map((w) => this.makeHandle(w.label));
        this.layers.handles.replaceChildren(...this.handles.map(({ group }) => group));
      }
      wanted.forEach((w, k) => this.placeHandle(this.handles[k], w));
    }

    objectiveHandle(objective) {
      if (objective.kind === "distance") {
        return {
          label: "target of the objective", at: this.toScreen(objective.target), kind: "target", text: this.place(objective.target),
          move: (to) => (objective.target = this.toPlane(to).map((v) => this.rounded(v))),
        };
      }
      const a = scenes.direction(objective.angle), from = [0.11 * this.size, 0.11 * this.size].map((v) => Math.max(v, 30));
      return {
        label: "direction in which the objective falls", kind: "objective", stem: from, text: `${objective.angle} degrees`,
        at: [from[0] + 0.7 * from[0] * a[0], from[1] - 0.7 * from[0] * a[1]],
        move: (to) => (objective.angle = scenes.degrees([to[0] - from[0], from[1] - to[1]])),
        turn: (by) => (objective.angle = wrapped(objective.angle + by)),
      };
    }

    constraintHandles(constraint, letter) {
      const { kind, at, angle } = constraint, a = scenes.direction(angle), centre = this.toScreen(at);
      const name = `${letter}, ${scenes.name(constraint)}`;
      const place = {
        label: `${name}: position`, at: centre, kind: "place", text: this.place(at),
        move: (to) => (constraint.at = this.toPlane(to).map((v) => this.rounded(v))),
      };
      const knob = Math.max(0.076 * this.size, 26);
      if (kind !== "cone") {
        return [place, {
          label: `${name}: angle`, kind: "angle", stem: centre, text: `${angle} degrees`,
          at: [centre[0] - knob * a[0], centre[1] + knob * a[1]],
          move: (to) => (constraint.angle = scenes.degrees([centre[0] - to[0], to[1] - centre[1]])),
          turn: (by) => (constraint.angle = wrapped(angle + by)),
        }];
      }
      return [place, {
        label: `${name}: size and angle`, kind: "angle", stem: centre, text: `size ${constraint.size}, ${angle} degrees`,
        at: this.rim(constraint),
        move: (to) => {
          const end = this.toPlane(to), away = [at[0] - end[0], at[1] - end[1]];
          const size = this.rounded(Math.hypot(...away) * (1 + constraint.eccentricity));
          Object.assign(constraint, { size: Math.max(size, this.rounded(this.view.half / 30)), angle: scenes.degrees(away) });
        },
      }];
    }

    place([x, y]) {
      return `at ${x}, ${y}`;
    }

    makeHandle(label) {
      const stem = element("line", { class: "stem" });
      const knob = element("circle", { class: "knob", r: 8 });
      const area = element("circle", { class: "area", r: 22 });
      const group = element("g", { class: "handle", tabindex: 0, role: "slider", "aria-label": label }, stem, area, knob);
      const handle = { label, group, stem, knob, area };
      group.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        group.focus();
        group.setPointerCapture(event.pointerId);
        const from = this.pointer(event), offset = [handle.at[0] - from[0], handle.at[1] - from[1]];
        const drag = (moved) => {
          const to = this.pointer(moved);
          handle.move([to[0] + offset[0], to[1] + offset[1]]);
          this.changed(false);
        };
        group.addEventListener("pointermove", drag);
        const end = () => {
          group.removeEventListener("pointermove", drag);
          this.changed(true);
        };
        group.addEventListener("lostpointercapture", end, { once: true });
      });
      group.addEventListener("keydown", (event) => {
        const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
        if (!way) return;
        event.preventDefault();
        event.stopPropagation();
        const pixels = event.shiftKey ? 40 : 8;
        if (handle.turn) handle.turn((way[0] + way[1] > 0 ? -1 : 1) * (event.shiftKey ? 15 : 1));
        else handle.move([handle.at[0] + pixels * way[0], handle.at[1] + pixels * way[1]]);
        this.changed(true);
      });
      return handle;
    }

    placeHandle(handle, { at, kind, stem, text, move, turn }) {
      Object.assign(handle, { at, move, turn });
      handle.group.setAttribute("class", `handle ${kind}`);
      handle.group.setAttribute("aria-valuetext", text);
      handle.group.setAttribute("aria-valuenow", 0);
      for (const circle of [handle.knob, handle.area]) {
        circle.setAttribute("cx", at[0]);
        circle.setAttribute("cy", at[1]);
      }
      const [x, y] = stem ?? at;
      for (const [name, value] of Object.entries({ x1: x, y1: y, x2: at[0], y2: at[1] })) handle.stem.setAttribute(name, value);
    }

    pointer(event) {
      const box = this.svg.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    }

    // ---- the run

    // Lists of points: the central path, the iterates of the whole method, those of the present one.
    drawRun({ central, whole, points, current, ray }) {
      const parts = [element("polyline", { class: "central", points: this.points(central) })];
      if (whole.length) parts.push(element("polyline", { class: "whole", points: this.points(whole) }));
      if (ray) {
        const far = points[current].map((v, j) => v + (ray[j] / Math.hypot(...ray)) * 100 * this.view.half);
        parts.push(element("polyline", { class: "ray", points: this.points([points[current], far]) }));
      }
      parts.push(element("polyline", { class: "path later", points: this.points(points) }));
      parts.push(element("polyline", { class: "path", points: this.points(points.slice(0, current + 1)) }));
      this.layers.paths.replaceChildren(...parts);
      const dots = points.map((v, k) => this.dot(v, k, current)).filter(Boolean);
      const now = dots.find((dot) => dot.classList.contains("current"));
      this.layers.iterates.replaceChildren(...dots.filter((dot) => dot !== now), ...(now ? [now] : []));
    }

    dot(v, k, current) {
      if (!v.every(Number.isFinite)) return null;
      const [x, y] = this.toScreen(v);
      const state = k === current ? "current" : k < current ? "" : "later";
      if (k === current && (x < 0 || y < 0 || x > this.width || y > this.height)) return this.edge(x, y);
      return element("circle", { class: `iterate ${state}`, cx: x, cy: y, r: k === current ? 7 : 4 });
    }

    // A triangle at the edge, towards an iterate that is out of sight.
    edge(x, y) {
      const middle = [this.width / 2, this.height / 2], way = [x - middle[0], y - middle[1]];
      const reach = Math.min((middle[0] - 14) / Math.abs(way[0]), (middle[1] - 14) / Math.abs(way[1]));
      const at = [middle[0] + reach * way[0], middle[1] + reach * way[1]], turn = (Math.atan2(way[1], way[0]) * 180) / Math.PI;
      return element("path", { class: "iterate current", d: "M -8 -8 L 10 0 L -8 8 Z", transform: `translate(${at}) rotate(${turn})` });
    }

    zoom(factor, about) {
      this.view.half *= factor;
      if (about && about.every((v) => Math.abs(v) < 1e6)) this.view.centre = about;
    }

    home() {
      this.view = { ...this.start };
    }
  }

  const wrapped = (angle) => ((((angle + 180) % 360) + 360) % 360) - 180;

  return { Picture };
})();
