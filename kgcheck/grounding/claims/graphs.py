"""The library of graphs, which is an extra."""

from kgcheck.errors import MissingExtra

try:
    import rustworkx as rx
except ImportError as error:
    raise MissingExtra("ranking papers", "grounding") from error

__all__ = ["rx"]
