// The drawing of the window explainer: one pooled axis, its inputs as a row, a row below for each window. Every number comes
// from `oriel explain --json`; here it is put on the page.
"use strict";
(() => {
  const { element, plural, listed } = orielWindow;

  const MOST_COLUMNS = 160, MOST_WINDOWS = 80; // beyond, the library's own picture leaves out what is alike
  const LEGEND = [
    ["tap", "input read"], ["won", "the input that gives the result"], ["padtap", "tap in padding: no value"],
    ["beyond", "tap beyond the padding (ceil mode)"], ["band", "skipped by dilation"], ["dropped", "never read"],
  ];
  let drawings = 0; // for ids

  /** Whether an axis can be drawn window by window. */
  function isDrawable(axis) {
    if (axis.unread_inputs === undefined || axis.windows.length > MOST_WINDOWS) return false;
    const [first, last] = reach(axis);
    return last - first < MOST_COLUMNS;
  }

  const coordinatesOf = (window) => [...window.input_coordinates, ...window.padding_coordinates, ...window.beyond_coordinates];

  // The first and the last coordinate that is drawn.
  function reach(axis) {
    const w = axis.window ?? { padding_before: 0, padding_after: 0 };
    let first = -w.padding_before, last = axis.inputs + w.padding_after - 1;
    for (const coordinate of axis.windows.flatMap(coordinatesOf)) {
      if (coordinate < first) first = coordinate;
      if (coordinate > last) last = coordinate;
    }
    return [first, last];
  }

  /** A result as people write it. */
  function shown(value) {
    if (value === Infinity || value === -Infinity) return value > 0 ? "∞" : "−∞";
    return String(Number(value.toPrecision(4))).replace("-", "−");
  }

  function cell(kind, column, ...content) {
    return element("span", { class: `ow-cell ow-${kind}`, style: `grid-column:${column}` }, content);
  }

  function headRow(axis, [first, last], values, titles) {
    const never = new Set(axis.unread_inputs);
    const w = axis.window ?? { padding_before: 0, padding_after: 0 };
    const cells = [];
    for (let coordinate = first; coordinate <= last; ++coordinate) {
      if (coordinate >= 0 && coordinate < axis.inputs) {
        const kind = never.has(coordinate) ? "input ow-dropped" : "input";
        const made = cell(kind, coordinate - first + 1, values ? [element("small", {}, String(coordinate)), String(values[coordinate])] : String(coordinate));
        made.dataset.coordinate = coordinate;
        cells.push(made);
      } else if (coordinate >= -w.padding_before && coordinate < axis.inputs + w.padding_after) {
        cells.push(cell("pad", coordinate - first + 1, "pad"));
      }
    }
    return element("div", { class: "ow-row ow-head", "aria-hidden": "true" },
      element("span", { class: "ow-label" }, values ? [element("small", {}, "index"), "value"] : "input"), element("span", { class: "ow-cells" }, cells),
      titles.map((title) => element("span", { class: "ow-number" }, title)));
  }

  function windowCells(window, first, values, winner) {
    const coordinates = coordinatesOf(window), cells = [];
    if (coordinates.length > 0) {
      const from = Math.min(...coordinates) - first + 1, to = Math.max(...coordinates) - first + 2;
      cells.push(element("span", { class: "ow-band", style: `grid-column:${from}/${to}` }));
    }
    for (const coordinate of window.input_coordinates)
      cells.push(cell(coordinate === winner ? "tap ow-won" : "tap", coordinate - first + 1, String(values ? values[coordinate] : coordinate)));
    for (const coordinate of window.padding_coordinates) cells.push(cell("padtap", coordinate - first + 1));
    for (const coordinate of window.beyond_coordinates) cells.push(cell("beyond", coordinate - first + 1, "×"));
    return cells;
  }

  /** What a window does, in words. */
  function describeWindow(window, { average, values, result }) {
    const reads = window.input_coordinates;
    const words = [reads.length === 0 ? `Output ${window.output} reads no input`
      : `Output ${window.output} reads input${reads.length === 1 ? "" : "s"} ${listed(reads)}` +
        (values ? ` (value${reads.length === 1 ? "" : "s"} ${listed(reads.map((coordinate) => values[coordinate]))})` : "")];
    if (window.padding > 0) words.push(`${window.padding} of its ${plural(window.taps, "tap")} ${window.padding === 1 ? "is" : "are"} padding`);
    if (window.beyond > 0)
      words.push(`${window.beyond} of its ${plural(window.taps, "tap")} ${window.beyond === 1 ? "is" : "are"} beyond the padding`);
    if (average) words.push(`The divisor is ${window.divisor}`);
    if (result !== undefined) words.push(`The result is ${shown(result)}`);
    return `${words.join(". ")}.`;
  }

  const countOf = (window) => (window.inputs === window.taps ? String(window.taps) : `${window.inputs} of ${window.taps}`);

  // The windows as a list box: arrow keys, pointer and touch choose one, whose inputs are marked in the first row.
  function listWindows(rows, select) {
    const list = element("div", { class: "ow-windows", role: "listbox", tabindex: 0, "aria-label": "Windows, one for each output" }, rows);
    let chosen = -1;
    const reveal = (row) => { // also sideways, in its box
      for (const one of row.querySelectorAll(".ow-tap, .ow-padtap, .ow-beyond")) one.scrollIntoView({ block: "nearest", inline: "nearest" });
    };
    const choose = (index) => {
      if (index === chosen || index < 0 || index >= rows.length) return;
      rows[chosen]?.setAttribute("aria-selected", "false");
      rows[index].setAttribute("aria-selected", "true");
      list.setAttribute("aria-activedescendant", rows[index].id);
      chosen = index;
      select(index);
    };
    const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
    list.addEventListener("keydown", (event) => {
      const to = event.key === "Home" ? 0 : event.key === "End" ? rows.length - 1 : chosen + steps[event.key];
      if (Number.isNaN(to) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      choose(Math.max(0, Math.min(rows.length - 1, to)));
      reveal(rows[chosen]);
    });
    for (const [index, row] of rows.entries()) {
      row.addEventListener("pointerenter", () => choose(index));
      row.addEventListener("click", () => {
        choose(index);
        reveal(row);
      });
    }
    return { list, choose };
  }

  function legend(drawn) {
    const kinds = LEGEND.filter(([kind]) => kind === "band" ? drawn.dataset.gaps === "true" : drawn.querySelector(`.ow-${kind}`) !== null);
    return element("ul", { class: "ow-legend", "aria-hidden": "true" }, kinds.map(([kind, words]) =>
      element("li", {}, element("span", { class: `ow-cell ow-${kind}` }, kind === "beyond" ? "×" : ""), words)));
  }

  /**
   * Draws an axis of an explained problem.
   * @param {object} axis of the problem
   * @param {{average: boolean, values?: number[], results?: number[], winners?: number[], chosen: number}} shown what is known
   *   of values: those of the inputs, of the outputs, and the input that gives each maximum; the output that is chosen
   * @param {(output: number) => void} chose is called when another output is chosen
   */
  function drawAxis(axis, { average, values, results, winners, chosen }, chose) {
    const id = `ow-drawing-${++drawings}`, bounds = reach(axis);
    const titles = ["inputs", ...(average ? ["divisor"] : []), ...(results ? ["result"] : [])];
    const head = headRow(axis, bounds, values, titles);
    const say = (window) => describeWindow(window, { average, values, result: results?.[window.output] });
    const rows = axis.windows.map((window, i) => element("div", {
      class: "ow-row", role: "option", id: `${id}-${i}`, "aria-selected": "false", "aria-label": say(window),
    },
    element("span", { class: "ow-label" }, element("span", { class: "ow-word" }, "output "), String(window.output)),
    element("span", { class: "ow-cells" }, windowCells(window, bounds[0], values, winners?.[i])),
    element("span", { class: "ow-number" }, countOf(window)),
    average ? element("span", { class: "ow-number" }, String(window.divisor)) : [],
    results ? element("span", { class: "ow-number ow-result" }, shown(results[i])) : []));
    const words = element("p", { class: "ow-words" });
    const { list, choose } = listWindows(rows, (index) => {
      const reads = new Set(axis.windows[index].input_coordinates);
      for (const one of head.querySelectorAll("[data-coordinate]")) one.classList.toggle("ow-read", reads.has(Number(one.dataset.coordinate)));
      words.textContent = say(axis.windows[index]);
      chose(index);
    });
    const drawn = element("div", {
      class: "ow-drawing", style: `--ow-columns:${bounds[1] - bounds[0] + 1}`, "data-gaps": String((axis.window?.dilation ?? 1) > 1),
    }, head, list);
    choose(Math.min(chosen, rows.length - 1));
    return element("div", { class: "ow-axis" }, element("div", { class: "ow-scroll" }, drawn), words, legend(drawn));
  }

  /** The same as a table, for those who do not see the drawing, and to copy. */
  function tabulateAxis(axis, { average, results }) {
    const titles = ["output", "inputs read", "taps in padding", "taps beyond padding", ...(average ? ["divisor"] : []), ...(results ? ["result"] : [])];
    const rows = axis.windows.map((window, i) => element("tr", {}, element("th", { scope: "row" }, String(window.output)), [
      window.input_coordinates.join(", ") || "none", window.padding, window.beyond,
      ...(average ? [window.divisor] : []), ...(results ? [shown(results[i])] : []),
    ].map((text) => element("td", {}, String(text)))));
    return element("div", { class: "ow-scroll" }, element("table", { class: "ow-table" },
      element("caption", {}, `${plural(axis.inputs, "input")}, ${plural(axis.outputs, "output")}; never read: ${axis.unread_inputs.join(", ") || "none"}`),
      element("thead", {}, element("tr", {}, titles.map((title) => element("th", { scope: "col" }, title)))), element("tbody", {}, rows)));
  }

  Object.assign(orielWindow, { isDrawable, drawAxis, tabulateAxis });
})();
