"""The reference of C++ and C: a page for each public header, from what Doxygen found in it.

A page has a table of its entries and then each entry, functions before types. Breathe writes the entries; what has no name to ask it
for, the anonymous enumerations of c.h, is written here.
"""

import re
import xml.etree.ElementTree as tree
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "oriel"
HEADERS = {
    "Pools": ["pool.h", "problem.h", "reduce.h", "executor.h"],
    "Resolution pyramids": ["pyramid.h"],
    "Tensors, types and windows": ["tensor.h", "types.h", "window.h", "footprint.h", "version.h"],
    "Distributed tensors": ["distributed.h", "distributed/local_pool.h", "distributed/transport.h", "distributed/mpi.h"],
    "Networks": ["nn/unet.h", "nn/weights.h"],
    "The tile language": [
        "tile/language.h", "tile/isa.h", "tile/jit.h", "tile/array.h", "tile/kernels.h", "tile/machine.h", "tile/emit.h",
        "tile/ir.h", "tile/index.h", "tile/error.h",
    ],
}  # fmt: skip
GUIDES = {"The tile language": "/tile", "Distributed tensors": "/distributed"}
# Doxygen's kind: (heading, Breathe's directive). The order is that of a page.
KINDS = {
    "function": ("Functions", "doxygenfunction"),
    "class": ("Types", "doxygenclass"),
    "struct": ("Types", "doxygenstruct"),
    "concept": ("Types", "doxygenconcept"),
    "enum": ("Types", "doxygenenum"),
    "typedef": ("Types", "doxygentypedef"),
    "variable": ("Constants and macros", "doxygenvariable"),
    "define": ("Constants and macros", "doxygendefine"),
    "numbers": ("Numbers", ""),  # an enumeration without a name, of c.h
}
INTERNAL = re.compile(r"ORIEL_(C_)?API|ORIEL_HD|ORIEL_DTYPE|ORIEL_OP|\w+_H_|.*::detail::.*")
BLOCKS = ("verbatim", "programlisting", "itemizedlist", "parameterlist", "simplesect")
C_ROLES = {"function": "func", "struct": "struct", "typedef": "type", "define": "macro"}


@dataclass
class Entry:
    """A function, type, constant or macro of a header."""

    kind: str
    name: str  # with its namespaces
    arguments: str  # of a function that is overloaded, in whatever header
    line: int
    summary: str
    element: tree.Element

    @property
    def heading(self):
        return KINDS[self.kind][0]


def summary_of(element):
    """The first sentence of what a comment says, as reStructuredText."""
    for part in ("briefdescription", "detaileddescription"):
        paragraph = element.find(f"{part}/para")
        if paragraph is not None and (text := " ".join(text_of(paragraph).split())):
            return first_sentence(text)
    return ""


def first_sentence(text):
    """Of a text; `e.g.` and `.kernel` end none. With a full stop."""
    sentence = re.split(r"(?<=[\w)`\]}|])[.:] (?=[A-Z])", text)[0]
    return sentence.rstrip(".:") + "."


def text_of(element):
    """An element's text as reStructuredText, without blocks."""
    text = escaped(element.text)
    for child in element:
        if child.tag == "computeroutput":
            text += f"``{''.join(child.itertext()).strip()}``"
        elif child.tag == "verbatim" and (child.text or "").startswith("embed:rst:inline"):
            text += child.text.removeprefix("embed:rst:inline").strip()
        elif child.tag not in BLOCKS:
            text += text_of(child)
        text += escaped(child.tail)
    return text


def escaped(text):
    """Without what reStructuredText reads as marks."""
    return re.sub(r"[*|`\\]|_(?=\W|$)", r"\\\g<0>", text or "")


def arguments_of(member):
    """The parameters of a function as Breathe compares them."""
    found = ["".join(kind.itertext()).strip() for kind in member.findall("param/type")]  # a macro's have none
    return f"({', '.join(found)})" + (" const" if member.get("const") == "yes" else "")


def entries(xml):
    """path of a header below include/oriel -> its entries by line."""
    found = {}

    def add(kind, name, element, arguments=""):
        location = element.find("location")
        path = Path(location.get("file")).as_posix().partition("include/oriel/")[2]
        if kind not in KINDS or INTERNAL.fullmatch(name) or "<" in name.partition("operator")[0]:
            return
        found.setdefault(path, []).append(Entry(kind, name, arguments, int(location.get("line")), summary_of(element), element))

    compounds = [tree.parse(file).getroot().find("compounddef") for file in sorted(Path(xml).glob("*.xml")) if file.name[0] != "D"]
    compounds = [compound for compound in compounds if compound is not None]
    types = {compound.findtext("compoundname") for compound in compounds if compound.get("kind") in ("class", "struct")}
    for compound in compounds:
        whole, name = compound.get("kind"), compound.findtext("compoundname")
        if whole in ("class", "struct", "concept") and name.rpartition("::")[0] not in types:
            add(whole, name, compound)
        if whole not in ("namespace", "file"):
            continue
        prefix = f"{name}::" if whole == "namespace" else ""
        for member in compound.iter("memberdef"):
            if prefix + member.findtext("name") in types:
                continue  # `typedef struct x x`, and how template arguments are deduced
            kind = "numbers" if member.findtext("name").startswith("@") else member.get("kind")
            if whole == "namespace" or "c.h" == Path(member.find("location").get("file")).name or member.get("kind") == "define":
                add(kind, prefix + member.findtext("name"), member, arguments_of(member))
    counts = Counter(entry.name for of_header in found.values() for entry in of_header)
    for of_header in found.values():
        of_header.sort(key=lambda entry: entry.line)
        for entry in of_header:
            entry.arguments = entry.arguments if entry.kind == "function" and counts[entry.name] > 1 else ""
    return found


