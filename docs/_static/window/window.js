// The window explainer: puts its parts into the page, and holds the problem's name, which is also in the address.
"use strict";
(() => {
  const { element, plural, compose, settingsOf, sameAs, copyButton } = orielWindow;

  const START = "max:f32:8:k3s2";
  const EXAMPLES = [
    ["stride", START], ["padding", "avg:f32:7:k3s2p1"], ["dilation", "max:f32:9:k3s1d2"], ["ceil mode", "max:f32:8:k3s2:ceil"],
    ["same", "avg:f32:7:k4s2:same:exclude"], ["gaps", "sum:f32:14:k2s5"],
  ];
  const DEFAULTS = {
    op: "max", norm: "2", inputs: 8, kernel: 3, stride: 2, before: 0, after: 0, dilation: 1,
    padding: "given", linked: true, ceil: false, include: true,
  };
  const MOST_OUTPUTS = 100000; // the list of windows is held in memory
  const MOST_VALUES = 24; // that are written into the code to copy
  const QUICK = 1000; // milliseconds

  // The name in the address; null if there is none, or a heading of the page.
  function nameInAddress() {
    let name = location.hash.slice(1);
    try {
      name = decodeURIComponent(name);
    } catch { /* stays as it is: the library says what is wrong with it */ }
    return name === "" || document.getElementById(name) ? null : name;
  }

  class Explainer {
    #oriel;
    #settings = DEFAULTS;
    #problem = null;
    #chosen = []; // an output of each axis
    #committed = -QUICK; // when the address was changed last
    #speaking = 0;
    #field = element("input", { type: "text", id: "ow-name", spellcheck: "false", autocomplete: "off", autocapitalize: "none" });
    #error = element("p", { class: "ow-error", role: "alert", hidden: true });
    #note = element("p", { class: "ow-note", hidden: true });
    #sizes = element("div");
    #summary = element("p", { class: "ow-summary" });
    #spoken = element("p", { class: "ow-hidden", role: "status", "aria-live": "polite" });
    #drawings = element("div");
    #facts = element("ul", { class: "ow-facts" });
    #formulas = element("div");
    #table = element("details", { class: "ow-details" });
    #code = element("div", { class: "ow-codes" });
    #shown = element("div", {}, this.#sizes, this.#note, this.#drawings, this.#summary, this.#facts, this.#formulas, this.#table);
    #controls;
    #picture;

    constructor(host, oriel) {
      this.#oriel = oriel;
      this.#picture = orielWindow.createPicture(oriel);
      this.#controls = orielWindow.createControls((changed) => {
        this.#settings = changed;
        this.explain(compose(changed));
      }, () => this.#commit());
      host.replaceChildren(this.#examples(), this.#controls.root, this.#error, this.#shown, this.#spoken, this.#naming(), this.#code, this.#picture.root);
      window.addEventListener("hashchange", () => this.#restore());
      this.explain(START, true);
      this.#restore();
    }

    #examples() {
      return element("nav", { class: "ow-examples", "aria-label": "Examples" }, "Examples: ",
        EXAMPLES.map(([words, name]) => [element("a", { href: `#${name}`, title: name }, words), " "]));
    }

    #naming() {
      const submit = (event) => {
        event.preventDefault();
        if (this.explain(this.#field.value.trim(), true)) this.#commit();
      };
      return element("form", { class: "ow-naming", "aria-label": "Problem name", submit }, element("label", { for: "ow-name" }, "Problem name"), this.#field,
        element("button", { type: "submit", class: "ow-button" }, "Show"),
        copyButton(() => `${location.href.split("#")[0]}#${this.#problem.name}`, "Copy link", "to this problem"));
    }

    /** Explains a problem and shows it; false, with the library's text on the page, if its name has no meaning. */
    explain(name, restore = false) {
      try {
        const { output_shape: shape } = this.#oriel.describe(name);
        if (Math.max(...shape) > MOST_OUTPUTS)
          throw new Error(`This page lists at most ${MOST_OUTPUTS} outputs of an axis, but the result is ${shape.join("x")}. ` +
            `The command draws it: oriel explain ${name}`);
        this.#problem = this.#oriel.explain(name);
      } catch (reason) {
        this.#fail(reason.message);
        if (restore) this.#field.value = name;
        else this.#controls.show(this.#settings);
        return false;
      }
      this.#fail("");
      const { linked } = this.#settings;
      this.#settings = restore ? settingsOf(this.#problem, DEFAULTS) : { ...settingsOf(this.#problem, this.#settings), linked };
      this.#show();
      return true;
    }

    #fail(text) {
      this.#error.textContent = text;
      this.#error.hidden = text === "";
      for (const part of [this.#shown, this.#code]) part.classList.toggle("ow-stale", text !== "");
    }

    #restore() {
      const name = nameInAddress();
      if (name !== null) this.explain(name, true);
      else if (location.hash === "") this.explain(START, true);
    }

    // The name is put into the address when a change is complete; quick changes replace the last entry of the history.
    #commit() {
      const address = `#${this.#problem.name}`;
      if (!this.#error.hidden || location.hash === address) return;
      const now = performance.now(), quick = now - this.#committed < QUICK;
      this.#committed = now;
      if (quick) history.replaceState(null, "", address);
      else history.pushState(null, "", address);
    }

    #show() {
      const problem = this.#problem;
      const whole = this.#oriel.describe(compose(this.#settings)).name === problem.name; // the controls can make this name
      const values = orielWindow.valuesOf(this.#oriel, problem, whole ? this.#settings : null);
      this.#field.value = problem.name;
      this.#controls.show(this.#settings);
      this.#sizes.replaceChildren(...orielWindow.showSizes(problem));
      this.#summary.textContent = orielWindow.summarize(problem);
      this.#note.hidden = whole;
      this.#note.textContent = problem.axes.length > 1 ? `The controls show axis ${problem.axes[0].axis} only. If you move one, only this axis stays.`
        : "This name has words that no control shows. If you move a control, they are dropped.";
      this.#showWindows({ average: problem.op === "avg", ...values });
      this.#facts.replaceChildren(...orielWindow.showFacts(problem));
      this.#formulas.replaceChildren(...problem.axes.filter((_, i) => !sameAs(problem, i)).map(orielWindow.showFormula));
      const written = values.values?.length <= MOST_VALUES ? values.values : null;
      const code = orielWindow.codeOf(problem.name, whole ? this.#settings : null, written);
      this.#code.replaceChildren(...orielWindow.showCode(code));
      this.#picture.update(this.#settings);
      this.#speak();
    }

    // The drawing and the table; for long axes the library's picture, which leaves out what is alike.
    #showWindows(known) {
      const { axes, name, headline } = this.#problem, drawable = axes.every(orielWindow.isDrawable);
      this.#table.hidden = !drawable;
      if (!drawable) {
        const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(this.#oriel.explainSvg(name))}`;
        const image = element("img", { class: "ow-svg", alt: `The windows of the ${headline}`, src: source });
        this.#drawings.replaceChildren(element("div", { class: "ow-scroll" }, image));
        return;
      }
      this.#drawings.replaceChildren(...axes.map((axis, i) => this.#showAxis(axis, i, known)));
      this.#table.replaceChildren(element("summary", {}, "The same as a table"),
        ...axes.filter((_, i) => !sameAs(this.#problem, i)).map((axis) => orielWindow.tabulateAxis(axis, known)));
    }

    #showAxis(axis, i, known) {
      const words = `Axis ${axis.axis}: ${plural(axis.inputs, "input")}, ${plural(axis.outputs, "output")}`;
      const title = this.#problem.axes.length > 1 ? element("p", { class: "ow-title" }, words) : [];
      const same = sameAs(this.#problem, i);
      if (same) return element("div", {}, title, element("p", {}, `The same windows as along axis ${same.axis}.`));
      return element("div", {}, title,
        orielWindow.drawAxis(axis, { ...known, chosen: this.#chosen[i] ?? 0 }, (output) => { this.#chosen[i] = output; }));
    }

    // Once the controls rest: a slider on its way is not read aloud.
    #speak() {
      clearTimeout(this.#speaking);
      this.#speaking = setTimeout(() => { this.#spoken.textContent = this.#summary.textContent; }, 600);
    }
  }

  // A link below each `$ oriel explain NAME` of the page.
  function linkConsoles(host) {
    for (const block of document.querySelectorAll("pre")) {
      const name = /^\$ oriel explain (\S+)\n/.exec(block.textContent)?.[1];
      if (name === undefined || host.contains(block)) continue;
      (block.closest(".highlight-console") ?? block).after(element("p", { class: "ow-live" },
        element("a", { href: `#${name}`, click: () => host.scrollIntoView() }, "Show this with the controls above")));
    }
  }

  // The module's script, 2.5 MB, is loaded when the page is there. (A test has put a module of its own into orielModule.)
  function loadModule(source) {
    if (globalThis.orielModule) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const error = () => reject(new Error(`${source} cannot be loaded`));
      setTimeout(() => document.head.append(element("script", { src: source, load: resolve, error })), 50);
    });
  }

  async function main() {
    const host = document.getElementById("oriel-window");
    try {
      await loadModule(host.dataset.module);
      new Explainer(host, await globalThis.orielModule.load());
      linkConsoles(host);
      host.dataset.ready = "true";
    } catch (reason) {
      host.replaceChildren(element("p", { class: "ow-error", role: "alert" }, `The live part of this page cannot start: ${reason.message}`));
      throw reason;
    }
  }

  main();
})();
