"""How `make docs` builds the site: Sphinx over the Markdown pages, with nothing loaded from elsewhere."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from sphinx.application import Sphinx

from kgcheck import __version__
from kgcheck.rules import structure_rules

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


def setup(app: Sphinx) -> None:
    """Show what the fields of options are for beside their class, and list the rules."""

    def add_descriptions(app: Sphinx, kind: str, name: str, obj: object, options: object, lines: list[str]) -> None:
        if kind == "class" and getattr(obj, "__module__", "") == "kgcheck.options":
            for field, about in getattr(obj, "model_fields", {}).items():
                lines += ["", f":param {field}: {about.description}" if about.description else ""]

    def list_rules(app: Sphinx, page: str, source: list[str]) -> None:
        if page == "rules":
            source[0] = source[0].replace("<!-- rules -->", _table_of_rules())

    app.connect("autodoc-process-docstring", add_descriptions)
    app.connect("source-read", list_rules)


def _table_of_rules() -> str:
    rows = ["| rule | outcome | groups | meaning | repair |", "| --- | --- | --- | --- | --- |"]
    for rule in structure_rules().values():
        repair = rule.repair.value if rule.is_fault else ""
        rows.append(f"| `{rule.name}` | {rule.outcome_words} | {', '.join(rule.groups)} | {rule.meaning} | {repair} |")
    return "\n".join(rows)
