"""A filter for Doxygen: prints a public header with its comments in the forms that Doxygen reads. Usage: header_comments.py FILE.

The headers have short forms of their own: a comment before a declaration of c.h, a comment behind a member, an indented table or
program in a comment. What is written does not change.
"""

import re
import sys
from pathlib import Path

MEMBER = re.compile(r"^(  [^/]*[;,{}] +)// ([^/].*)$", re.MULTILINE)  # `int pooled = 0;  // number of pooled axes`
C_MEMBER = re.compile(r"^(  [^/\n]*[;,0-9] +)/\* ")  # `void* data;  /* element (0, 0, ...) */`
INDENTED = re.compile(r"^ *///   +\S")
PAGE = re.compile(r"\b([a-z]+)\.md in share/doc/oriel")


def of_c(text):
    """c.h: its comments in C's own form become ones of Doxygen; the first one describes the file."""
    text = text.replace("/* ", "/** \\file\n * ", 1)
    lines = []
    for line in text.split("\n"):
        line = C_MEMBER.sub(r"\1/**< ", line)
        lines.append(re.sub(r"^( *)/\* ", r"\1/** ", line))
    return "\n".join(lines)


def of_cpp(text):
    """Other headers: comments behind members, and indented lines, which are shown as they are."""
    text = re.sub(r"template <[^>]*(?:\.\.\.)?[^>]*>\nstruct std::tuple_\w+<.*?\};?\n", "", text, flags=re.DOTALL)
    lines, shown, in_list = [], False, False
    for line in MEMBER.sub(r"\1///< \2", text).split("\n"):
        in_list = line.lstrip().startswith("///") and (in_list or re.match(r" */// - ", line) is not None)
        indented = INDENTED.match(line) is not None and not in_list
        if indented != shown:
            lines.append("/// @endverbatim" if shown else "/// @verbatim")
        shown = indented
        if line.lstrip().startswith("///") and not indented:
            line = re.sub(r"<(?=[A-Za-z])(?!/)(?<!///<)", r"\\<", line)
        lines.append(line)
    return "\n".join(lines)


def prepared(path):
    text = Path(path).read_text(encoding="utf-8")
    text = of_c(text) if Path(path).name == "c.h" else of_cpp(text)
    return PAGE.sub(r"@verbatim embed:rst:inline :doc:`/\1` @endverbatim", text)


if __name__ == "__main__":
    print(prepared(sys.argv[1]), end="")
