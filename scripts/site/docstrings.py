"""An extension of Sphinx: what the package's docstrings and signatures become in the reference."""

import inspect
import re

PAGE = re.compile(r"`python -m oriel\.docs ([\w/-]+)`")


def page_link(match):
    """The words of a command that prints a page, as a link to the page."""
    page = "semantics" if re.fullmatch(r"S\d+", match[1]) else match[1]
    return f":doc:`python -m oriel.docs {match[1]} </{page}>`"


def link_pages(app, what, name, value, options, lines):
    lines[:] = [PAGE.sub(page_link, line) for line in lines]


def signature_of_init(app, what, name, value, options, arguments, returned):
    """Keras takes every argument of a layer in `__new__`; those that users know are in `__init__`."""
    if what != "class" or arguments != "(*args, **kwargs)":
        return None
    parameters = list(inspect.signature(value.__init__).parameters.values())[1:]
    return str(inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in parameters])), returned


def skip_fields(app, what, name, value, skipped, options):
    """The fields of a named tuple without a text of their own are in its signature."""
    return True if str(getattr(value, "__doc__", "")).startswith("Alias for field number") else None


def setup(app):
    app.connect("autodoc-process-docstring", link_pages, priority=400)  # before numpydoc
    app.connect("autodoc-process-signature", signature_of_init)
    app.connect("autodoc-skip-member", skip_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
