"""Puts the window explainer into the prepared pages of the documentation site.

Usage: window.py PAGES MODULE. PAGES is the folder that sources.py wrote, MODULE the folder with oriel.mjs and oriel.wasm (`make wasm`
builds it). Writes PAGES/_static/window/oriel-module.js, one classic script with both files, as browsers load neither modules nor
data from files, and the elements and scripts of the explainer into PAGES/learn/window.md. Without the module, the page says so.

window.py --script FILE MODULE writes that script alone.
"""

import base64
import re
import sys
from pathlib import Path

PAGE = "learn/window.md"
STATIC = "_static/window"
SCRIPTS = ("elements.js", "controls.js", "drawing.js", "summary.js", "code.js", "picture.js", "window.js")
PLACE = re.compile(r'^<div id="oriel-window">\n.*?^</div>$', re.MULTILINE | re.DOTALL)
MISSING = (
    "*This copy of the site was built without the WebAssembly module (`make wasm`), so the page has no controls. "
    "`oriel explain` draws the same, and the examples below show what it prints.*"
)
EXPORTS = [("class", "OrielError"), ("async function", "load")]


def classic(text):
    """oriel.mjs without what only a module may have: `export`, and the address of the module itself."""
    found = re.findall(r"^export (class|async function|function|const|let|default|\{)\s*(\w*)", text, re.MULTILINE)
    if found != EXPORTS:
        raise ValueError(f"oriel.mjs must export {EXPORTS}, but exports {found}")
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    if text.count("import.meta") != 1 or text.count("import.meta.url") != 1:
        raise ValueError(f"oriel.mjs must use import.meta.url once, but uses import.meta {text.count('import.meta')} times")
    text = text.replace("import.meta.url", "document.baseURI")
    if left := re.findall(r"^\s*(?:import|export)\b.*", text, re.MULTILINE):
        raise ValueError(f"oriel.mjs must import nothing and export two names, but has the lines {left}")
    return text


def bundle(module, wasm):
    """The script: the text of oriel.mjs and the bytes of oriel.wasm. It sets orielModule, whose `load()` is that of oriel.mjs."""
    if not wasm.startswith(b"\0asm"):
        raise ValueError("oriel.wasm must begin as a WebAssembly module does, but does not")
    return (
        "// Made by scripts/site/window.py of apps/wasm/oriel.mjs and oriel.wasm: see docs/wasm.md.\n"
        '"use strict";\nglobalThis.orielModule = (() => {\n'
        f"{classic(module)}\n"
        f'const wasm = "{base64.b64encode(wasm).decode("ascii")}";\n'
        "return { OrielError, load: () => load(Uint8Array.from(atob(wasm), (letter) => letter.charCodeAt(0))) };\n"
        "})();\n"
    )


def live_part(root):
    """What the page has instead of its `div`; `root` is the way from the page to the top of the site."""
    static = f"{root}{STATIC}"
    lines = [
        f'<link rel="stylesheet" href="{static}/window.css">',
        f'<div id="oriel-window" data-module="{static}/oriel-module.js"><p>The controls and the drawing are being loaded. They need JavaScript and WebAssembly.</p></div>',
        *(f'<script defer src="{static}/{script}"></script>' for script in SCRIPTS),
    ]
    return "\n".join(lines)


def write_script(file, module):
    try:
        text = bundle((module / "oriel.mjs").read_text(encoding="utf-8"), (module / "oriel.wasm").read_bytes())
    except (OSError, ValueError) as error:
        sys.exit(f"window.py: {error}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def main(pages, module):
    page = pages / PAGE
    text = page.read_text(encoding="utf-8")
    if len(PLACE.findall(text)) != 1:
        sys.exit(f'window.py: {PAGE} must have one <div id="oriel-window"> with its </div>, each in a line of its own')
    missing = [name for name in ("oriel.mjs", "oriel.wasm") if not (module / name).is_file()]
    if missing:
        print(f"site: {module} has no {missing[-1]}: the page learn/window has no live part; make wasm builds it", file=sys.stderr)
        page.write_text(PLACE.sub(lambda _: MISSING, text), encoding="utf-8")
        return
    write_script(pages / STATIC / "oriel-module.js", module)
    page.write_text(PLACE.sub(lambda _: live_part("../"), text), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--script"]:
        write_script(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
