"""The documentation site builds without a warning, is complete, asks nothing of other hosts, and its links lead somewhere."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "site"))
import sources  # noqa: E402

# Attributes by which a page loads something; links that a reader follows may lead elsewhere.
LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("object", "data")}
SEEN = ("index.html", "install.html", "faq.html", "semantics.html", "performance.html", "reference/python/oriel.html")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of a site that was built for these tests."""
    if shutil.which("doxygen") is None:
        pytest.skip("NOT CHECKED: there is no doxygen, so the documentation site was not built")
    for module in ("oriel", "sphinx", "myst_parser", "pydata_sphinx_theme", "numpydoc", "breathe", "sphinx_design"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"NOT CHECKED: there is no {module}, so the documentation site was not built")
    if not Path(os.environ.get("ORIEL_PORTRAIT", "")).is_file():
        pytest.skip("NOT CHECKED: this build has no oriel-portrait, so the documentation site was not built")
    out = Path(os.environ.get("ORIEL_BUILD", tmp_path_factory.mktemp("site"))) / "site"
    result = subprocess.run(["sh", str(ROOT / "scripts" / "site.sh"), str(out)], cwd=ROOT, capture_output=True, text=True,
                            env={**os.environ, "PYTHON": sys.executable})
    assert result.returncode == 0, result.stderr
    return out


class Page(HTMLParser):
    """A page's anchors, the addresses of its links, and what it loads by itself."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(filter(None, (attributes.get("id"), attributes.get("name") if tag == "a" else None)))
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        loads = [attributes.get(name) for kind, name in LOADS if kind == tag]
        if tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "preload", "preconnect", "dns-prefetch"):
            loads.append(attributes.get("href"))
        self.loads += filter(None, loads)


@pytest.fixture(scope="session")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def is_outside(address):
    return re.match(r"([a-z][a-z0-9+.-]*:)?//|mailto:", address) is not None


def test_links_lead_somewhere(pages):
    assert len(pages) > 150
    wrong, followed = [], 0
    for path, page in pages.items():
        for address in [*page.links, *page.loads]:
            if is_outside(address) or address.startswith("data:"):
                continue
            name, _, anchor = address.partition("#")
            target = (path.parent / unquote(name.partition("?")[0])).resolve() if name else path
            followed += 1
            if not target.is_file() or (anchor and target in pages and unquote(anchor) not in pages[target].anchors):
                wrong.append(f"{path.name}: {address}")
    assert followed > 10000
    assert not wrong, "\n".join(sorted(set(wrong))[:40])


def test_nothing_is_loaded_from_other_hosts(pages, site):
    loads = {f"{path.name}: {address}" for path, page in pages.items() for address in page.loads if is_outside(address)}
    assert not loads, loads
    styles = {f"{path.name}: {address}" for path in site.rglob("*.css")
              for address in re.findall(r"(?:url\(|@import )[\"']?([^\"')\s]+)", path.read_text(encoding="utf-8")) if is_outside(address)}
    assert not styles, styles


@pytest.mark.parametrize("module", sorted(sources.MODULES))
def test_every_public_python_name_has_an_entry(pages, site, module):
    os.environ.setdefault("KERAS_BACKEND", "torch")
    names = sources.public_names(importlib.import_module(module))
    assert names
    missing = []
    for name in names:
        page = pages.get(site / "reference" / "python" / "generated" / f"{module}.{name}.html")
        if page is None or f"{module}.{name}" not in page.anchors:
            missing.append(name)
    assert not missing, missing


def test_every_public_function_of_cpp_has_an_entry(site):
    page = re.sub(r"<[^>]+>", "", (site / "reference" / "cpp.html").read_text(encoding="utf-8"))
    declared = set()
    for headers in sources.CPP_HEADERS.values():
        for header in headers:
            text = (ROOT / "include" / "oriel" / header).read_text(encoding="utf-8")
            declared |= set(re.findall(r"^ORIEL_API [\w:<>,&* ]+?[ &*](\w+)\(", text, re.MULTILINE))
    assert {"forward", "backward", "unpool", "output_shape"} <= declared
    missing = sorted(name for name in declared if not re.search(rf"\b{name}\b\(", page))
    assert not missing, missing


def test_every_public_header_is_in_the_reference():
    listed = {header for headers in sources.CPP_HEADERS.values() for header in headers} | {"c.h"}
    found = {path.relative_to(ROOT / "include" / "oriel").as_posix() for path in (ROOT / "include" / "oriel").rglob("*.h")}
    assert {header for header in found if not header.startswith("tile/")} == listed  # docs/tile.md describes the tile language


def test_every_subcommand_has_its_help(site):
    page = (site / "reference" / "command.html").read_text(encoding="utf-8")
    for heading in ("oriel pool", "oriel explain", "oriel check", "oriel bench", "oriel info", "oriel-portrait image", "oriel-portrait video"):
        assert f">{heading}<" in page, heading


def test_a_link_to_nowhere_stops_the_build(site, tmp_path):
    """The check that warnings are errors: the same configuration refuses a page with a wrong link."""
    (tmp_path / "index.md").write_text("# A page\n\n[nowhere](nowhere.md)\n")
    shutil.copytree(ROOT / "docs" / "_static", tmp_path / "_static")
    result = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "-c", str(ROOT / "docs"), str(tmp_path), str(tmp_path / "out")],
                            capture_output=True, text=True, env={**os.environ, "ORIEL_SITE_ROOT": str(ROOT), "ORIEL_SITE_XML": str(tmp_path)})
    assert result.returncode != 0 and "nowhere.md" in result.stderr, result.stderr


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_in_a_browser(site, width, scheme):
    """No page is wider than the window, asks another host, or has an error in its console; pictures are kept beside the site."""
    chromium = shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        pytest.skip("NOT CHECKED: there is no chromium or no playwright")
    from playwright.sync_api import sync_playwright

    shots = site.parent / "site-shots"
    shots.mkdir(exist_ok=True)
    wrong = []
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(("file:", "data:")) else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        for name in SEEN:
            page.goto((site / name).as_uri())
            page.wait_for_timeout(200)
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                wrong.append(f"{name}: {wide} pixels wide in a window of {width}")
            background = page.evaluate("getComputedStyle(document.body).backgroundColor")
            dark = sum(map(int, re.findall(r"\d+", background)[:3])) < 3 * 128
            if dark != (scheme == "dark"):
                wrong.append(f"{name}: {background} with a {scheme} colour scheme")
            page.screenshot(path=shots / f"{name.replace('/', '-').removesuffix('.html')}-{scheme}-{width}.png")
        browser.close()
    assert not wrong, "\n".join(wrong)
