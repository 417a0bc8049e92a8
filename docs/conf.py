"""Sphinx's configuration of the documentation site. `scripts/site.sh` builds it from the pages that scripts/site/sources.py prepares."""

import os
import re
import sys
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

ROOT = Path(os.environ["ORIEL_SITE_ROOT"])  # the project: scripts/site.sh sets it, as these pages are built elsewhere
sys.path.insert(0, str(ROOT / "scripts" / "site"))  # docstrings.py

project = "Oriel"
author = "The Oriel developers"
copyright = "The Oriel developers, Apache-2.0"
release = version = re.search(r"VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "breathe",
    "sphinx_design",
    "sphinx_copybutton",
    "docstrings",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_heading_anchors = 4  # the anchors that GitHub makes
myst_enable_extensions = ["colon_fence"]

templates_path = ["_templates"]
autosummary_generate = True
autodoc_typehints = "none"  # docstrings give the types
autodoc_inherit_docstrings = False  # those of torch.nn.Module say nothing about a pool
numpydoc_show_class_members = False
default_role = "py:obj"  # single backticks in docstrings are code, and a link if they hold a public name

breathe_projects = {"oriel": os.environ["ORIEL_SITE_XML"]}
breathe_default_project = "oriel"
breathe_domain_by_extension = {"h": "cpp"}
breathe_domain_by_file_pattern = {"*/c.h": "c"}
cpp_id_attributes = ["ORIEL_API", "ORIEL_C_API"]

# Not mistakes in the text: `…` in a program's output, which no lexer knows, and namespaces that each header opens.
suppress_warnings = ["misc.highlighting_failure", "duplicate_declaration.cpp", "duplicate_declaration.c"]

# The scripts of examples/gallery are run, all in this process; tests/docs/gallery_test.py runs each in one of its own.
gallery_order = [
    *("window_taps.py", "padding.py", "output_sizes.py", "average_divisors.py", "ties_and_nan.py", "same_bits.py"),
    *("photograph.py", "image_pyramid.py", "block_statistics.py", "local_maxima.py", "background.py", "aliasing.py"),
    *("replace_pooling.py", "jax_lp_gradients.py", "keras_over_time.py", "gradients.py", "unpooling.py", "adaptive_pooling.py"),
    *("envelope.py", "running_mean.py", "same_hour.py", "climate_grid.py"),
    *("voxels.py", "projection.py"),
]
sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": re.escape(os.sep),  # run every script
    "within_subsection_order": ExplicitOrder(gallery_order),
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("oriel",),
    "reset_modules": ("matplotlib",),
    "capture_repr": (),
    "image_srcset": ["2x"],
    "min_reported_time": 3600,  # seconds: running times vary, so none is shown
    "write_computation_times": False,
    "show_signature": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "Oriel"
html_static_path = ["_static"]
html_css_files = ["oriel.css", "gallery.css"]
html_show_sourcelink = False
html_copy_source = False  # scripts/site/copies.py writes the pages as Markdown
html_show_search_summary = False  # a page from a file cannot fetch others
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