def first_comment(path):
    """What the first lines of a header say of it, as one text."""
    lines = []
    for line in (INCLUDE / path).read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").removeprefix(" "))
    paragraph = "\n".join(lines).split("\n\n")[0].replace("\n", " ")
    return "``".join(words if number % 2 else escaped(words) for number, words in enumerate(paragraph.split("`")))


def directive(entry):
    """The lines that ask Breathe for an entry."""
    lines = [f".. {KINDS[entry.kind][1]}:: {entry.name}{entry.arguments}"]
    if entry.kind in ("class", "struct"):
        lines += ["   :members:", "   :undoc-members:"]
    return [*lines, ""]


def table(rows, titles):
    """A list table of these rows."""
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: auto", ""]
    for row in [titles, *rows]:
        for number, cell in enumerate(row):
            lines.append(f"   {'*' if number == 0 else ' '} - {cell}")
    return [*lines, ""]


def overview(of_header, domain):
    """The table of a page: each name once, and the first sentence of what is said of it."""
    rows = {}
    for entry in of_header:
        if "operator" in entry.name or entry.kind == "numbers":
            continue
        role = "cpp:any" if domain == "cpp" and entry.kind != "define" else f"c:{C_ROLES[entry.kind]}"
        target = f":{role}:`{entry.name.rpartition('::')[2]} <{entry.name}>`"
        rows[target] = rows.get(target) or entry.summary
    return table(rows.items(), ("name", "what"))


def sections(of_header, domain, write_entry):
    """The lines of a page below its introduction."""
    by_heading = {}
    for entry in of_header:
        by_heading.setdefault(entry.heading, []).append(entry)
    headings = [words for words in dict.fromkeys(words for words, _ in KINDS.values()) if words in by_heading]
    lines = overview([entry for heading in headings for entry in by_heading[heading]], domain)
    for heading in headings:
        lines += [heading, "-" * len(heading), ""]
        for entry in by_heading[heading]:
            lines += write_entry(entry)
    return lines


def page_name(header):
    return header.removesuffix(".h").replace("/", "-")


def cpp_page(header, of_header):
    """The page of a C++ header."""
    title = f"oriel/{header}"
    lines = [title, "=" * len(title), "", ".. highlight:: none", "", first_comment(header), ""]
    return "\n".join([*lines, *sections(of_header, "cpp", directive), ""])


def cpp_pages(found):
    """name of a page -> its text, for all C++ headers, and the index."""
    pages, index = {}, ["C++", "===", "", "Every public header. The guide is :doc:`/cpp`.", ""]
    names = []
    for words, headers in HEADERS.items():
        guide = f"The guide is :doc:`{GUIDES[words]}`." if words in GUIDES else ""
        index += [words, "-" * len(words), "", guide, ""]
        rows = [(f":doc:`oriel/{header} <{page_name(header)}>`", first_sentence(first_comment(header))) for header in headers]
        index += table(rows, ("header", "what"))
        for header in headers:
            names.append(f"   oriel/{header} <{page_name(header)}>")
            pages[f"cpp/{page_name(header)}"] = cpp_page(header, found[header])
    pages["cpp/index"] = "\n".join([*index, ".. toctree::", "   :hidden:", "", *names, ""])
    return pages


def c_directive(entry):
    """The lines of an entry of c.h. Its enumerations have no names, so they are written here: what each is, and its numbers."""
    if entry.kind != "numbers":
        return directive(entry)
    lines = [f".. c:enum:: {entry.name}", "   :no-contents-entry:", "", f"   {entry.summary}", ""]
    for value in entry.element.findall("enumvalue"):
        lines += [f"   .. c:enumerator:: {value.findtext('name')} {value.findtext('initializer')}", "      :no-contents-entry:", ""]
        lines += [f"      {summary_of(value)}", ""]
    return lines


def c_page(found):
    """The page of oriel/c.h."""
    title = "C"
    lines = [title, "=" * len(title), "", "Everything in ``oriel/c.h``. The guide is :doc:`/c`.", ""]
    lines += [".. doxygenfile:: c.h", "   :sections: detaileddescription", ""]
    return "\n".join([*lines, *sections(found["c.h"], "c", c_directive), ""])
