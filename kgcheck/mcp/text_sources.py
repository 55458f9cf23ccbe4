"""Sources that tools about whole texts hold them against, beside the workspace."""

from contextlib import closing
from pathlib import Path
from typing import NamedTuple


class TextSources(NamedTuple):
    """A bibliography snapshot and a JSON file with canonical results, each as far as there is one."""

    bibliography: Path | None = None
    results: Path | None = None


def checked_sources(bibliography: Path | None, results: Path | None) -> TextSources:
    """Both, each read once, so that what is wrong with a file is seen before anybody is served."""
    if bibliography:
        from kgcheck.literature.bibliography_reader import Bibliography

        with closing(Bibliography(bibliography)):
            pass
    if results:
        from kgcheck.grounding.results import read_results

        read_results(results)
    return TextSources(bibliography, results)
