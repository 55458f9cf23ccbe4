"""The tables of the Biolink model and the Bioregistry: spot facts, look-ups, and how they are compiled."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import standards as compiling
from kgcheck.profile.folder import profile_names
from kgcheck.profile.schema import load_schema
from kgcheck.resources import resource_dir
from kgcheck.standards.biolink import model
from kgcheck.standards.bioregistry import registry
from kgcheck.standards.tables import NAMES, standard

MODEL, REGISTRY = model(), registry()
RECORDS = {record.prefix: record for record in REGISTRY}
PLAIN = sorted(one.curie for one in MODEL.categories.values() if not (one.mixin or one.abstract))
PREDICATES = sorted(name for name, slot in MODEL.slots.items() if slot.is_predicate)


def test_each_standard_says_what_it_is_compiled_from() -> None:
    assert [(name, standard(name).release) for name in NAMES] == [("biolink", "4.4.6"), ("bioregistry", "0.15.6")]
    for found in map(standard, NAMES):
        assert found.licence.startswith("CC0-1.0")
        assert found.fetched == datetime(2026, 11, 27, tzinfo=UTC)
        assert len(found.sha256) == 64
        assert found.url("") == ""
    assert standard("bioregistry").url("go") == "https://bioregistry.io/go"
    assert standard("biolink").url("Gene") == "https://w3id.org/biolink/vocab/Gene"


@pytest.mark.parametrize("name", profile_names())
def test_the_rules_look_at_no_graph_of_a_profile_of_our_own(name: str) -> None:
    assert load_schema(name).profile.standards == ()


def test_the_tables_are_small_and_a_record_is_a_line() -> None:
    files = [resource_dir("loaders") / "standards" / f"{name}.json" for name in NAMES]
    assert sum(file.stat().st_size for file in files) < 600_000
    for file in files:
        lines = file.read_text(encoding="utf-8").splitlines()
        records = [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"')]
        assert len(records) > 900
        assert not any("description" in record for record in records)


@pytest.mark.parametrize(
    ("prefix", "preferred", "fits", "misses"),
    [
        ("hgnc", "hgnc", ["6973", "HGNC:6973"], ["TP53", "", "697300"]),
        ("MONDO", "MONDO", ["0005148"], ["5148", "0005148 ", "0005148\n"]),
        ("GO", "GO", ["0006915", "GO:0006915", "GO_0006915", "go:0006915"], ["6915", "MONDO:0006915"]),
        ("MGI", "MGI", ["97490", "MGI:97490"], ["x"]),
        ("PomBase", "pombase", ["SPAC2F7.03c", "spac2f7.03c"], [":SPAC2F7.03c"]),
        ("WB", "WormBase", ["WBGene00000001"], ["Y73C8B.4"]),
        ("UniProtKB", "uniprot", ["P04637", "P04637-2", "A0A087X1C5-2", "P04637:PRO_0000185703"], ["FAKE123", "-2"]),
        ("KEGG", "kegg", ["C00031", "R00299", "hsa:7157"], ["?"]),
        ("OMIM.PS", "omim.ps", ["118220", "PS118220"], ["PS"]),
        # Concepts (M…) are a form of Identifiers.org alone.
        ("MESH", "mesh", ["D003920", "M0006155"], ["X003920"]),
        ("umls", "umls", ["C0006826"], ["6826"]),
    ],
)
def test_the_form_of_local_ids(prefix: str, preferred: str, fits: list[str], misses: list[str]) -> None:
    record = REGISTRY.find(prefix)
    assert record
    assert record.preferred == preferred
    assert [local for local in fits if not REGISTRY.fits(record, local)] == []
    assert [local for local in misses if REGISTRY.fits(record, local)] == []


@given(st.sampled_from([(r.prefix, name) for r in REGISTRY for name in r.spellings]), st.sampled_from("lus"))
def test_a_prefix_is_found_in_any_spelling(given: tuple[str, str], case: str) -> None:
    prefix, spelled = given
    found = REGISTRY.find({"l": str.lower, "u": str.upper, "s": str.swapcase}[case](spelled))
    assert found
    assert found is REGISTRY.find(spelled)
    assert found.prefix == prefix or spelled.casefold() in {name.casefold() for name in found.spellings}
    assert REGISTRY.find(prefix) is RECORDS[prefix]


@given(st.sampled_from([r for r in REGISTRY if r.pattern]), st.text(max_size=12))
def test_any_pattern_takes_any_text(record: Any, local: str) -> None:
    assert REGISTRY.fits(record, local) in (True, False)


def test_facts_of_predicates() -> None:
    def one(name: str) -> Any:
        return MODEL.predicate(f"biolink:{name}")

    assert one("interacts_with").symmetric
    assert not one("affects").symmetric
    assert MODEL.canonical(one("affected_by")) is one("affects")
    assert MODEL.canonical(one("affects")) is None
    assert MODEL.inverse(one("affects")) is one("affected_by")
    assert MODEL.canonical(one("superclass_of")) is one("subclass_of")
    assert one("binds").deprecated
    assert one("positively_regulates") is None
    assert one("category") is None
    assert "related_to" in MODEL.ancestors(one("physically_interacts_with"))
    # Of a mixin among slots, too.
    assert "treats" in MODEL.ancestors(one("ameliorates_condition"))
    # An end that it does not state is that of what it is a kind of.
    assert (one("binds").domain, MODEL.end(one("binds"), "domain")) == ("", MODEL.category("NamedThing"))


@pytest.mark.parametrize("name", PREDICATES)
def test_predicates_end_at_classes_and_inverses_are_mutual(name: str) -> None:
    predicate = MODEL.slots[name]
    for role in ("domain", "range"):
        assert getattr(predicate, role) in {"", *MODEL.categories}
        assert MODEL.end(predicate, role)
    if predicate.inverse:
        inverse = MODEL.inverse(predicate)
        assert inverse
        assert inverse.name == predicate.inverse
        assert MODEL.inverse(inverse)
    assert not (predicate.symmetric and MODEL.canonical(predicate))


def test_facts_of_categories() -> None:
    gene = MODEL.category("biolink:Gene")
    assert gene
    assert gene is MODEL.category("Gene")
    # By a class, by a mixin, and by the mixin of a mixin.
    assert {"BiologicalEntity", "NamedThing", "GenomicEntity", "GeneOrGeneProduct"} <= MODEL.ancestors(gene)
    assert MODEL.category("biolink:gene") is None
    assert MODEL.category("BiologicalProcess")


@pytest.mark.parametrize(
    ("given", "best"),
    [
        (["biolink:NamedThing", "biolink:Gene", "biolink:BiologicalEntity"], "biolink:Gene"),
        (["biolink:GenomicEntity", "biolink:SequenceVariant", "biolink:OntologyClass"], "biolink:SequenceVariant"),
        (["biolink:OntologyClass", "biolink:NamedThing"], "biolink:NamedThing"),
        (["biolink:Gene", "biolink:Protein"], "biolink:Gene"),
        (["biolink:Protein", "biolink:Gene"], "biolink:Protein"),
        (["biolink:Genes", "biolink:NamedThing"], "biolink:NamedThing"),
        (["biolink:BiologicalEntity", "biolink:OntologyClass"], "biolink:BiologicalEntity"),
        (["ours:Thing", "biolink:Genes"], "ours:Thing"),
        ([], None),
    ],
)
def test_the_most_specific_category(given: list[str], best: str | None) -> None:
    assert MODEL.most_specific(given) == best


@given(st.data(), st.sampled_from(PLAIN))
def test_among_its_ancestors_a_class_is_the_most_specific(data: st.DataObject, curie: str) -> None:
    one = MODEL.category(curie)
    assert one
    ancestors = st.permutations(sorted(f"biolink:{name}" for name in MODEL.ancestors(one)))
    assert MODEL.most_specific(data.draw(ancestors)) == curie


SMALL_MODEL = """
version: 9.9.9
imports: [linkml:types, more]
prefixes: {MONDO: 'http://example.org/'}
classes:
  named thing: {description: anything}
  RNA product: {is_a: named thing, mixins: [thing mixin], id_prefixes: [OURS], deprecated: 'use another'}
  thing mixin: {mixin: true}
  NamedThing:
