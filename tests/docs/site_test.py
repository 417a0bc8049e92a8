"""The documentation site builds without a warning, is complete, asks nothing of other hosts, and its links lead somewhere.

ORIEL_SITE may name a site that scripts/site.sh has built; otherwise one is built here.
"""

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "site"))
import copies  # noqa: E402
import reference_cpp  # noqa: E402
import reference_python  # noqa: E402

# Attributes by which a page loads something; links that a reader follows may lead elsewhere.
LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("object", "data")}
SEEN = ("index.html", "start/python.html", "learn/window.html", "semantics.html", "gallery/index.html", "reference/python/oriel.html")
SECTIONS = ["Start", "Learn", "How to", "Explanation", "Reference", "Gallery", "Performance", "FAQ", "Developers"]
# Marks of Markdown and reStructuredText that a page shows only if they were not understood.
MARKS = re.compile(r".{0,30}(?:\]\(|:::|```|\{\w+\}`|:\w+:`|``|\[\[|^#+ |<!--).{0,30}", re.MULTILINE)
SHOWN_AS_IT_IS = ("pre", "code", "script", "style", "textarea", "dt")  # code, and signatures
OF_GALLERY = {"sg-tag-list"}  # sphinx-gallery writes this identifier for every part of the gallery


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of a site that was built for these tests."""
    if "ORIEL_SITE" in os.environ:
        return Path(os.environ["ORIEL_SITE"])
    if shutil.which("doxygen") is None:
        pytest.skip("NOT CHECKED: there is no doxygen, so the documentation site was not built")
    for module in ("oriel", "sphinx", "myst_parser", "pydata_sphinx_theme", "numpydoc", "breathe", "sphinx_design", "sphinx_gallery"):
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
    """What a page has: identifiers, addresses of links, what it loads by itself, headings, images without text, its words."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads, self.headings, self.silent, self.words = [], [], [], 0, [], []
        self.open, self.thumbnails = [], 0
        self.feed(path.read_text(encoding="utf-8"))
        self.anchors = set(self.ids)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids += filter(None, [attributes.get("id")])
        if tag == "a":
            self.ids += filter(None, [attributes.get("name")])
            self.links += filter(None, [attributes.get("href")])
        loads = [attributes.get(name) for kind, name in LOADS if kind == tag]
        if tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "preload", "preconnect", "dns-prefetch"):
            loads.append(attributes.get("href"))
        self.loads += filter(None, loads)
        self.headings += tag == "h1"
        if tag == "img" and not (attributes.get("alt") or "thumb.png" in attributes.get("src", "")):  # a title is beside a thumbnail
            self.silent.append(attributes.get("src"))
        if tag in SHOWN_AS_IT_IS:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, data):
        if not self.open:
            self.words.append(data)


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


@pytest.mark.parametrize("module", sorted(reference_python.MODULES))
def test_every_public_python_name_has_an_entry(pages, site, module):
    folder = site / "reference" / "python"
    names = reference_python.public_names(importlib.import_module(module))
    others = reference_python.aliases(importlib.import_module(module))
    assert names and f"{module}.html" in {path.name for path in folder.iterdir()}
    missing = []
    for name in names:
        page = pages.get(folder / f"{module}.html" if name in others else folder / "generated" / f"{module}.{name}.html")
        if page is None or f"{module}.{name}" not in page.anchors:
            missing.append(name)
    assert not missing, missing


def test_every_public_function_of_cpp_has_an_entry(site):
    missing, declared = [], set()
    for header in (header for headers in reference_cpp.HEADERS.values() for header in headers):
        page = (site / "reference" / "cpp" / f"{reference_cpp.page_name(header)}.html").read_text(encoding="utf-8")
        text = (ROOT / "include" / "oriel" / header).read_text(encoding="utf-8")
        text = re.sub(r"namespace detail \{(?:.*?\}  // namespace detail|[^}]*\})", "", text, flags=re.DOTALL)
        here = set(re.findall(r"^ORIEL_API [\w:<>,&* ]+?[ &*](\w+)\(", text, re.MULTILINE))
        missing += [f"{header}: {name}" for name in here if not re.search(rf"\b{name}\b\(", re.sub(r"<[^>]+>", "", page))]
        declared |= here
    assert {"forward", "backward", "unpool", "output_shape", "parse_problem", "emit_nki"} <= declared
    assert not missing, missing


def test_every_name_of_the_c_interface_has_an_entry(pages, site):
    text = (ROOT / "include" / "oriel" / "c.h").read_text(encoding="utf-8")
    names = set(re.findall(r"\b(oriel_\w+)\(", text.partition("oriel_problem_parse")[1] + text.partition("oriel_problem_parse")[2]))
    names |= set(re.findall(r"^typedef struct (oriel_\w+) \{", text, re.MULTILINE))
    names |= set(re.findall(r"\b(ORIEL_\w+) = \d", text)) | {"ORIEL_C_ABI", "ORIEL_MAX_RANK", "ORIEL_POOL_INIT"}
    assert len(names) > 70
    anchors = pages[site / "reference" / "c.html"].anchors
    missing = sorted(name for name in names if f"c.{name}" not in anchors and not any(each.endswith(f".{name}") for each in anchors))
    assert not missing, missing


