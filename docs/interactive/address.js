"use strict";
// The address of the page: everything that is on the screen, and back.
//
//   #example=NAME&off=PARTS&on=PARTS&tol=1e-6&share=0.9&order=degree&iterate=K      or scene=JSON in place of an example

const address = (() => {
  const ORDERS = ["natural", "degree"];

  const TOLERANCES = [1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12];
  const isShare = (value) => value >= 0.1 && value <= 0.999;

  function encode({ scene, switches, tol, share, order, iterate }) {
    const parts = new URLSearchParams(), examples = scenes.EXAMPLES;
    const changed = (on) => Object.keys(method.SWITCHES).filter((part) => switches[part] === on && method.SWITCHES[part] !== on);
    const example = Object.keys(examples).find((name) => JSON.stringify(examples[name].scene) === JSON.stringify(scene));
    if (example) parts.set("example", example);
    else parts.set("scene", JSON.stringify(scene));
    if (changed(false).length) parts.set("off", changed(false).join(" "));
    if (changed(true).length) parts.set("on", changed(true).join(" "));
    if (tol !== method.DEFAULTS.tol) parts.set("tol", tol);
    if (share !== method.DEFAULTS.share) parts.set("share", share);
    if (order !== ORDERS[0]) parts.set("order", order);
    parts.set("iterate", iterate);
    return parts.toString();
  }

  // What is missing or makes no sense is as at the beginning; `iterate` is then Infinity, the last.
  function decode(hash) {
    const parts = new URLSearchParams(hash.replace(/^#/, "")), switches = { ...method.SWITCHES };
    for (const [key, on] of [["off", false], ["on", true]]) {
      for (const part of (parts.get(key) ?? "").split(/[ ,]/)) if (part in switches) switches[part] = on;
    }
    const name = Object.hasOwn(scenes.EXAMPLES, parts.get("example")) ? parts.get("example") : "disc";
    let scene = structuredClone(scenes.EXAMPLES[name].scene);
    try {
      const drawn = JSON.parse(parts.get("scene"));
      if (scenes.isScene(drawn)) scene = drawn;
    } catch { /* the example, then */ }
    const [tol, share] = ["tol", "share"].map((key) => Number(parts.get(key)));
    const order = ORDERS.includes(parts.get("order")) ? parts.get("order") : ORDERS[0];
    const iterate = /^\d+$/.test(parts.get("iterate") ?? "") ? Number(parts.get("iterate")) : Infinity;
    return {
      example: name, scene, switches, order, iterate,
      tol: TOLERANCES.includes(tol) ? tol : method.DEFAULTS.tol, share: isShare(share) ? share : method.DEFAULTS.share,
    };
  }

  return { ORDERS, TOLERANCES, isShare, encode, decode };
})();

if (typeof module !== "undefined") module.exports = address;
