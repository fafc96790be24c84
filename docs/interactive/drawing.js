"use strict";
// Parts of drawings.  An SVG's unit is a pixel of the screen, so that its text is as large on a phone.

const drawing = (() => {
  const SPACE = "http://www.w3.org/2000/svg";

  function element(tag, attributes = {}, ...children) {
    const made = document.createElementNS(SPACE, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // Width and height on the screen, which become the view box.
  function fit(svg) {
    const size = [Math.max(svg.clientWidth, 1), Math.max(svg.clientHeight, 1)];
    svg.setAttribute("viewBox", `0 0 ${size.join(" ")}`);
    return size;
  }

  const listed = (points) => points.map((v) => v.map((u) => u.toFixed(2)).join(",")).join(" ");
  const line = (kind, [x1, y1], [x2, y2]) => element("line", { class: kind, x1, y1, x2, y2 });
  const polyline = (kind, points) => element("polyline", { class: kind, points: listed(points) });
  const polygon = (kind, points) => element("polygon", { class: kind, points: listed(points) });
  const dot = (kind, [cx, cy], r = 4) => element("circle", { class: kind, cx, cy, r });
  const text = (kind, [x, y], words, anchor = "start") => element("text", { class: kind, x, y, "text-anchor": anchor }, words);

  function cross(kind, [x, y], r = 6) {
    return element("path", { class: kind, d: `M ${x - r} ${y - r} L ${x + r} ${y + r} M ${x - r} ${y + r} L ${x + r} ${y - r}` });
  }

  function arrow(kind, from, to, head = 9) {
    const way = [to[0] - from[0], to[1] - from[1]], size = Math.hypot(...way);
    if (!(size > 0.5)) return element("g");
    const u = way.map((v) => v / size), reach = Math.min(head, size);
    const wing = (side) => [0, 1].map((j) => to[j] - reach * u[j] + side * 0.45 * reach * (j ? u[0] : -u[1]));
    const neck = [0, 1].map((j) => to[j] - 0.8 * reach * u[j]);
    return element("g", { class: `arrow ${kind}` }, line("shaft", from, neck), polygon("head", [wing(1), to, wing(-1)]));
  }

  // ---- axes

  const power = (e) => (e === 0 ? "1" : `1e${e}`);
  const limited = (v, low, high) => Math.min(Math.max(v, low), high);

  // A rectangle of an SVG with an axis either way; an axis is {from, to, log, label}, `from` and `to` of a logarithmic one
  // are exponents of ten.
  class Axes {
    constructor(svg, x, y, { left = 44, right = 12, top = 12, bottom = 34 } = {}) {
      const [width, height] = fit(svg);
      Object.assign(this, { svg, xAxis: x, yAxis: y, box: [left, top, width - right, height - bottom] });
      this.parts = [];
      this.drawAxis(x, 0);
      this.drawAxis(y, 1);
    }

    along(value, axis, low, high) {
      const v = axis.log ? Math.log10(Math.max(value, 1e-300)) : value;
      return low + ((limited(v, axis.from, axis.to) - axis.from) / (axis.to - axis.from)) * (high - low);
    }

    at([x, y]) {
      const [left, top, right, bottom] = this.box;
      return [this.along(x, this.xAxis, left, right), this.along(y, this.yAxis, bottom, top)];
    }

    drawAxis(axis, which) {
      if (axis.bare) return;
      const [left, top, right, bottom] = this.box, span = axis.to - axis.from, room = which ? bottom - top : right - left;
      const step = axis.step ?? [1, 2, 3, 4, 5, 10, 20, 50, 100].find((s) => (s * room) / span >= (which ? 22 : 40)) ?? span;
      for (let v = Math.ceil(axis.from / step) * step; v <= axis.to + 1e-9; v += step) {
        const value = axis.log ? 10 ** v : v, shown = axis.log ? power(v) : String(Number(v.toPrecision(6)));
        if (which) {
          const at = this.at([0, value])[1];
          this.parts.push(line("grid", [left, at], [right, at]), text("tick", [left - 5, at + 4], shown, "end"));
        } else {
          const at = this.at([value, 0])[0];
          this.parts.push(line("grid", [at, top], [at, bottom]), text("tick", [at, bottom + 14], shown, "middle"));
        }
      }
      if (axis.label && which) this.parts.push(text("label", [left + 5, top + 11], axis.label));
      if (axis.label && !which) this.parts.push(text("label", [(left + right) / 2, bottom + 29], axis.label, "middle"));
    }

    add(...parts) {
      this.parts.push(...parts);
    }

    curve(kind, points, dots = 0) {
      const seen = points.filter((v) => v.every(Number.isFinite)).map((v) => this.at(v));
      this.add(polyline(kind, seen), ...(dots ? seen.map((v) => dot(`${kind} filled`, v, dots)) : []));
    }

    show() {
      this.svg.replaceChildren(...this.parts);
    }
  }

  return { element, fit, line, polyline, polygon, dot, text, cross, arrow, Axes };
})();
