"""An extension of Sphinx: what docstrings, signatures and the headings in an entry become in the reference."""

import inspect
import re

from docutils import nodes

PAGE = re.compile(r"`python -m oriel\.docs ([\w/-]+)`")


def page_link(match):
    """The words of a command that prints a page, as a link to the page."""
    page = "semantics" if re.fullmatch(r"S\d+", match[1]) else match[1]
    return f":doc:`python -m oriel.docs {match[1]} </{page}>`"


def change(app, what, name, value, options, lines):
    """Links pages; leaves out what a constant has from its type."""
    from_type = what == "data" and value.__doc__ == type(value).__doc__ and lines[:1] == (value.__doc__ or "").splitlines()[:1]
    lines[:] = [] if from_type else [PAGE.sub(page_link, line) for line in lines]


def signature_of_init(app, what, name, value, options, arguments, returned):
    """Keras takes every argument of a layer in `__new__`; those that users know are in `__init__`."""
    if what != "class" or arguments != "(*args, **kwargs)":
        return None
    parameters = list(inspect.signature(value.__init__).parameters.values())[1:]
    return str(inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in parameters])), returned


def skip(app, what, name, value, skipped, options):
    """Leaves out what a class has from other packages, and fields of named tuples: they are in its signature."""
    function = getattr(value, "fget", None) or value
    module = (getattr(function, "__module__", None) or "oriel") if inspect.isroutine(function) else "oriel"
    is_field = str(getattr(value, "__doc__", "")).startswith("Alias for field number")
    return True if is_field or module.partition(".")[0] != "oriel" else None


def plain_headings(app, doctree):
    """`Members` for Breathe's `Public Members`, and no identifier: it is the same in every entry of a page."""
    for rubric in doctree.findall(nodes.rubric):
        if any(name.startswith("breathe-section-title") for name in rubric["ids"]):
            rubric["ids"] = []
            rubric[:] = [nodes.Text(rubric.astext().removeprefix("Public ").capitalize())]


def setup(app):
    app.connect("doctree-read", plain_headings)
    app.connect("autodoc-process-docstring", change, priority=400)  # before numpydoc
    app.connect("autodoc-process-signature", signature_of_init)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
