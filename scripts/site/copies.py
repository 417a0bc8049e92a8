"""Puts the pages as Markdown beside those of the built site, and llms.txt, a list of them. Usage: copies.py PAGES SITE.

PAGES is the folder that sources.py prepared, SITE what Sphinx made of it. Generated pages of the reference have no Markdown.
"""

import html
import posixpath
import re
import shutil
import sys
from pathlib import Path

TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEAD = """# Oriel

> Pooling (maximum, minimum, mean, sum and Lp norm over sliding windows, forward and backward) of arrays of any rank, layout and numeric
> type, with bit-identical results in NumPy, PyTorch, JAX, Keras, ONNX, C++, C and on the command line.

Each page has a copy in Markdown beside it: `semantics.html` and `semantics.md`.
"""


def entries(text):
    """(title or "", target) of each entry of the toctrees in a page."""
    for block in TOCTREE.findall(text):
        for line in block.splitlines():
            if line and not line.startswith(":"):
                title, _, target = line.strip().rstrip(">").rpartition("<")
                yield title.strip(), target


def heading(text, otherwise):
    """The first heading of a page in Markdown or HTML, without links and tags."""
    found = re.search(r"^# (.*)$|<h1>(.*?)<", text, re.MULTILINE)
    return html.unescape(found[1] or found[2]) if found else otherwise


def listed(pages, site, name, seen):
    """(title, address) of a page and of those below it, each once, in the order of the toctrees. A page without Markdown is HTML."""
    page, built = pages / f"{name}.md", site / f"{name}.html"
    if name in seen or not (page.is_file() or built.is_file()):
        return
    seen.add(name)
    source = page if page.is_file() else built
    text = source.read_text(encoding="utf-8")
    yield heading(text, name), name + source.suffix
    for _, target in entries(text) if source == page else ():
        yield from listed(pages, site, posixpath.normpath(posixpath.join(posixpath.dirname(name), target)), seen)


def main():
    pages, site = Path(sys.argv[1]), Path(sys.argv[2])
    for page in pages.rglob("*.md"):
        shutil.copyfile(page, site / page.relative_to(pages))
    lines, seen = [HEAD], set()
    for section, target in entries((pages / "index.md").read_text(encoding="utf-8")):
        lines += [f"## {section}", ""]
        lines += [f"- [{title}]({address})" for title, address in listed(pages, site, target, seen)]
        lines.append("")
    (site / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
