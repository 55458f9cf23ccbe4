"""Graph files of a test's own, read into tables."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kgcheck.duck import connected
from kgcheck.errors import KgcheckError
from kgcheck.forms.form import GraphForm
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables


class ReadGraph:
    """What a form's reader made of files."""

    def __init__(self, forms: Sequence[GraphForm], *paths: Path) -> None:
        self.sources = [Source(path.name, path, number) for number, path in enumerate(paths)]
        self.tables = GraphTables(connected())
        (self.form,) = [form for form in forms if form.fits(self.sources[0])]
        self.form.read(self.sources, self.tables)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.tables.db.execute(query).fetchall()

    @property
    def nodes(self) -> dict[str, tuple[list[str], dict[str, str]]]:
        return {
            id_: (labels, properties)
            for id_, labels, properties in self.rows("SELECT id, labels, properties FROM node")
        }

    @property
    def edges(self) -> list[tuple[Any, ...]]:
        return self.rows("SELECT head, relation, tail FROM edge ORDER BY ALL")

    @property
    def faults(self) -> list[tuple[Any, str]]:
        """Place and reason of what was rejected."""
        return [(line, reason) for line, reason, _ in self.rejected]

    @property
    def rejected(self) -> list[tuple[Any, ...]]:
        return self.rows("SELECT line, reason, detail FROM quarantine ORDER BY ALL")


def read_any(form: GraphForm, path: Path, text: str) -> None:
    """Read any text as a form: there are tables after it, or an error of kgcheck's and no edges."""
    path.write_bytes(text.encode(errors="surrogatepass"))
    tables = GraphTables(connected())
    try:
        form.read([Source("any", path)], tables)
    except KgcheckError:
        assert not tables.count("edge")
    assert tables.count("node") >= 0


def written(path: Path, value: Any) -> Path:
    """A file of bytes, of text, or of JSON."""
    text = value if isinstance(value, str | bytes) else json.dumps(value)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def lines(*values: Any) -> str:
    """JSON lines."""
    return "".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in values)


GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="n" for="node" attr.name="name"/>
<key id="r" for="edge" attr.name="relation"/><graph edgedefault="directed">{}</graph></graphml>"""


def graphml(*edges: tuple[str, str], names: dict[str, str]) -> str:
    """A graph of one relation, is_a."""
    nodes = "".join(f'<node id="{node}"><data key="n">{name}</data></node>' for node, name in names.items())
    parts = "".join(f'<edge source="{a}" target="{b}"><data key="r">is_a</data></edge>' for a, b in edges)
    return GRAPHML.format(nodes + parts)
