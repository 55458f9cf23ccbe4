"""Imports what requests need before the first one comes, which would wait for it, and others for its garbage."""

from contextlib import suppress
from importlib import import_module

from kgcheck.service.page import charts
from kgcheck.service.state import ServiceOptions

_ALWAYS = ("kgcheck.graph.embedded", "kgcheck.literature.search")
_OF_PAPERS = ("bm25s", "Stemmer", "faiss", "safetensors", "tokenizers")


def load(options: ServiceOptions) -> None:
    """Import what requests need. Nothing is opened: a store that nobody has asked about can still be written to."""
    charts.load()
    for name in _ALWAYS:
        import_module(name)
    if not options.literature:
        return
    # Without the extra, papers are searched by words.
    with suppress(ImportError):
        for name in _OF_PAPERS:
            import_module(name)
        from kgcheck.literature.bert import import_openvino

        import_openvino()
