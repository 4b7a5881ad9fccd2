"""Sphinx configuration: the pages are Markdown, with formulas between dollar signs."""

import fieldmend

project = "fieldmend"
author = "fieldmend developers"
release = fieldmend.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
exclude_patterns = ["_build"]