slots:
  related to: {domain: named thing, range: named thing, symmetric: true, description: any}
  acts on:
    is_a: related to
    mixins: [slot mixin]
    range: label type
    inverse: acted on by
    annotations: {canonical_predicate: {tag: canonical_predicate, value: true}}
    deprecated: 'false'
  acted on by: {is_a: related to, annotations: {canonical_predicate: false}, required: true}
"""
SMALL_REGISTRY = {
    "b": {"description": "x", "pattern": "^(?=b)\\d+$", "miriam": {"pattern": "\\d+?"}, "synonyms": ["B", "b", "bb"]},
    "a": {"obofoundry": {"preferred_prefix": "A"}, "miriam": {"extras": {"namespaceEmbeddedInLui": True}}},
    "c": {"banana": "C", "banana_peel": "", "part_of": "b", "deprecated": False, "ols": {"status": "inactive"}},
    "d": {"obofoundry": {"status": "inactive"}},
}


def test_tables_are_compiled_alike_from_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "model.yaml").write_text(SMALL_MODEL)
    (tmp_path / "more.yaml").write_text("slots: {a value: {range: string}}")
    given = tmp_path / "model.yaml", tmp_path / "registry.json", tmp_path / "out"
    line = [*map(str, given), "--bioregistry", "8.8", "--fetched", "2026-01-02"]
    given[1].write_text(json.dumps(SMALL_REGISTRY))
    given[2].mkdir()

    compiling.main(line)
    first = [(given[2] / f"{name}.json").read_bytes() for name in NAMES]
    given[1].write_text(json.dumps(dict(reversed(SMALL_REGISTRY.items()))))
    assert compiling.main(line) == "1 patterns left out that RE2 cannot compile: b"

    biolink, bioregistry = map(json.loads, first)
    again = json.loads((given[2] / "bioregistry.json").read_bytes())
    assert (given[2] / "biolink.json").read_bytes() == first[0]
    assert again["prefixes"] == bioregistry["prefixes"]
    assert (biolink["source"]["release"], bioregistry["source"]["release"]) == ("9.9.9", "8.8")
    assert biolink["prefixes"] == ["MONDO", "OURS"]
    assert biolink["classes"] == [
        {"name": "NamedThing"},
        {"name": "RNAProduct", "is_a": "NamedThing", "mixins": ["ThingMixin"], "deprecated": True},
        {"name": "ThingMixin", "mixin": True},
    ]
    assert biolink["slots"] == [
        {"name": "a_value"},
        {"name": "acted_on_by", "is_a": "related_to", "required": True, "is_predicate": True},
        {
            "name": "acts_on",
            "is_a": "related_to",
            "mixins": ["slot_mixin"],
            "inverse": "acted_on_by",
            "canonical": True,
            "is_predicate": True,
        },
        {"name": "related_to", "domain": "NamedThing", "range": "NamedThing", "symmetric": True, "is_predicate": True},
    ]
    assert bioregistry["prefixes"] == [
        {"prefix": "a", "preferred": "A", "banana": "A"},
        {"prefix": "b", "synonyms": ["B", "bb"], "pattern": "^\\d+?$", "pattern_by": "miriam"},
        {"prefix": "c", "banana": "C", "part_of": "b", "peel": ""},
        {"prefix": "d", "deprecated": True},
    ]
