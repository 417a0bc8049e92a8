"""Prepares the pages of the documentation site: those of docs/, the project's pages, and the generated reference.

Usage: sources.py FOLDER XML ORIEL PORTRAIT. FOLDER is replaced; XML is what Doxygen wrote, ORIEL and PORTRAIT are the programs whose
help becomes pages. What GitHub shows and Sphinx does not is changed: links to files that are not pages become their paths, pictures with a dark
variant two images, kinds of blocks that only tests know plain text.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from reference_cpp import INCLUDE, c_page, cpp_pages, entries, page_name
from reference_python import python_pages

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PROJECT_PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
FENCES = {"output": "text", "pool": "text", "octave": "matlab"}
# Pages that docs/ does not have: the words of their rows in docs/reference/index.md, which become links.
GENERATED = {"Python": "python/index.rst", "C++": "cpp/index.rst", "C": "c.rst", "The commands": "command.md"}
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
PICTURE = re.compile(r"<picture>\s*<source[^>]*srcset=\"(?P<dark>[^\"]+)\">\s*<img alt=\"(?P<alt>[^\"]*)\" src=\"(?P<light>[^\"]+)\">\s*</picture>")


def site_path(path):
    """Where a file of the project is in the site's sources, or its page of the reference is; None if the site does not have it."""
    if path == ROOT / "README.md":
        return Path("index.md")
    if path.parent == ROOT and path.name in PROJECT_PAGES:
        return Path("project") / path.name
    if path.is_file() and path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
    if path.is_relative_to(INCLUDE) and path.suffix == ".h":
        header = path.relative_to(INCLUDE).as_posix()
        return Path("reference") / ("c.rst" if header == "c.h" else f"cpp/{page_name(header)}.rst")
    return None


def prepared(text, source, target):
    """The text of the page `source` (a file) as it stands at `target` (a path in the site)."""

    def link(match):
        words, address = match.groups()
        if re.match(r"[a-z]+:", address) or address.startswith("#"):
            return match[0]
        name, _, anchor = address.partition("#")
        path = (source.parent / name).resolve()
        found = site_path(path)
        if found is None:
            shown = path.relative_to(ROOT).as_posix()
            return words if shown.rsplit("/", 1)[-1] in words else f"{words} (`{shown}`)"
        anchor = "" if path == ROOT / "README.md" else anchor  # the site begins with a page of its own
        return f"[{words}]({os.path.relpath(found, target.parent)}{'#' if anchor else ''}{anchor})"

    def picture(match):
        images = ((match["light"], "only-light"), (match["dark"], "only-dark"))
        return "\n".join(f"```{{image}} {os.path.relpath(site_path((source.parent / file).resolve()), target.parent)}\n"
                         f":alt: {match['alt']}\n:class: {kind}\n```" for file, kind in images)

    text = PICTURE.sub(picture, text)
    pieces = re.split(r"^(```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    for i in range(0, len(pieces), 2):
        pieces[i] = LINK.sub(link, pieces[i])
    for i in range(1, len(pieces), 2):
        kind = re.match(r"```(\w*)", pieces[i])[1]
        pieces[i] = f"```{FENCES.get(kind, kind)}" + pieces[i][3 + len(kind):]
    return "".join(pieces)


def write(folder, path, text):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text, encoding="utf-8")


def write_pages(folder):
    pages = [*DOCS.rglob("*.md"), *(ROOT / name for name in PROJECT_PAGES)]
    for page in pages:
        target = site_path(page)
        text = prepared(page.read_text(encoding="utf-8"), page, target)
        if page == DOCS / "reference" / "index.md":
            for words, address in GENERATED.items():
                text = text.replace(f"| {words} |", f"| [{words}]({address}) |")
        write(folder, target, text)
    for path in DOCS.rglob("*"):
        if path.is_file() and path.suffix != ".md":
            (folder / path.relative_to(DOCS)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / path.relative_to(DOCS))


def help_of(program, *words):
    result = subprocess.run([program, *words, "--help"], capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"})
    if result.returncode != 0:
        sys.exit(f"sources.py: {program} {' '.join(words)} --help ended with {result.returncode}: {result.stderr}")
    return result.stdout.rstrip()


def subcommands(text):
    """The words under `Subcommands:` in a help text."""
    part = text.partition("Subcommands:")[2]
    return re.findall(r"^  ([\w-]+)", part.split("\n\n")[0], re.MULTILINE)


def write_command(folder, programs):
    lines = ["# The commands", "", "What `--help` prints. The guides are [the command](../command.md) and [portraits](../portrait.md).", ""]
    for program in programs:
        name = Path(program).name
        text = help_of(program)
        lines += [f"## {name}", "", "```text", text, "```", ""]
        for word in subcommands(text):
            lines += [f"### {name} {word}", "", "```text", help_of(program, word), "```", ""]
    write(folder, "reference/command.md", "\n".join(lines))


def main():
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_pages(folder)
    found = entries(sys.argv[2])
    for name, text in {**python_pages(), **cpp_pages(found), "c": c_page(found)}.items():
        write(folder, f"reference/{name}.rst", text)
    write_command(folder, sys.argv[3:])


if __name__ == "__main__":
    main()
