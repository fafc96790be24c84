"use strict";
// How the article is read: a figure follows the paragraphs that pass under it, has sliders, and waits for answers.
//
//   <section id="path"><figure><div class="panes">...</div></figure>
//     <p data-set='{"exponent": 2}'>           the figure takes this state when the paragraph comes to the reading line
//     <fieldset class="question" data-right="1" data-set="...">   what follows is hidden until an answer is chosen

const reading = (() => {
  const ZONE = "-68% 0px -30% 0px"; // of the window: the line at which one reads

  const make = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  class Figure {
    // `draw(state)` draws and returns {caption, python}.  A control is {key, label, min, max, step, say(state)}, a slider, or
    // {key, label, options: [[value, text], ...]}.
    constructor(id, { state, controls = [], draw }) {
      Object.assign(this, { section: document.getElementById(id), state, drawing: draw });
      const figure = this.section.querySelector("figure");
      this.caption = make("figcaption");
      this.controls = controls.map((control) => this.control(id, control));
      figure.append(make("div", { className: "sliders" }, ...this.controls.map(({ label }) => label)), this.caption);
      this.python = make("pre");
      this.section.append(make("details", { className: "python" }, make("summary", { textContent: "This figure in Python" }), this.python));
      for (const question of this.section.querySelectorAll(".question")) this.ask(question);
      this.follow();
      new ResizeObserver(() => this.draw()).observe(figure.querySelector(".panes"));
    }

    control(id, { key, label, options, say, ...range }) {
      const input = options
        ? make("select", { id: `${id}-${key}` }, ...options.map(([value, text]) => make("option", { value, textContent: text })))
        : make("input", { id: `${id}-${key}`, type: "range", ...range });
      const output = make("output");
      output.setAttribute("for", input.id);
      input.addEventListener("input", () => this.set({ [key]: options ? input.value : Number(input.value) }));
      return { key, input, say, output, label: make("label", { className: "slider" }, make("span", { textContent: label }), input, output) };
    }

    set(change) {
      Object.assign(this.state, change);
      this.draw();
    }

    draw() {
      const { caption, python, limits = {} } = this.drawing(this.state);
      this.caption.textContent = caption;
      this.python.textContent = python;
      for (const { key, input, say, output } of this.controls) {
        if (key in limits) input.max = limits[key];
        input.value = this.state[key];
        if (!say) continue;
        output.textContent = say(this.state);
        input.setAttribute("aria-valuetext", `${say(this.state)}. ${caption}`);
      }
    }

    // ---- paragraphs and questions

    follow() {
      const steps = this.section.querySelectorAll("p[data-set]");
      const observer = new IntersectionObserver((entries) => {
        const come = entries.filter((entry) => entry.isIntersecting);
        if (come.length) this.read(come[come.length - 1].target);
      }, { rootMargin: ZONE });
      for (const step of steps) {
        observer.observe(step);
        step.addEventListener("click", () => this.read(step));
      }
    }

    read(step) {
      for (const other of this.section.querySelectorAll(".reading")) other.classList.remove("reading");
      step.classList.add("reading");
      this.set(JSON.parse(step.dataset.set));
    }

    ask(question) {
      const answer = question.querySelector(".answer"), rest = [];
      for (let next = question.nextElementSibling; next; next = next.nextElementSibling) if (!next.matches("details")) rest.push(next);
      const skip = make("button", { type: "button", className: "skip", textContent: "I do not know" });
      const close = (open) => rest.forEach((part) => part.classList.toggle("unanswered", !open));
      const reveal = (verdict) => {
        close(true);
        question.classList.add("answered");
        answer.hidden = skip.hidden = false;
        skip.remove();
        question.querySelector(".verdict").textContent = verdict;
        if (question.dataset.set) this.set(JSON.parse(question.dataset.set));
      };
      answer.prepend(make("b", { className: "verdict" }));
      answer.setAttribute("role", "status");
      answer.hidden = true;
      answer.before(skip);
      skip.addEventListener("click", () => reveal("The answer: "));
      question.addEventListener("change", (event) => reveal(event.target.value === question.dataset.right ? "Right. " : "Not so. "));
      close(false);
    }
  }

  // A number as one reads it.
  function short(value, digits = 3) {
    if (!Number.isFinite(value)) return value > 0 ? "infinity" : "not a number";
    const size = Math.abs(value);
    return size && (size < 1e-3 || size >= 1e5) ? value.toExponential(digits - 2) : String(Number(value.toPrecision(digits)));
  }

  return { Figure, short };
})();
