"""Rows that differ between the snapshots ``older`` and ``newer``: each kind once, as tables for all connections."""

import duckdb

from kgcheck.duck import identifier, literal
from kgcheck.profile.schema import Label
from kgcheck.reference.difference import CHANGES, SIDES, DifferingRows

NO_IDS = "SELECT NULL::VARCHAR AS id WHERE false"


def table_of(name: str) -> str:
    """A table of what differs, quoted for SQL."""
    return f"{CHANGES}.{identifier(name)}"


class ChangedRows:
    """Finds rows that one side alone has, by what is checked."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self._db = db
        self._made: set[str] = set()
        self._differing = DifferingRows(db)

    def links(self, source: str, relation: str) -> str:
        """Table of the links that one side alone has, as it has them: head, tail, head_now, tail_now."""
        name = f"changed link {source} {relation}"
        if name not in self._made:
            named = "head, tail, head_now, tail_now"
            self._make(name, self._differing.of(source, "link", named, f"= {literal(relation)}"))
        return table_of(name)

    def lifecycles(self, label: Label) -> str:
        """A select of the ids whose life differs, or the life of what replaces them."""
        source = label.authority.source
        return f"SELECT id FROM {self.lives(source)}" if source else NO_IDS

    def lives(self, source: str) -> str:
        """Table of these ids of a source, each with what replaces it on either side: id, successors."""
        name = f"changed lifecycle {source}"
        if name not in self._made:
            where = f"source = {literal(source)}"
            self._make(name, self._differing.of(source, "lifecycle", "id, successors"))
            changed = table_of(name)
            self._db.execute(
                f"""
                INSERT INTO {changed}
                SELECT DISTINCT id, successors FROM (
                    SELECT id, successors FROM older.lifecycle WHERE {where} AND len(successors) > 0
                    UNION ALL SELECT id, successors FROM newer.lifecycle WHERE {where} AND len(successors) > 0)
                WHERE successors[1] IN (SELECT id FROM {changed})
                """
            ).fetchall()
        return table_of(name)

    def values(self, source: str, attribute: str) -> str:
        """A select of the ids that have other values of an attribute."""
        name = f"changed value {source} {attribute}"
        if name not in self._made:
            self._make(name, self._differing.of(source, "value", "id", f"= {literal(attribute)}"))
        return f"SELECT id FROM {table_of(name)}"

    def covered(self, source: str, topic: str) -> str:
        """A select of the ids whose coverage differs, for a topic or for a part of it, which follows after a space."""
        name = f"changed covered {source} {topic}"
        if name not in self._made:
            part = literal(topic + " ")
            self._make(name, self._differing.of(source, "covered", "id", f"|| ' ' ^@ {part}"))
        return f"SELECT id FROM {table_of(name)}"

    def ancestors(self, ontology: str) -> str:
        """Table of the pairs of term and ancestor that one side alone has."""
        name = f"changed ancestor {ontology}"
        if name not in self._made:
            rows = [f"SELECT id, ancestor FROM {side}.ancestor WHERE ontology = {literal(ontology)}" for side in SIDES]
            found = f"({rows[0]} EXCEPT {rows[1]}) UNION ALL ({rows[1]} EXCEPT {rows[0]})"
            self._make(name, f"{rows[0]} LIMIT 0" if self._differing.are_none("ancestor", ontology) else found)
        return table_of(name)

    def _make(self, name: str, select: str) -> None:
        self._db.execute(f"CREATE OR REPLACE TABLE {table_of(name)} AS {select}").fetchall()
        self._made.add(name)
