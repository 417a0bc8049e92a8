// The controls of the window explainer: settings of one axis, and the problem's name that they make.
"use strict";
(() => {
  const { element } = orielWindow;

  const OPS = [["max", "the largest"], ["min", "the smallest"], ["avg", "the mean"], ["sum", "the sum"], ["lp", "the Lp norm"]];
  const NORMS = [["1", "1"], ["2", "2"], ["3", "3"], ["inf", "infinity"]];
  const PADDINGS = [
    ["given", "as set", "as the two controls above set it"],
    ["same", "same", "as much as gives ceil(inputs / stride) outputs; if it is odd, the extra one is after the input"],
    ["same_lower", "same_lower", "the same, but the extra one is before the input"],
  ];
  // `most` is where the slider ends; the field beside it takes more.
  const NUMBERS = [
    { key: "inputs", label: "Inputs", hint: "size of the axis", least: 1, most: 32 },
    { key: "kernel", label: "Kernel", hint: "taps per window", least: 1, most: 9 },
    { key: "stride", label: "Stride", hint: "step of a window", least: 1, most: 9 },
    { key: "dilation", label: "Dilation", hint: "distance of taps", least: 1, most: 5 },
    { key: "before", label: "Padding before", hint: "left of the input", least: 0, most: 6 },
    { key: "after", label: "Padding after", hint: "right of the input", least: 0, most: 6 },
  ];

  /** The problem's name that settings make; a picture has another shape, type and its axes. */
  function compose(s, { dtype = "f32", shape = s.inputs, end = "" } = {}) {
    const given = s.padding === "given";
    const words = [
      s.op === "lp" ? `lp${s.norm}` : s.op, dtype, shape,
      `k${s.kernel}s${s.stride}${given ? `p${s.before}+${s.after}` : ""}d${s.dilation}`,
    ];
    if (!given) words.push(s.padding);
    if (s.ceil) words.push("ceil");
    if (s.op === "avg" && !s.include) words.push("exclude");
    return words.join(":") + end;
  }

  /** The settings that show an explained problem: those of its first axis. What it does not say stays as it was. */
  function settingsOf(problem, former) {
    const axis = problem.axes[0], w = axis.window;
    const s = {
      ...former, op: problem.op, inputs: axis.inputs, padding: problem.padding, ceil: problem.ceil_mode, include: problem.count_include_pad,
    };
    if (problem.op.startsWith("lp")) Object.assign(s, { op: "lp", norm: problem.op.slice(2) });
    if (w !== null) {
      Object.assign(s, { kernel: w.kernel, stride: w.stride, dilation: w.dilation, before: w.padding_before, after: w.padding_after });
      s.linked = w.padding_before === w.padding_after;
    }
    return s;
  }

  function choice(name, legend, options, changed) {
    const items = options.map(([value, words, title]) => element("label", { class: "ow-choice", title },
      element("input", { type: "radio", name: `ow-${name}`, value, change: () => changed(value) }), element("span", {}, words)));
    return element("fieldset", { class: `ow-field ow-${name}` }, element("legend", {}, legend), element("div", { class: "ow-choices" }, items));
  }

  function check(key, words, hint, changed) {
    const box = element("input", { type: "checkbox", id: `ow-${key}`, change: () => changed(box.checked) });
    return element("label", { class: "ow-check", for: box.id }, box, element("span", {}, words, hint === "" ? [] : [" ", element("small", {}, hint)]));
  }

  function slider({ key, label, hint, least, most }, input, changed) {
    const id = `ow-${key}`;
    const range = element("input", { type: "range", id, min: least, max: most, step: 1, input: () => input(range.value), change: changed });
    const number = element("input", {
      type: "number", min: least, step: 1, inputmode: "numeric", "aria-label": `${label}, as a number`,
      input: () => number.value !== "" && input(number.value), change: changed,
    });
    return element("div", { class: "ow-slider", "data-key": key },
      element("label", { for: id }, label, " ", element("small", {}, hint)), number, range);
  }

  /**
   * The controls. `input(settings)` is called with every change, `changed()` when a change is complete (a slider is let go).
   * @returns {{root: HTMLElement, show: (settings: object) => void}}
   */
  function createControls(input, changed) {
    let settings = null;
    const set = (change, complete) => {
      input({ ...settings, ...change });
      if (complete) changed();
    };
    const setNumber = (key, value) => {
      const other = { before: "after", after: "before" }[key];
      set(other && settings.linked ? { [key]: value, [other]: value } : { [key]: value }, false);
    };
    const norm = element("select", { id: "ow-norm", change: () => set({ norm: norm.value }, true) },
      NORMS.map(([value, words]) => element("option", { value }, words)));
    const normField = element("label", { class: "ow-norm", for: "ow-norm" }, "p ", norm);
    const ops = choice("op", "Operation", OPS.map(([op, title]) => [op, op, title]), (op) => set({ op }, true));
    ops.append(normField);
    const sliders = NUMBERS.map((number) => slider(number, (value) => setNumber(number.key, value), changed));
    const pad = (padding) => set(padding === "given" ? { padding } : { padding, ceil: false }, true); // same has no ceil mode
    const paddings = choice("padding", "Padding", PADDINGS, pad);
    const linked = check("linked", "Equal padding", "", (on) => set(on ? { linked: on, after: settings.before } : { linked: on }, true));
    const ceil = check("ceil", "Ceil mode", "a last window may be partial", (on) => set({ ceil: on }, true));
    const include = check("include", "Count padding", "in the divisor", (on) => set({ include: on }, true));
    const root = element("form", { class: "ow-controls", "aria-label": "Windows", submit: (event) => event.preventDefault() },
      ops, element("div", { class: "ow-sliders" }, sliders), element("div", { class: "ow-modes" }, paddings, linked, ceil, include));

    function show(shown) {
      settings = shown;
      const given = shown.padding === "given";
      for (const one of sliders) {
        const key = one.dataset.key, value = String(shown[key]);
        for (const field of one.querySelectorAll("input")) {
          if (field.value !== value) field.value = value;
          field.disabled = !given && (key === "before" || key === "after");
        }
      }
      for (const [fieldset, value] of [[ops, shown.op], [paddings, shown.padding]])
        for (const radio of fieldset.querySelectorAll("input[type=radio]")) radio.checked = radio.value === value;
      if (![...norm.options].some((option) => option.value === shown.norm)) norm.append(element("option", { value: shown.norm }, shown.norm));
      norm.value = shown.norm;
      normField.hidden = shown.op !== "lp";
      include.hidden = shown.op !== "avg";
      linked.hidden = !given;
      ceil.control.disabled = !given;
      for (const [label, on] of [[linked, shown.linked], [ceil, shown.ceil], [include, shown.include]]) label.control.checked = on;
    }
    return { root, show };
  }

  Object.assign(orielWindow, { compose, settingsOf, createControls });
})();
