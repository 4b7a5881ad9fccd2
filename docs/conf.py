"""Sphinx configuration: the pages are Markdown, with formulas between dollar signs."""

import fieldmend

project = "fieldmend"
author = "fieldmend developers"
release = fieldmend.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say them in words
napoleon_google_docstring = False
html_theme = "pydata_sphinx_theme"
html_title = "fieldmend"
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
html_show_sourcelink = False


def plain_bars(*event):
    """|O| in a docstring is a number of entries, no substitution."""
    lines = event[-1]
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = line.split("``")
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[i] = "``".join(parts)


def setup(app):
    app.connect("autodoc-process-docstring", plain_bars)
