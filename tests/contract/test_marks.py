"""The marks of curation in the stores: in new ones and those made before, and what no reader shows because of them."""

from pathlib import Path

import ladybug
import pytest

from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.marks import MARKS
from kgcheck.model import Ref
from tests.contract.stores import CKG, PROTEIN, add_nodes, all_nodes


def columns(connection: ladybug.Connection) -> dict[str, set[str]]:
    def rows(text: str) -> list[list[str]]:
        result = connection.execute(text)
        assert isinstance(result, ladybug.QueryResult)
        return [list(row) for row in result.get_all()]

    tables = [name for name, _ in rows("CALL show_tables() RETURN name, type")]
    return {table: {name for (name,) in rows(f"CALL table_info('{table}') RETURN name")} for table in tables}


@pytest.fixture
def made_before(tmp_path: Path) -> Path:
    """A store as it was made before there were marks."""
    path = tmp_path / "before.lbdb"
    with EmbeddedStore(path, CKG, create=True) as store:
        store.prepare()
        add_nodes(store, PROTEIN, "P1")
    with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
        for table, names in columns(connection).items():
            for mark in names & set(MARKS):
                connection.execute(f"ALTER TABLE `{table}` DROP `{mark}`")
    return path


def test_a_store_made_before_there_were_marks_is_read_as_it_is_and_gets_them_when_it_is_written_to(
    made_before: Path,
) -> None:
    with EmbeddedStore(made_before, CKG) as store:
        assert store.node(Ref(label="Protein", id="P1")) == {"id": "P1"}
        assert all_nodes(store, PROTEIN) == [{"id": "P1"}]
        assert store.counts().total_nodes == 1
    with EmbeddedStore(made_before, CKG, create=True) as store:
        assert all_nodes(store, PROTEIN) == [{"id": "P1"}]
    with ladybug.Database(str(made_before), read_only=True) as database, ladybug.Connection(database) as connection:
        marked = {table for table, names in columns(connection).items() if set(MARKS) <= names}
    assert marked == {*CKG.label_names, *CKG.relation_types}


def test_marks_are_no_unknown_properties(made_before: Path) -> None:
    with EmbeddedStore(made_before, CKG, create=True) as store:
        store._rows("MATCH (n:Protein) SET n.kgcheck_changed = 'f', n.kgcheck_retired = 'f'")
        assert store.unknown() == {}
