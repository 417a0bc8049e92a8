"""The pages of Oriel's documentation, installed with the package: Markdown files in this folder.

`python -m oriel.docs` lists them, `python -m oriel.docs semantics` prints a page, `python -m oriel.docs S4` prints a rule.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

__all__ = ["names", "path", "text", "title"]

_FOLDER = Path(__file__).parent
_RULES = "semantics"
_HEADING = re.compile(r"^## (S\d+)\. .*$", re.MULTILINE)


def names() -> list[str]:
    """The names of all pages, in alphabetical order.

    Returns
    -------
    list of str
        Paths in the folder without `.md`: `semantics`, `howto/images`.

    Examples
    --------
    >>> import oriel.docs
    >>> "semantics" in oriel.docs.names()
    True
    """
    return sorted(file.relative_to(_FOLDER).with_suffix("").as_posix() for file in _FOLDER.rglob("*.md"))


def path(name: str | None = None) -> Path:
    """The file of a page.

    Parameters
    ----------
    name : str, optional
        One of `names`, with or without `.md`, or the last part of one if no other ends so; a folder's name for its
        `index`. Without a name: the folder of all pages.

    Returns
    -------
    pathlib.Path
        Of a file, or a folder, that exists.

    Raises
    ------
    ValueError
        For an unknown name; the text lists the names that exist.
    FileNotFoundError
        If the package was installed without its pages.

    Examples
    --------
    >>> import oriel.docs
    >>> oriel.docs.path("semantics").name
    'semantics.md'
    """
    if name is None:
        return _FOLDER
    known = names()
    if not known:
        raise FileNotFoundError(f"oriel.docs: this package was installed without its pages: {_FOLDER} has none")
    wanted = name.removesuffix(".md").strip("/")
    for page in (wanted, f"{wanted}/index"):
        if page in known:
            return _FOLDER / f"{page}.md"
    ends = [page for page in known if page.rsplit("/", 1)[-1] == wanted]
    if len(ends) == 1:
        return _FOLDER / f"{ends[0]}.md"
    near = ends or difflib.get_close_matches(wanted, [*known, *(page.rsplit("/", 1)[-1] for page in known)], 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(
        f"oriel.docs: name must be a page or a rule, but is {name!r}{hint}; pages: {', '.join(known)}; "
        f"rules: {', '.join(_rules())}"
    )


def text(name: str) -> str:
    """A page, or one rule of the page `semantics`, as Markdown.

    Parameters
    ----------
    name : str
        As for `path`, or the number of a rule, such as `"S4"`.

    Returns
    -------
    str
        The text; a rule is its section.

    Raises
    ------
    ValueError, FileNotFoundError
        As `path`.

    Examples
    --------
    >>> import oriel.docs
    >>> print(oriel.docs.text("S4").splitlines()[0])
    ## S4. Ties
    """
    return _rules().get(name.upper()) or path(name).read_text(encoding="utf-8")


def title(name: str) -> str:
    """The title of a page: its first heading.

    Parameters
    ----------
    name : str
        As for `path`.

    Returns
    -------
    str
        Without the mark of the heading.

    Raises
    ------
    ValueError, FileNotFoundError
        As `path`.

    Examples
    --------
    >>> import oriel.docs
    >>> oriel.docs.title("semantics")
    'What Oriel computes'
    """
    found = re.search(r"^# (.*)$", path(name).read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else name


def _rules() -> dict[str, str]:
    """The section of each rule, by its number."""
    file = _FOLDER / f"{_RULES}.md"
    if not file.is_file():
        return {}
    sections = re.split(r"^(?=## )", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {found[1]: section.rstrip() + "\n" for section in sections if (found := _HEADING.match(section))}
