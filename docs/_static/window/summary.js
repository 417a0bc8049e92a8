// The window explainer's sentences, sizes and formulas, from an explained problem.
"use strict";
(() => {
  const { element, plural, listed } = orielWindow;

  const MOST_LISTED = 12; // of inputs that are never read
  const VALUES = [..."3141592653589793238462643383279502884197169399375105820974944592"].map(Number); // the digits of pi

  /**
   * Values for the inputs of a problem, its results, and for maxima and minima the input that gives each: what the drawing
   * shows in its cells. Nothing for problems that the controls cannot make, and for long axes.
   */
  function valuesOf(oriel, problem, settings) {
    if (settings === null || problem.shape[0] > VALUES.length) return {};
    const values = VALUES.slice(0, problem.shape[0]);
    const extremum = settings.op === "max" || settings.op === "min";
    const pooled = oriel.pool(problem.name + (extremum ? ":indices" : ""), Float32Array.from(values));
    return { values, results: Array.from(pooled.values), winners: extremum ? Array.from(pooled.indices, Number) : undefined };
  }

  function unreadSentence(unread) {
    if (unread.length === 0) return "Every input is read.";
    const few = unread.length > MOST_LISTED ? [...unread.slice(0, MOST_LISTED), `${unread.length - MOST_LISTED} more`] : unread;
    return `${plural(unread.length, "input")} ${unread.length === 1 ? "is" : "are"} never read: ${listed(few)}.`;
  }

  /** How many outputs there are, and what is not read: a sentence or two for each axis. */
  function summarize(problem) {
    return problem.axes.map((axis) => {
      const w = axis.window, many = problem.axes.length > 1;
      const size = `${plural(axis.inputs, "input")} ${axis.inputs === 1 ? "gives" : "give"} ${plural(axis.outputs, "output")}`;
      const how = w === null ? "" : `, with windows of ${plural(w.kernel, "tap")} and a stride of ${w.stride}`;
      return `${many ? `Axis ${axis.axis}: ` : ""}${size}${how}. ${axis.unread_inputs === undefined ? "" : unreadSentence(axis.unread_inputs)}`.trim();
    }).join(" ");
  }

  function showSizes(problem) {
    return problem.axes.map((axis) => element("p", { class: "ow-sizes" },
      element("strong", {}, String(axis.inputs)), ` ${axis.inputs === 1 ? "input" : "inputs"} `,
      element("span", { class: "ow-arrow" }, "→"), " ",
      element("strong", {}, String(axis.outputs)), ` ${axis.outputs === 1 ? "output" : "outputs"}`,
      axis.unread_inputs?.length > 0 ? element("span", { class: "ow-lost" }, `${axis.unread_inputs.length} never read`) : []));
  }

  /** The lines `outputs = words = numbers = result` of an axis. */
  function showFormula(axis) {
    return element("div", { class: "ow-formula" }, axis.size.map((line) =>
      element("p", {}, line.split(/(?= = )/).map((piece) => element("span", {}, piece)))));
  }

  function showFacts(problem) {
    const sentences = new Set([...problem.axes.flatMap((axis) => axis.facts), problem.divisor_rule]);
    return [...sentences].filter((text) => text !== "").map((text) => element("li", {}, text));
  }

  /** An earlier axis whose windows are those of the axis `index`, which is then not drawn again. */
  function sameAs(problem, index) {
    const text = (axis) => JSON.stringify({ ...axis, axis: 0 });
    return problem.axes.slice(0, index).find((axis) => text(axis) === text(problem.axes[index]));
  }

  Object.assign(orielWindow, { valuesOf, summarize, showSizes, showFormula, showFacts, sameAs });
})();
