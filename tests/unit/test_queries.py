"""The catalogue of statements: every file is used as it says, and no name but a schema's gets into one."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.errors import ConfigurationError
from kgcheck.graph.queries import (
    Catalogue,
    columns,
    fields,
    label_place,
    lists,
    pattern_places,
    projection,
    quoted,
    same,
)
from kgcheck.profile.schema import load_schema
from tests.support import ROOT

CKG = load_schema()
PATHS = sorted((ROOT / "cypher").rglob("*.cypher"))
WRITING = re.compile(r"\b(CREATE|MERGE|SET|DELETE|REMOVE|DROP|COPY|ALTER)\b")
WRITERS = {"meta_set", "set_state"}


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_statement_is_found_without_its_comments_and_with_its_places_filled(path: Path) -> None:
    backend = path.parent.name if path.parent.name != "cypher" else "neo4j"
    places = set(re.findall(r"<([a-z_]+)>", re.sub(r"(?m)^//.*$", "", path.read_text())))
    text = Catalogue(backend).text(path.stem, **{place: f"`{place}`" for place in places})
    assert text
    assert not re.search(r"//|<[a-z_]+>", text)
    assert ";" not in text


def test_only_statements_named_for_it_write() -> None:
    for path in PATHS:
        body = re.sub(r"(?m)^//.*$", "", path.read_text())
        writer = path.stem.startswith(("create_", "copy_", "update_", "remove_", "add_")) or path.stem in WRITERS
        assert bool(WRITING.search(body)) == writer, path


def test_a_file_of_the_backend_goes_before_the_portable_one() -> None:
    places = {"head": "`A`", "relation": "`R`", "tail": "`B`", "where": ""}
    assert "properties(r)" in Catalogue("neo4j").text("edges_between", **places)
    assert "properties(r)" not in Catalogue("embedded").text("edges_between", **places)
    assert Catalogue("neo4j").text("meta_get") == Catalogue("embedded").text("meta_get")


def test_an_unknown_statement_or_place_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no statement 'nothing' for the neo4j store"):
        Catalogue("neo4j").text("nothing")
    with pytest.raises(ConfigurationError, match=r"has the places \['label', 'where'\], not \[\]"):
        Catalogue("neo4j").text("count_nodes")
    with pytest.raises(ConfigurationError, match="not"):
        Catalogue("neo4j").text("count_nodes", label="`A`", where="", other="`B`")


@given(name=st.text(max_size=12) | st.from_regex(r"[A-Za-z][A-Za-z0-9_]*\s?", fullmatch=True))
def test_only_a_plain_name_is_ever_quoted(name: str) -> None:
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*(:[A-Za-z][A-Za-z0-9_]*)?", name, re.ASCII):
        assert quoted(name) == f"`{name}`"
    else:
        with pytest.raises(ConfigurationError, match="not a schema name"):
            quoted(name)


def test_places_are_made_of_schema_names() -> None:
    protein, acts_on = CKG.label("Protein"), CKG.pattern("Protein", "ACTS_ON", "Protein")
    assert label_place(protein) == {"label": "`Protein`"}
    assert pattern_places(acts_on) == {"head": "`Protein`", "relation": "`ACTS_ON`", "tail": "`Protein`"}
    assert projection("n", ["name", "taxid"]) == ", n.`name` AS `name`, n.`taxid` AS `taxid`"
    assert lists("r", ["name", "taxid"]) == ", [r IN rs | r.`name`], [r IN rs | r.`taxid`]"
    assert projection("n", []) == lists("r", []) == fields([]) == same([]) == ""
    assert fields(["id", "name"]) == "`id`: row[0], `name`: row[1]"
    assert same([("r.`score`", "row[2]")]) == " AND (r.`score` = row[2] OR (r.`score` IS NULL AND row[2] IS NULL))"
    assert columns({"a": "string", "b": "strings", "c": "integer", "d": "number"}) == (
        ", `a` STRING, `b` STRING[], `c` INT64, `d` DOUBLE"
    )
