// The window explainer's picture: a drawn one, or a file of the reader, pooled by the module and shown before and after.
// Nothing leaves the browser.
"use strict";
(() => {
  const { element, compose } = orielWindow;

  const SIDES = ["128", "256", "512", "1024"]; // pixels of the longer side that a picture is scaled to

  const contextOf = (canvas) => canvas.getContext("2d", { willReadFrequently: true });

  // Lines, edges, letters and single bright points: what pools treat differently.
  function drawSample(canvas, side) {
    const w = canvas.width = side, h = canvas.height = Math.round(side * 0.66), context = contextOf(canvas);
    const unit = side / 128;
    const sky = context.createLinearGradient(0, 0, 0, h);
    sky.addColorStop(0, "#12305e");
    sky.addColorStop(0.62, "#f2a65a");
    sky.addColorStop(1, "#fbe3b5");
    context.fillStyle = sky;
    context.fillRect(0, 0, w, h);
    context.fillStyle = "#fff7d6";
    for (let i = 0; i < 46; ++i) // stars, where a fixed sequence puts them
      context.fillRect(Math.floor((i * 61.7) % 128) * unit, Math.floor((i * i * 7.3) % 34) * unit, unit, unit);
    context.beginPath();
    context.arc(92 * unit, 42 * unit, 11 * unit, 0, 2 * Math.PI);
    context.fill();
    for (const [colour, points] of [["#3d3a63", [0, 70, 26, 34, 47, 62, 66, 42, 100, 72]], ["#1d2b3a", [30, 84, 74, 52, 98, 70, 112, 60, 140, 84]]]) {
      context.fillStyle = colour;
      context.beginPath();
      context.moveTo(-4 * unit, h);
      for (let i = 0; i < points.length; i += 2) context.lineTo(points[i] * unit, points[i + 1] * unit);
      context.lineTo(w + 8 * unit, h);
      context.fill();
    }
    context.strokeStyle = "#ffffff";
    context.lineWidth = unit;
    context.strokeRect(9.5 * unit, 47.5 * unit, 24 * unit, 26 * unit);
    context.strokeRect(21.5 * unit, 47.5 * unit, 0.01, 26 * unit);
    context.strokeRect(9.5 * unit, 60.5 * unit, 24 * unit, 0.01);
    context.fillStyle = "#ffffff";
    context.font = `bold ${13 * unit}px sans-serif`;
    context.fillText("oriel", 72 * unit, 78 * unit);
  }

  function drawScaled(canvas, image, side) {
    const scale = Math.min(1, side / Math.max(image.width, image.height));
    canvas.width = Math.max(1, Math.round(image.width * scale));
    canvas.height = Math.max(1, Math.round(image.height * scale));
    const context = contextOf(canvas);
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
  }

  // Sums and norms exceed what a pixel can hold: they are computed as f32, and the largest is drawn white.
  function toPixels(values, bytes) {
    const pixels = new Uint8ClampedArray(values.length);
    let most = 0;
    if (!bytes) for (let i = 0; i < values.length; ++i) if (i % 4 !== 3 && values[i] > most) most = values[i];
    for (let i = 0; i < values.length; ++i) pixels[i] = bytes ? values[i] : (values[i] * 255) / (most || 1);
    for (let i = 3; i < pixels.length; i += 4) pixels[i] = 255; // opacity is no colour
    return { pixels, most };
  }

  /** Pools what is on one canvas onto another; the problem's name and sizes, and the value that is drawn white. */
  function poolCanvas(oriel, settings, before, after) {
    const { width, height } = before, data = contextOf(before).getImageData(0, 0, width, height).data;
    const bytes = settings.op !== "sum" && settings.op !== "lp";
    const name = compose(settings, { dtype: bytes ? "u8" : "f32", shape: `${height}x${width}x4`, end: ":axes0,1" });
    const { values, shape } = oriel.pool(name, bytes ? new Uint8Array(data.buffer) : Float32Array.from(data));
    if (shape[0] === 0 || shape[1] === 0) throw new Error("The result has no pixel.");
    const { pixels, most } = toPixels(values, bytes);
    [after.height, after.width] = shape;
    contextOf(after).putImageData(new ImageData(pixels, shape[1], shape[0]), 0, 0);
    return { name: oriel.describe(name).name, width: shape[1], height: shape[0], most: bytes ? null : most };
  }

  function figure(id, words, canvas) {
    const caption = element("figcaption", { id: `ow-${id}-words` }, words);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-labelledby", caption.id);
    return { root: element("figure", { class: `ow-figure ow-${id}` }, canvas, caption), caption };
  }

  function pickers(changed) {
    const file = element("input", { type: "file", accept: "image/*", id: "ow-file", class: "ow-hidden", change: () => changed(file.files[0]) });
    const sample = element("button", { type: "button", class: "ow-button", click: () => changed(null) }, "Drawn sample");
    const side = element("select", { id: "ow-side" }, SIDES.map((value) => element("option", { value, selected: value === "128" }, value)));
    const root = element("div", { class: "ow-pickers" }, element("label", { class: "ow-button ow-pick", for: "ow-file" }, "Choose a picture"), file, sample,
      element("label", { class: "ow-side", for: "ow-side" }, "longer side at most ", side, " pixels"), element("span", { class: "ow-hint" }, "or drop one here"));
    return { root, side, file };
  }

  // A picture that is dropped anywhere on `target`.
  function acceptDrops(target, changed) {
    const over = (on) => (event) => {
      event.preventDefault();
      target.classList.toggle("ow-over", on);
    };
    target.addEventListener("dragover", over(true));
    target.addEventListener("dragleave", over(false));
    target.addEventListener("drop", (event) => {
      over(false)(event);
      if (event.dataTransfer.files.length > 0) changed(event.dataTransfer.files[0]);
    });
  }

  /** The part of the explainer with the pictures. */
  function createPicture(oriel) {
    let settings = null, image = null, title = "The drawn sample", waiting = false;
    const before = element("canvas"), after = element("canvas");
    const one = figure("before", "", before), two = figure("after", "", after);
    const error = element("p", { class: "ow-error", role: "alert", hidden: true });
    const fail = (text) => {
      error.textContent = text;
      error.hidden = text === "";
    };

    function pool() {
      waiting = false;
      one.caption.textContent = `${title}: ${before.width} × ${before.height} pixels`;
      try {
        const made = poolCanvas(oriel, settings, before, after);
        const white = made.most === null ? "" : `; the largest value, ${Math.round(made.most)}, is drawn white`;
        two.caption.replaceChildren(`Pooled: ${made.width} × ${made.height} pixels${white}. `, element("code", {}, made.name));
        two.root.hidden = false;
        fail("");
      } catch (reason) {
        two.root.hidden = true;
        fail(reason.message);
      }
    }
    function update(shown) { // at most once for each frame, as sliders move faster
      settings = shown;
      if (!waiting) requestAnimationFrame(pool);
      waiting = true;
    }
    function redraw() {
      if (image === null) drawSample(before, Number(side.value));
      else drawScaled(before, image, Number(side.value));
      if (settings !== null) update(settings);
    }
    async function change(file) {
      if (file === undefined) return;
      try {
        image = file === null ? null : await createImageBitmap(file);
        title = file === null ? "The drawn sample" : file.name;
        if (file !== null && side.value === "128") side.value = "256";
        redraw();
      } catch {
        fail(`${file.name} must be a picture that this browser can read, but is not.`);
      }
    }

    const { root: picker, side, file } = pickers(change);
    side.addEventListener("change", redraw);
    file.addEventListener("click", () => { file.value = ""; }); // the same file can be chosen twice
    const root = element("section", { class: "ow-picture", "aria-label": "A picture, pooled" },
      element("p", { class: "ow-title" }, "The same windows on a picture"), picker, error,
      element("div", { class: "ow-figures" }, one.root, two.root));
    acceptDrops(root, change);
    redraw();
    return { root, update };
  }

  Object.assign(orielWindow, { createPicture });
})();
