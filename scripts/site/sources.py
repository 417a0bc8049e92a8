"""Prepares the pages of the documentation site: those of docs/, the project's pages, and the generated reference.

Usage: sources.py FOLDER ORIEL PORTRAIT. FOLDER is replaced; ORIEL and PORTRAIT are the programs whose help becomes pages.
What GitHub shows and Sphinx does not is changed: links to files that are not pages become their paths, pictures with a dark
variant two images, kinds of blocks that only tests know plain text.
"""

import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PROJECT_PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
MODULES = {
    "oriel": "Arrays",
    "oriel.torch": "PyTorch",
    "oriel.jax": "JAX",
    "oriel.keras": "Keras",
    "oriel.onnx": "ONNX",
    "oriel.mpi": "Distributed tensors over MPI",
    "oriel.tile": "Kernels for tile accelerators",
    "oriel.threadpool": "Threads: threadpoolctl",
}
CPP_HEADERS = {
    "Calls": ["pool.h", "problem.h", "reduce.h", "executor.h"],
    "Tensors and types": ["tensor.h", "types.h", "window.h", "version.h"],
    "Distributed tensors": ["distributed.h", "distributed/local_pool.h", "distributed/transport.h", "distributed/mpi.h"],
    "Networks": ["nn/unet.h", "nn/weights.h"],
}
FENCES = {"output": "text", "pool": "text", "octave": "matlab"}
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
PICTURE = re.compile(r"<picture>\s*<source[^>]*srcset=\"(?P<dark>[^\"]+)\">\s*<img alt=\"(?P<alt>[^\"]*)\" src=\"(?P<light>[^\"]+)\">\s*</picture>")


def site_path(path):
    """Where a file of the project lies in the site's sources, or None if it is no page or image of it."""
    if path == ROOT / "README.md":
        return Path("index.md")
    if path.parent == ROOT and path.name in PROJECT_PAGES:
        return Path("project") / path.name
    if path.is_file() and path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
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
        write(folder, target, prepared(page.read_text(encoding="utf-8"), page, target))
    for path in DOCS.rglob("*"):
        if path.is_file() and path.suffix != ".md":
            (folder / path.relative_to(DOCS)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / path.relative_to(DOCS))


def public_names(module):
    """The names of a module's interface, functions and classes, in the order of its __all__."""
    return [name for name in module.__all__ if inspect.isclass(getattr(module, name)) or callable(getattr(module, name))]


def write_python(folder):
    os.environ.setdefault("KERAS_BACKEND", "torch")
    title = "Python"
    index = [title, "=" * len(title), "", "Every public name, by module. The guide is :doc:`/python`.", "", ".. toctree::", ""]
    for name, words in MODULES.items():
        module = importlib.import_module(name)
        index.append(f"   {name}")
        heading = f"{name}: {words}"
        lines = [heading, "=" * len(heading), "", f".. currentmodule:: {name}", "", ".. autosummary::", "   :toctree: generated/", ""]
        write(folder, f"reference/python/{name}.rst", "\n".join([*lines, *(f"   {each}" for each in public_names(module)), ""]))
    write(folder, "reference/python/index.rst", "\n".join([*index, ""]))


def write_cpp(folder):
    lines = ["C++", "===", "", "Every public header, as its comments describe it. The guide is :doc:`/cpp`; the tile language has :doc:`/tile`.", ""]
    for words, headers in CPP_HEADERS.items():
        lines += [words, "-" * len(words), ""]
        for header in headers:
            title = f"oriel/{header}"
            lines += [title, "~" * len(title), "", f".. doxygenfile:: {Path(header).name}", ""]
    write(folder, "reference/cpp.rst", "\n".join(lines))
    text = ["C", "=", "", "The C interface, ``oriel/c.h``. The guide is :doc:`/c`.", "", ".. literalinclude:: c.h", "   :language: c", ""]
    write(folder, "reference/c.rst", "\n".join(text))
    shutil.copyfile(ROOT / "include/oriel/c.h", folder / "reference/c.h")


def help_of(program, *words):
    result = subprocess.run([program, *words, "--help"], capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"})
    if result.returncode != 0:
        sys.exit(f"sources.py: {program} {' '.join(words)} --help ended with {result.returncode}: {result.stderr}")
    return result.stdout.rstrip()


def subcommands(text):
    """The words under `Subcommands:` in a help text."""
    part = text.partition("Subcommands:")[2]
    return re.findall(r"^  (\w+)", part.split("\n\n")[0], re.MULTILINE)


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
    write_python(folder)
    write_cpp(folder)
    write_command(folder, sys.argv[2:])


if __name__ == "__main__":
    main()
