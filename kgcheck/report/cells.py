"""Consoles and cells (rich) on which text is only shown: nothing in it moves the cursor, changes colours or hides."""

import io
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from kgcheck.visible import visible

_WIDTH = 200


class SafeConsole(Console):
    """A console on which [x] is no markup, :x: no emoji, and what cannot be seen is spelt out.

    A string is one line. Text that is laid out over several is a rich Text: its line breaks stay.
    """

    def __init__(self, **how: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **how)

    def render_str(self, text: str, **how: Any) -> Text:
        """A string, made safe."""
        return super().render_str(visible(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Whatever is printed, down to the cells of tables, made safe."""
        if isinstance(renderable, Text) and (shown := visible(renderable.plain, layout=True)) != renderable.plain:
            # Its styles fit other places now: hostile text is shown in one.
            renderable = Text(shown, style=renderable.style, overflow=renderable.overflow, no_wrap=renderable.no_wrap)
        return super().render(renderable, options)


def cell(text: str, style: str = "") -> Text:
    """Cell of a table with what a graph or a source says, in one line."""
    return Text(visible(text), style=style)


def lines(texts: Iterable[str]) -> Text:
    """Cell of a table with a line for each text of a graph or a source."""
    return Text("\n".join(visible(text) for text in texts))


def as_text(renderable: RenderableType) -> str:
    """A table as plain text, for a file."""
    console = SafeConsole(width=_WIDTH, color_system=None, file=io.StringIO(), record=True)
    console.print(renderable)
    return console.export_text()