def test_every_public_header_is_in_the_reference():
    listed = {header for headers in reference_cpp.HEADERS.values() for header in headers} | {"c.h"}
    assert {path.relative_to(ROOT / "include" / "oriel").as_posix() for path in (ROOT / "include" / "oriel").rglob("*.h")} == listed


def test_entries_say_something(site):
    """Summaries of Doxygen's entries are sentences of the headers, not what a comment's marks left."""
    for path in (site / "reference" / "cpp").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert "///" not in text and "GivenByName" not in text and "detail::" not in text, path.name


def test_every_subcommand_has_its_help(site):
    page = (site / "reference" / "command.html").read_text(encoding="utf-8")
    for heading in ("oriel pool", "oriel explain", "oriel check", "oriel bench", "oriel info", "oriel-portrait image", "oriel-portrait video"):
        assert f">{heading}<" in page, heading


def test_the_navigation_has_the_sections(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    bar = text.partition('class="bd-navbar-elements')[2].partition("</nav>")[0]
    found = [re.sub(r"\s+", " ", words).strip() for words in re.findall(r'<a class="(?:nav-link|nav-link dropdown-item)[^"]*"[^>]*>(.*?)</a>', bar, re.DOTALL)]
    assert found == SECTIONS


def toctree_entries():
    """(page, target) of every entry of a toctree in docs/, as paths of the site."""
    for page in (ROOT / "docs").rglob("*.md"):
        for _, target in copies.entries(page.read_text(encoding="utf-8")):
            yield page, os.path.normpath((page.relative_to(ROOT / "docs")).parent / target)


def test_every_page_is_in_one_toctree():
    counts = Counter(target for _, target in toctree_entries())
    twice = [target for target, count in counts.items() if count > 1]
    assert not twice, twice
    pages = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")} - {"index"}
    assert not sorted(pages - set(counts))


def test_pages_have_one_title_and_identifiers_once(pages):
    wrong = [f"{path.name}: {page.headings} h1" for path, page in pages.items() if page.headings != 1]
    for path, page in pages.items():
        wrong += [f"{path.name}: {name} {count} times" for name, count in Counter(page.ids).items() if count > 1 and name not in OF_GALLERY]
    assert not wrong, "\n".join(wrong)


def test_images_have_a_text(pages):
    wrong = [f"{path.name}: {address}" for path, page in pages.items() for address in page.silent]
    assert not wrong, "\n".join(wrong)


def test_no_page_shows_marks_of_its_source(pages):
    wrong = [f"{path.name}: {found}" for path, page in pages.items() for found in MARKS.findall("".join(page.words))]
    assert not wrong, "\n".join(wrong[:40])


def test_pages_have_copies_in_markdown(site):
    text = (site / "llms.txt").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    addresses = re.findall(r"\]\(([^)]+)\)", text)
    assert {"semantics.md", "faq.md", "start/python.md", "reference/errors.md", "reference/python/index.html"} <= set(addresses)
    assert not [address for address in addresses if not (site / address).is_file()]


def test_a_link_to_nowhere_stops_the_build(site, tmp_path):
    """The check that warnings are errors: the same configuration refuses a page with a wrong link."""
    (tmp_path / "index.md").write_text("# A page\n\n[nowhere](nowhere.md)\n")
    shutil.copytree(ROOT / "docs" / "_static", tmp_path / "_static")
    result = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "-D", "plot_gallery=0", "-c", str(ROOT / "docs"), str(tmp_path), str(tmp_path / "out")],
                            capture_output=True, text=True, env={**os.environ, "ORIEL_SITE_ROOT": str(ROOT), "ORIEL_SITE_XML": str(tmp_path)})
    assert result.returncode != 0 and "nowhere.md" in result.stderr, result.stderr


@pytest.fixture(scope="module")
def chromium():
    program = shutil.which("chromium")
    if program is None or importlib.util.find_spec("playwright") is None:
        pytest.skip("NOT CHECKED: there is no chromium or no playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def watched(page):
    """A list that gets what a page asks of other hosts, and its errors."""
    wrong = []
    page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(("file:", "data:", "blob:")) else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    return wrong


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_in_a_browser(site, chromium, width, scheme):
    """No page is wider than the window, asks another host, or has an error; pictures are kept beside the site."""
    shots = site.parent / "site-shots"
    shots.mkdir(exist_ok=True)
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    wrong = watched(page)
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
    page.close()
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("words, wanted", [("ceil mode", "faq.html"), ("divisor", "semantics.html"), ("replace_pooling", "oriel.torch.replace_pooling.html")])
def test_search_from_a_file(site, chromium, words, wanted):
    page = chromium.new_page()
    wrong = watched(page)
    page.goto(f"{(site / 'search.html').as_uri()}?q={words.replace(' ', '+')}")
    page.wait_for_function("/found \\d+ pages?/.test(document.body.textContent)", timeout=60000)
    found = [link.get_attribute("href") for link in page.query_selector_all("#search-results li a")]
    page.close()
    assert any(address.split("#")[0].endswith(wanted) for address in found), found
    assert not wrong, wrong
