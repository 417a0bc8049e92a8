"""`python -m oriel.docs` lists the pages of the documentation; with the name of a page, or the number of a rule, it prints that."""

import argparse
import os
import sys

from oriel import docs


def show(names: list[str]) -> None:
    """Prints the pages and rules of these names, or without one the list of all pages."""
    for name in names:
        print(docs.text(name), end="")
    if not names:
        known = docs.names()
        width = max(map(len, known), default=0)
        for name in known:
            print(f"{name:{width}}  {docs.title(name)}")
        print(f"\nThe files are in {docs.path()}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m oriel.docs", description="Print pages of Oriel's documentation.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="page, such as semantics, or rule, such as S4; without one: list the pages")
    arguments = parser.parse_args()
    try:
        show(arguments.names)
        sys.stdout.flush()
    except (ValueError, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has seen enough: `python -m oriel.docs | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
