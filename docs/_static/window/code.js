// The window explainer's code to copy: the same pool on the command line, in Python and in PyTorch.
"use strict";
(() => {
  const { element, copyButton } = orielWindow;

  const capital = { true: "True", false: "False" };
  const norm = (s) => (s.norm === "inf" ? 'float("inf")' : s.norm);
  const isSame = (s) => s.padding !== "given";

  function padding(s) {
    if (isSame(s)) return `"${s.padding}"`;
    return s.before === s.after ? String(s.before) : `[(${s.before}, ${s.after})]`;
  }

  // `max_pool(x, 3, stride=2)`, with what differs from the defaults.
  function call(name, s) {
    const words = ["x", ...(s.op === "lp" ? [norm(s)] : []), s.kernel];
    if (s.stride !== s.kernel) words.push(`stride=${s.stride}`);
    if (isSame(s) || s.before > 0 || s.after > 0) words.push(`padding=${padding(s)}`);
    if (s.dilation > 1) words.push(`dilation=${s.dilation}`);
    if (s.ceil) words.push("ceil_mode=True");
    if (s.op === "avg" && !s.include) words.push("count_include_pad=False");
    return `${name}(${words.join(", ")})`;
  }

  function python(s, values) {
    const x = values ? `np.array([${values.join(", ")}], np.float32)` : `np.arange(${s.inputs}, dtype=np.float32)`;
    return `import numpy as np\nimport oriel\n\nx = ${x}\nprint(oriel.${call(`${s.op}_pool`, s)})`;
  }

  // Why PyTorch's own functions cannot do this, or nothing if they can.
  function obstacle(s) {
    if (isSame(s)) return `PyTorch has no padding="${s.padding}"`;
    if (s.before !== s.after) return "PyTorch pads both sides alike";
    if (s.op === "lp") return "PyTorch's lp_pool1d has no padding and no dilation, and other rules for signs and borders";
    if (s.dilation > 1 && (s.op === "avg" || s.op === "sum")) return "PyTorch has no dilation for averages and sums";
    if (s.before * 2 > s.kernel) return "PyTorch refuses padding of more than half the kernel";
    return null;
  }

  function torchCall(s) {
    if (s.op === "sum") { // an average that divides by 1; only those of two and three axes can
      const ceil = s.ceil ? ", ceil_mode=True" : "";
      return `F.avg_pool2d(x[:, None], (1, ${s.kernel}), (1, ${s.stride}), (0, ${s.before})${ceil}, divisor_override=1)[:, 0]`;
    }
    const words = [s.op === "min" ? "-x" : "x", s.kernel, `stride=${s.stride}`, `padding=${s.before}`];
    if (s.dilation > 1) words.push(`dilation=${s.dilation}`);
    words.push(`ceil_mode=${capital[s.ceil]}`);
    if (s.op === "avg") words.push(`count_include_pad=${capital[s.include]}`);
    return s.op === "min" ? `-F.max_pool1d(${words.join(", ")})` : `F.${s.op}_pool1d(${words.join(", ")})`;
  }

  function torch(s, values) {
    const x = values ? `torch.tensor([[${values.map((value) => `${value}.`).join(", ")}]])` : `torch.arange(${s.inputs}.0)[None]`;
    const why = obstacle(s), begin = `x = ${x}  # 1 channel of ${s.inputs}`;
    if (why !== null)
      return `# ${why};\n# oriel.torch does it, with gradients.\nimport torch\nimport oriel.torch\n\n${begin}\nprint(oriel.torch.${call(`${s.op}_pool1d`, s)})`;
    return `import torch\nimport torch.nn.functional as F\n\n${begin}\nprint(${torchCall(s)})`;
  }

  /** [title, text] for each way to write the pool. Settings that are unknown (null) leave the command. */
  function codeOf(name, settings, values) {
    const command = ["Command", `oriel explain ${name}`];
    return settings === null ? [command] : [["Python", python(settings, values)], ["PyTorch", torch(settings, values)], command];
  }

  function showCode(pieces) {
    return pieces.map(([title, text]) => element("div", { class: "ow-code", "data-title": title },
      element("div", { class: "ow-code-head" }, element("strong", {}, title), copyButton(() => text, "Copy", `the code for ${title}`)),
      element("pre", { tabindex: 0, "aria-label": `Code for ${title}` }, text)));
  }

  Object.assign(orielWindow, { codeOf, showCode });
})();
