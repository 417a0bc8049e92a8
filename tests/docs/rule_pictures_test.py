"""Pictures of the rules: they are what scripts/site/rule_pictures.py draws, say what they show, and nothing leaves its card.

The numbers are those of docs/semantics.md, which docs_semantics compares with the engine; the windows are those of `oriel explain`.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts" / "site"
IMAGES = ROOT / "docs" / "images"
ORIEL = os.environ.get("ORIEL_COMMAND", str(Path(os.environ.get("ORIEL_BUILD", ROOT / "build")).resolve() / "bin" / "oriel"))
PAGES = {"rules": ["docs/semantics.md", "docs/explain/indices.md"], "explain": ["docs/explain/how-it-is-fast.md"]}
sys.path.insert(0, str(SCRIPTS))
import card  # noqa: E402
import rule_pictures  # noqa: E402

PICTURES = sorted(rule_pictures.PICTURES)
SVG = "{http://www.w3.org/2000/svg}"


def needs_command():
    if not Path(ORIEL).is_file():
        pytest.skip("NOT CHECKED: there is no command oriel, so the pictures were not drawn again")


def run(*arguments):
    return subprocess.run([sys.executable, str(SCRIPTS / "rule_pictures.py"), ORIEL, *arguments], capture_output=True, text=True)


def test_pictures_of_the_lessons_are_up_to_date():
    """scripts/site/learn_pictures.py draws them with the programs of the pages."""
    for module in ("oriel", "skimage", "matplotlib", "PIL"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"NOT CHECKED: there is no {module}, so the pictures of docs/learn were not drawn again")
    result = subprocess.run([sys.executable, str(SCRIPTS / "learn_pictures.py"), "--check"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_pictures_are_up_to_date():
    needs_command()
    result = run("--check")
    assert result.returncode == 0, f"draw them again with scripts/site/rule_pictures.py:\n{result.stdout}{result.stderr}"


def test_another_number_on_the_page_is_another_picture(tmp_path):
    """The check can fail: pictures show the page's numbers."""
    needs_command()
    page = tmp_path / "semantics.md"
    page.write_text(rule_pictures.PAGE.read_text(encoding="utf-8").replace("y: 3 5 6\n", "y: 3 5 7\n", 1), encoding="utf-8")
    drawn = rule_pictures.drawn(ORIEL, page)
    changed = [path for path in PICTURES if drawn[path] != (IMAGES / path).read_text(encoding="utf-8")]
    assert changed == ["rules/S1.svg"]


def test_no_other_pictures_are_there():
    found = sorted(path.relative_to(IMAGES).as_posix() for folder in PAGES for path in (IMAGES / folder).iterdir())
    assert found == PICTURES


def test_every_rule_has_its_picture():
    text = rule_pictures.PAGE.read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (S\d+)\. [^\n]*\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL))
    assert len(sections) == 22
    missing = [rule for rule, section in sections.items() if f"](images/rules/{rule}.svg)" not in section]
    assert not missing, missing


@pytest.mark.parametrize("path", PICTURES)
def test_a_page_shows_it_and_says_what_it_shows(path):
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES[path.split("/")[0]]]
    alternatives = [alt for text in texts for alt in re.findall(rf"!\[([^\]]*)\]\([./]*images/{re.escape(path)}\)", text)]
    assert alternatives and all(len(alt) > 40 for alt in alternatives), alternatives


@pytest.mark.parametrize("path", PICTURES)
def test_picture_is_complete_in_itself(path):
    """A title and a description for screen readers, colours of both schemes, and nothing from elsewhere."""
    text = (IMAGES / path).read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img" and root.get("aria-labelledby") == "title desc"
    assert len(root.find(f"{SVG}title").text) > 10 and len(root.find(f"{SVG}desc").text) > 40
    assert root.get("viewBox").split()[2] == str(card.WIDTH)
    assert "@media (prefers-color-scheme: dark)" in text
    assert not re.search(r"href|url\(|@import|<script|<image", text)
    styled = set(re.findall(r"\.(\w+)\{", text))
    used = {element.get("class") for element in root.iter() if element.get("class")}
    assert used <= styled, used - styled


def contrast(a, b):
    """Of two colours such as #ffffff, as WCAG defines it."""

    def luminance(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read(scheme):
    """A contrast of 4.5 between each kind of text and what it stands on."""
    colours = {name: pair[scheme] for name, pair in card.COLOURS.items()}
    pairs = [(colours[colour], colours["card"]) for name, (colour, _, _) in card.TEXTS.items() if name not in ("on", "pale")]
    for shape, (fill, _, _) in card.SHAPES.items():
        if fill and shape not in ("card", "dot", "bluedot", "band", "beyond"):
            inside = card.INSIDE.get(shape, "n")
            pairs.append(("#ffffff" if inside == "on" else colours[card.TEXTS[inside][0]], colours[fill]))
    weak = [(pair, round(contrast(*pair), 1)) for pair in pairs if contrast(*pair) < 4.5]
    assert not weak, weak


def test_no_text_leaves_its_card_or_covers_another():
    """With the fonts of this machine, as a browser measures them."""
    chromium = shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        pytest.skip("NOT CHECKED: there is no chromium or no playwright")
    from playwright.sync_api import sync_playwright

    measure = """() => [...document.querySelectorAll('text')].map(t => {
      const b = t.getBBox(); return [t.textContent, b.x, b.y + 2, b.x + b.width, b.y + b.height - 3]; })"""
    wrong = []
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        for path in PICTURES:
            page.goto((IMAGES / path).as_uri())
            height = float(ElementTree.parse(IMAGES / path).getroot().get("height"))
            boxes = page.evaluate(measure)
            assert boxes, path
            wrong += [f"{path}: {words} leaves the card" for words, left, top, right, bottom in boxes
                      if left < 4 or top < 0 or right > card.WIDTH - 4 or bottom > height]
            for number, (words, left, top, right, bottom) in enumerate(boxes):
                wrong += [f"{path}: {words} covers {other[0]}" for other in boxes[number + 1:]
                          if left < other[3] and other[1] < right and top < other[4] and other[2] < bottom]
        browser.close()
    assert not wrong, "\n".join(wrong)
