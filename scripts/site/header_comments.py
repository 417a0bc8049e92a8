"""A filter for Doxygen: prints a public header with its comments in the forms that Doxygen reads. Usage: header_comments.py FILE.

The headers are written for readers: a comment before a declaration of c.h or behind a member is an ordinary one, a comment may hold
an indented table or program, and may be for the functions on the next lines, too. What is said does not change.
"""

import re
import sys
from pathlib import Path

MEMBER = re.compile(r"^(  (?!return)[^\s/][^/\n]*[;,{}] +)// ([^/].*)$", re.MULTILINE)  # `int pooled = 0;  // number of pooled axes`
C_MEMBER = re.compile(r"^(  [^/\n]*[;,0-9] +)/\* ")  # `void* data;  /* element (0, 0, ...) */`
TUPLES = re.compile(r"^template <[^\n]*\nstruct std::tuple_[^\n]*\{(?:\};|\n.*?^\};)\n", re.MULTILINE | re.DOTALL)  # Doxygen loses its way
BLOCK = re.compile(r"(?:^ *///(?!<).*\n)+", re.MULTILINE)
OPENS = re.compile(r"^\s*(class|struct|enum|namespace|extern)\b[^;]*\{$")
PAGE = re.compile(r" \((\w+)\.md in share/doc/oriel\)| (\w+)\.md in share/doc/oriel")


def of_c(text):
    """c.h: its comments become ones of Doxygen; the first one describes the file."""
    lines = [re.sub(r"^( *)/\* ", r"\1/** ", C_MEMBER.sub(r"\1/**< ", line)) for line in text.split("\n")]
    lines[0] = lines[0].replace("/** ", "/** \\file\n * ")
    return "\n".join(lines)


def block(match):
    """A block of `///`: as `/** … */`, if it has indented lines, which are shown as they are. `T<X>` is no tag of HTML."""
    lines = [re.sub(r"^ */// ?", "", line) for line in match[0].splitlines()]
    shown, in_list, out = False, False, []
    for line in lines:
        in_list = line != "" and (in_list or line.startswith("- "))
        indented = line.startswith("  ") and not in_list
        out += ["@verbatim" if indented else "@endverbatim"] * (indented != shown)
        shown = indented
        out.append(line[2:] if shown else re.sub(r"<(?=[A-Za-z])", r"\\<", line))
    out += ["@endverbatim"] * shown
    if "@verbatim" in out:
        return "\n".join(["/**", *out, "*/", ""])
    indent = re.match(r" *", match[0])[0]
    return "".join(f"{indent}/// {line}\n" for line in out)


def function_of(line):
    """The name of the function or macro that a line declares, or ""."""
    found = re.match(r"#define (\w+)|[^(=]*?([\w~]+)\(", line.strip())
    return (found[1] or found[2]) if found else ""


def repeated(text, only_overloads):
    """The text with the comment of a function before those on the next lines, too, if they have none (and the same name)."""
    out, comment, name, fresh, inside, declaration = [], [], "", False, False, ""
    for line in text.split("\n"):
        words = line.strip()
        if inside or re.match(r"(/\*\*|///)(?!<)", words):
            comment = [*comment, line] if inside or (fresh and words.startswith("///")) else [line]
            fresh, inside = True, (inside or words.startswith("/**")) and "*/" not in words
        elif not declaration and (not words or OPENS.match(line) or re.match(r"([}/]|\w+:$|#(?!define))", words)):
            comment, fresh = [], False
        else:
            if not declaration and not fresh and comment and function_of(line) and (not only_overloads or function_of(line) == name):
                out += comment
            if not declaration:
                name = function_of(line)
            fresh, declaration = False, declaration + line
            is_macro = declaration.startswith("#define")
            opened = sum(declaration.count(c) for c in "({") - sum(declaration.count(c) for c in ")}")
            if (is_macro and not words.endswith("\\")) or (not is_macro and opened == 0 and re.search(r"[;}](\s*/[/*].*)?$", words)):
                comment = [] if re.search(r"/(//|\*\*)<", declaration) or not name else comment
                declaration = ""
        out.append(line)
    return "\n".join(out)


def link(match):
    """The name of an installed page as a link. Breathe writes a blank before it; Doxygen ends `///` too late with one."""
    page = match[1] or match[2]
    return f"{',' if match[1] else ' '}\\verbatim embed:rst:inline :doc:`{page}.md </{page}>`\\endverbatim"


def prepared(path):
    """The text of a header, as Doxygen is to read it."""
    text = Path(path).read_text(encoding="utf-8")
    if Path(path).name == "c.h":
        text = repeated(of_c(text), only_overloads=False)
    else:
        text = BLOCK.sub(block, repeated(MEMBER.sub(r"\1///< \2", TUPLES.sub("", text)), only_overloads=True))
    return PAGE.sub(link, text)


if __name__ == "__main__":
    print(prepared(sys.argv[1]), end="")
