// The window explainer of the documentation site (docs/learn/window.md). Its scripts are classic ones, as browsers load no
// modules from files; they share the object orielWindow. This one makes elements.
"use strict";
globalThis.orielWindow = {};

/**
 * An element. Attributes that are functions listen (`click: …`), `true` sets an attribute without a value, `false` and
 * `undefined` leave it out. Children are elements, texts, or lists of them.
 */
orielWindow.element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null));
  return made;
};

/** "1 input", "3 inputs". */
orielWindow.plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** "3", "3 and 4", "3, 4 and 5". */
orielWindow.listed = (items) =>
  items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`;

/** A button that copies what `text()` returns, and says so. */
orielWindow.copyButton = (text, words, what) => {
  const { element } = orielWindow;
  const said = element("span", { class: "ow-hidden", role: "status" });
  const button = element("button", { type: "button", class: "ow-button", "aria-label": `${words} ${what}`.trim() }, words);
  button.addEventListener("click", async () => {
    const copied = await orielWindow.copy(text());
    button.textContent = copied ? "Copied" : "Not copied";
    said.textContent = copied ? `Copied ${what}` : `The browser does not allow copying ${what}`;
    setTimeout(() => {
      button.textContent = words;
      said.textContent = "";
    }, 2000);
  });
  return element("span", { class: "ow-copy" }, button, said);
};

/** Copies a text; true if that worked. */
orielWindow.copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // pages from files and without https have no clipboard in some browsers, but can copy what is selected
    const field = orielWindow.element("textarea", { class: "ow-hidden" });
    const focused = document.activeElement;
    document.body.append(field);
    field.value = text;
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    focused?.focus();
    return copied;
  }
};
