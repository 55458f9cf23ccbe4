"""Consoles and table cells (rich) that escape untrusted text: no markup, no control characters."""

import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from kgcheck.visible import visible

_WIDTH = 200
_LEAST_WIDTH = 30
"""Characters below which a column of text reads like a ribbon."""


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


def facts_table(facts: Iterable[tuple[str, str | Text]]) -> Table:
    """Names with their values, one a row; what is empty is left out."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in facts:
        if value:
            table.add_row(cell(name, style="bold"), cell(value) if isinstance(value, str) else value)
    return table


class RowTable:
    """Rows as a table or, on a console that is too narrow for one, as a paragraph each, as psql's expanded form.

    Keys are short and never broken, numbers are right-justified, and other columns are folded. A column that is empty
    in every row is left out.
    """

    def __init__(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[str | Text]],
        *,
        keys: Collection[str] = (),
        numbers: Collection[str] = (),
    ) -> None:
        listed = [[cell(value) if isinstance(value, str) else value for value in row] for row in rows]
        used = [at for at in range(len(columns)) if not listed or any(row[at] for row in listed)]
        self._columns = [columns[at] for at in used]
        self._rows = [[row[at] for at in used] for row in listed]
        self._keys = keys
        self._numbers = numbers

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if self._width > options.max_width and self._rows:
            for row in self._rows:
                yield from self._paragraph(dict(zip(self._columns, row, strict=True)))
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in self._columns:
            table.add_column(
                name,
                justify="right" if name in self._numbers else "left",
                overflow="fold",
                no_wrap=name in self._keys or name in self._numbers,
                min_width=len(name),
            )
        for row in self._rows:
            table.add_row(*row)
        yield table

    @property
    def _width(self) -> int:
        """The least width at which the table can be read."""
        widths = []
        for name, *cells in zip(self._columns, *self._rows, strict=True):
            widest = max((cell_len(line) for value in cells for line in value.plain.splitlines()), default=0)
            whole = name in self._keys or name in self._numbers
            widths.append(max(len(name), widest if whole else min(widest, _LEAST_WIDTH)))
        return sum(widths) + 2 * (len(widths) - 1)

    def _paragraph(self, row: dict[str, Text]) -> Iterator[RenderableType]:
        """The keys of a row in one line, and what else it has under them, each with its name."""
        keys = [row[name] for name in row if name in self._keys and row[name]]
        if keys:
            yield Text("  ").join([Text.assemble(keys[0], style="bold"), *keys[1:]])
        texts = [(name, row[name]) for name in row if name not in self._keys and name not in self._numbers]
        counted = ", ".join(f"{row[name]} {name}" for name in row if name in self._numbers and row[name])
        yield Padding(facts_table([*texts, ("counted", counted)]), (0, 0, 0, 2))


def as_text(renderable: RenderableType) -> str:
    """A table as plain text, for a file."""
    console = SafeConsole(width=_WIDTH, color_system=None, file=io.StringIO(), record=True)
    console.print(renderable)
    return console.export_text()
