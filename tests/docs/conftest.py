"""The page learn/window in a browser, for window_test.py and window_parts_test.py."""

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULE = Path(os.environ.get("ORIEL_WASM", ROOT / "build-wasm" / "build" / "module"))


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("NOT CHECKED: the page learn/window; there is no chromium command")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"])
        yield browser
        browser.close()


def write_module(folder):
    """The module as scripts/site/window.py writes it for the site."""
    import window_page

    if not all((MODULE / name).is_file() for name in ("oriel.mjs", "oriel.wasm")):
        pytest.skip("NOT CHECKED: the page learn/window on the WebAssembly module; make wasm builds it")
    window_page.window.write_script(folder / "_static" / "window" / "oriel-module.js", MODULE)


# What the module says of names; for an invalid one, its error.
SAID = """async (names) => {
  const oriel = await orielModule.load();
  return names.map((name) => { try { return oriel.explain(name); } catch (error) { return error.message; } });
}"""


def check_current(page):
    """Skips if the module's texts are not those of the command: it was built from other sources."""
    import window_page

    def explain(name):
        try:
            return window_page.explain(name)
        except ValueError as error:
            return str(error)

    names = [*window_page.NAMES, *window_page.INVALID]
    if page.evaluate(SAID, names) != [explain(name) for name in names]:
        pytest.skip("NOT CHECKED: the page learn/window on the WebAssembly module, which was built from other sources; make wasm builds it again")


@pytest.fixture(scope="module", params=["native", "module"])
def library(request):
    """What the page computes with: the native library instead of the module, or the module."""
    return request.param


@pytest.fixture
def visit(browser, tmp_path, library):
    """visit(name, scheme, width): the page with that name in its address. At the end: no errors, no request to another host."""
    import window_page

    contexts, complaints = [], []

    def run(name="", scheme="light", width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        contexts.append(context)
        allowed = ("file:", "data:", "blob:")
        address = window_page.write_page(tmp_path, scheme)
        if library == "native":
            window_page.connect(context)
            allowed += (window_page.NATIVE,)
        else:
            write_module(tmp_path)
        page = context.new_page()
        page.on("request", lambda request: None if request.url.startswith(allowed) else complaints.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
        page.goto(address + (f"#{name}" if name else ""))
        page.wait_for_selector("#oriel-window[data-ready]")
        if library == "module":
            check_current(page)
        return page

    yield run
    for context in contexts:
        context.close()
    assert not complaints, complaints
