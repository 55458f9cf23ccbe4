"""The schema of a profile: what may be named, and what is said when something else is."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kgcheck.errors import AmbiguousName, ConfigurationError, UnknownName
from kgcheck.profile.import_files import EdgeFile, NodeFile, load_recipe
from kgcheck.profile.schema import load_schema

CKG = load_schema()

TINY = """
[profile]
name = "tiny"
version = 1
title = "two labels"

[[labels]]
name = "A"
meaning = "a"
id_pattern = "a[0-9]+"
id_example = "a1"
authority = { source = "none" }
properties = { name = { type = "string" } }

[[relations]]
type = "KNOWS"
head = "A"
tail = "A"
"""

A_AGAIN = TINY[TINY.index("[[labels]]") : TINY.index("[[relations]]")]
OTHER_LABEL = A_AGAIN.replace('name = "A"', 'name = "B"')
KNOWS_AGAIN = '[[relations]]\ntype = "KNOWS"\nhead = "A"\ntail = "A"\n'
KNOWS_OTHERWISE = KNOWS_AGAIN.replace('tail = "A"', 'tail = "B"\nproperties = { since = { type = "integer" } }')


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """The folder of a profile of its own."""
    return tmp_path


def test_the_ckg_profile_is_whole() -> None:
    assert len(CKG.labels) == 12
    assert len(CKG.relation_types) == len(set(CKG.relation_types)) == 11
    assert CKG.holders == (*CKG.labels, *CKG.relations)
    assert re.fullmatch(r"[0-9a-f]{12}", CKG.digest)
    for label in CKG.labels:
        assert label.matches(label.id_example), label.name
        assert set(label.attributes) <= set(label.properties)
    for pattern in CKG.relations:
        assert CKG.pattern(pattern.head, pattern.type, pattern.tail) is pattern


@pytest.mark.parametrize(
    ("ask", "message", "hint"),
    [
        (lambda: CKG.label("Protien"), "no label 'Protien'", "did you mean Protein"),
        (lambda: CKG.label("protein"), "no label 'protein'", "did you mean Protein"),
        (lambda: CKG.patterns("ACTS-ON"), "no relation 'ACTS-ON'", "did you mean ACTS_ON"),
        (
            lambda: CKG.pattern("Gene", "ACTS_ON", "Protein"),
            "Gene ACTS_ON Protein",
            "it joins: Protein ACTS_ON Protein",
        ),
        (lambda: CKG.pattern("Gen", "ACTS_ON", "Protein"), "no label 'Gen'", "did you mean Gene"),
        (lambda: CKG.attribute("Protein", "nmae"), "no attribute 'nmae'", "did you mean name"),
        (lambda: CKG.attribute("Pathway", "organism"), "no check of 'Pathway.organism'", "with a check: name"),
        (lambda: CKG.patterns_for("P1", "ACTS_ON", "x y"), "P1 ACTS_ON x y", "e.g. P04637 ACTS_ON P04637"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(ask: Callable[[], object], message: str, hint: str) -> None:
    with pytest.raises(UnknownName, match=re.escape(message)) as caught:
        ask()
    assert hint in caught.value.hint


def test_an_id_is_placed_by_its_form() -> None:
    assert [str(p) for p in CKG.patterns_for("P04637", "ASSOCIATED_WITH", "BTO:0000142")] == [
        "Protein ASSOCIATED_WITH Tissue"
    ]
    assert CKG.attribute("Protein", "name").source == "uniprot"


@pytest.mark.parametrize(
    ("label", "identifier", "base"),
    [
        ("Protein", "P22303-2", "P22303"),
        ("Protein", "P22303", "P22303"),
        ("Modified_protein", "O60502-1_S364-p", "O60502"),
        ("Pathway", "R-HSA-109581", "R-HSA-109581"),
    ],
)
def test_an_isoform_and_a_site_are_filed_under_their_entry(label: str, identifier: str, base: str) -> None:
    assert CKG.label(label).base_id(identifier) == base


@pytest.mark.parametrize("identifier", ["", "a\tb", "a\x00", "x" * 513])
def test_a_reference_needs_an_id_that_can_be_printed(identifier: str) -> None:
    with pytest.raises(AmbiguousName) as caught:
        CKG.ref("Protein", identifier)
    assert "P04637" in caught.value.hint


def test_a_reference_needs_a_known_label() -> None:
    assert str(CKG.ref("Protein", "P04637")) == "Protein P04637"
    with pytest.raises(UnknownName):
        CKG.ref("Protein`)", "P04637")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('name = "A"', 'name = "A`) DETACH DELETE n"', "is not a plain name"),
        ('type = "KNOWS"', 'type = "KN OWS"', "is not a plain name"),
        ("{ name =", '{ "na me" =', "is not a plain name"),
        ('tail = "A"', 'tail = "B"', "names the label 'B'"),
        ('type = "string"', 'type = "date"', "is wrong"),
        ('head = "A"', 'head = "A"\nheads = 1', "is wrong"),
        ("[profile]", "[profile", "is wrong"),
        ('tail = "A"', 'tail = "A"\nhierarchy = true\nloops = true', "in one direction and without loops"),
        ('tail = "A"\n', 'tail = "B"\nhierarchy = true\n' + OTHER_LABEL, "is a hierarchy, so that it joins one label"),
        ('"a[0-9]+"', '"(?P<entry>a)([0-9])"', "write (?:...) for those without"),
        ('"a[0-9]+"', '"(?P<entrance>a)[0-9]"', "an id has no group 'entrance'"),
        ("[[relations]]", A_AGAIN + "[[relations]]", "the label 'A' is described twice"),
        ('tail = "A"\n', 'tail = "A"\n' + KNOWS_AGAIN, "the relation 'A KNOWS A' is described twice"),
        (
            'tail = "A"\n',
            'tail = "A"\nproperties = { since = { type = "string" } }\n' + OTHER_LABEL + KNOWS_OTHERWISE,
            "KNOWS.since is both string and integer",
        ),
    ],
)
def test_a_wrong_profile_is_refused(profile: Path, before: str, after: str, message: str) -> None:
    (profile / "graph.toml").write_text(TINY.replace(before, after))
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        load_schema(str(profile))


def test_a_profile_that_is_not_there(profile: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no profile .*graph\.toml is missing"):
        load_schema(str(profile))
    (profile / "graph.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="is wrong"):
        load_schema(str(profile))


# --- the recipe of its files -----------------------------------------------------------------------

NODES = '[[nodes]]\nfile = "a.tsv"\nlabel = "A"\nid = "ID"\nproperties = { name = "name" }\n'
EDGES = '[[edges]]\nfile = "e.tsv"\nhead = "A"\nrelation = "KNOWS"\ntail = "A"\nfrom = "S"\nto = "E"\n'


def test_every_label_and_pattern_of_ckg_has_a_file() -> None:
    files = load_recipe(CKG).files
    assert {f.label for f in files if isinstance(f, NodeFile)} == set(CKG.label_names)
    joined = {(f.head, f.relation, f.tail) for f in files if isinstance(f, EdgeFile)}
    assert joined == {(p.head, p.type, p.tail) for p in CKG.relations}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (NODES + EDGES, ""),
        (NODES.replace('"A"', '"B"') + EDGES, "no label 'B'"),
        (NODES.replace("{ name =", "{ nmae =") + EDGES, "which graph.toml does not describe"),
        (NODES + EDGES.replace("KNOWS", "LIKES"), "no relation 'LIKES'"),
        (NODES + EDGES.replace("e.tsv", "a.tsv"), "a.tsv is named more than once"),
        (NODES + EDGES.replace("from =", "form ="), "from"),
        ("[[nodes", "is wrong"),
        (None, "files.toml is wrong"),
    ],
)
def test_a_recipe_is_checked_against_the_schema(profile: Path, text: str | None, message: str) -> None:
    (profile / "graph.toml").write_text(TINY)
    if text:
        (profile / "files.toml").write_text(text)
    tiny = load_schema(str(profile))
    if not message:
        assert [f.file for f in load_recipe(tiny).files] == ["a.tsv", "e.tsv"]
        return
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        load_recipe(tiny)
