"""How `make docs` builds the site: Sphinx over the Markdown pages, with nothing loaded from elsewhere."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from kgcheck import __version__

project = "kgcheck"
author = "the kgcheck authors"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
root_doc = "index"
exclude_patterns = ["conf.py"]

# Anchors as GitHub makes them, so that a link works in the repository and on the site.
myst_heading_anchors = 3
# Commands and their output; other languages are named.
highlight_language = "none"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"exclude-members": "model_config, model_post_init"}
add_module_names = False

html_theme = "furo"
html_title = f"kgcheck {version}"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
