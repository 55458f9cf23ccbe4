"""Graphs without a profile, beside a snapshot: who issues their ids is found by the ids' prefixes."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck import Workspace
from kgcheck.errors import KgcheckError
from kgcheck.profile.reference_files import load_reference_recipes
from kgcheck.profile.schema import load_schema
from kgcheck.reference.build import build_snapshot
from kgcheck.reference.ontologies import OntologyHeader, ontology_recipe
from kgcheck.settings import Settings
from tests.support.audits import kgcheck
from tests.support.facts import Facts

HEADER = """format-version: 1.2
data-version: zzo/releases/2026-01-31/zzo.owl
ontology: zzo
property_value: http://purl.org/dc/terms/license https://creativecommons.org/licenses/by/4.0/ xsd:string
"""
TERMS = "".join(f"\n[Term]\nid: ZZO:{n}\nname: thing {n}\n" for n in range(1, 21))
MORE = """
[Term]
id: ZZO:21
name: thing twenty-one
synonym: "item 21" EXACT []
alt_id: ZZO:121

[Term]
id: ZZO:22
name: obsolete thing
is_obsolete: true
replaced_by: ZZO:1

[Term]
id: OTHER:1
name: of another ontology

[Typedef]
id: part_of
name: part of
"""
OBO = HEADER + TERMS + MORE
PURL = "http://purl.obolibrary.org/obo/"
OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
MORE_NODES = [
    {"id": f"{PURL}ZZO_21", "lbl": "thing twenty-one", "type": "CLASS", "meta": {
        "synonyms": [{"pred": "hasExactSynonym", "val": "item 21"}],
        "basicPropertyValues": [{"pred": f"{OBO_IN_OWL}hasAlternativeId", "val": "ZZO:121"}],
    }},
    {"id": f"{PURL}ZZO_22", "lbl": "obsolete thing", "type": "CLASS", "meta": {
        "deprecated": True, "basicPropertyValues": [{"pred": f"{PURL}IAO_0100001", "val": f"{PURL}ZZO_1"}],
    }},
]  # fmt: skip
NODES = [{"id": f"{PURL}ZZO_{n}", "lbl": f"thing {n}", "type": "CLASS"} for n in range(1, 21)]
META = {"version": f"{PURL}zzo/releases/2026-01-31/zzo.owl"}
JSON = {"graphs": [{"id": f"{PURL}zzo.owl", "meta": META, "nodes": [*NODES, *MORE_NODES], "edges": []}]}
OWL = f"""<?xml version="1.0"?>
<rdf:RDF xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:obo="{PURL}"
 xmlns:oboInOwl="http://www.geneontology.org/formats/oboInOwl#">
<owl:Ontology rdf:about="{PURL}zzo.owl"><owl:versionIRI rdf:resource="{PURL}zzo/releases/2026-01-31/zzo.owl"/>
</owl:Ontology>
{"".join(f'<owl:Class rdf:about="{PURL}ZZO_{n}"><rdfs:label>thing {n}</rdfs:label></owl:Class>' for n in range(1, 21))}
<owl:Class rdf:about="{PURL}ZZO_21"><rdfs:label>thing twenty-one</rdfs:label>
<oboInOwl:hasExactSynonym>item 21</oboInOwl:hasExactSynonym>
<oboInOwl:hasAlternativeId>ZZO:121</oboInOwl:hasAlternativeId>
</owl:Class>
<owl:Class rdf:about="{PURL}ZZO_22"><owl:deprecated>true</owl:deprecated><obo:IAO_0100001 rdf:resource="{PURL}ZZO_1"/>
</owl:Class>
</rdf:RDF>
"""
STATED = {
    **{f"ZZO:{n}": f"Thing {n}" for n in range(1, 20)},
    "ZZO:20": "thing twelve",
    "ZZO:21": "item 21",
    "ZZO:121": "item 21",
    "ZZO:22": "obsolete thing",
    "UNKNOWN:1": "of nobody",
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGCHECK_HOME", str(tmp_path / "home"))


def write(folder: Path, name: str, text: str | bytes) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def graph(tmp_path: Path, stated: dict[str, str], label: str = "biolink:Disease") -> Path:
    rows = "".join(f"{id_}\t{label}\t{name}\n" for id_, name in stated.items())
    return write(tmp_path, "nodes.tsv", f"id\tcategory\tname\n{rows}")


def snapshot(tmp_path: Path, **files: str | bytes) -> Path:
    for name, text in files.items():
        write(tmp_path / "sources", name.replace("__", "."), text)
    built = kgcheck("reference", "build", "sources", "--out", "reference.duckdb", cwd=tmp_path)
    assert built.code == 0, built.err
    return tmp_path / "reference.duckdb"


def audited(tmp_path: Path, *more: str) -> tuple[dict[str, Any], str]:
    said = kgcheck(
        *("audit", "nodes.tsv", "--reference", "reference.duckdb", "--type", "existence", "--type", "attribute"),
        *(*more, "--format", "json"),
        cwd=tmp_path,
    )
    assert said.code in (0, 1), said.err
    return json.loads(said.out), said.err


def reasons(report: dict[str, Any]) -> Counter[tuple[str, str]]:
    return Counter((f["outcome"], f["reason"]) for f in report["findings"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("zzo__obo", OBO),
        ("any__json", json.dumps(JSON)),
        ("any__owl", OWL),
        ("z__obo__gz", gzip.compress(OBO.encode())),
    ],
    ids=["OBO", "OBO Graph JSON", "OWL", "packed"],
)
def test_an_ontology_without_a_recipe_decides_ids_and_names_of_its_prefix(
    name: str, text: str | bytes, tmp_path: Path
) -> None:
    snapshot(tmp_path, **{name: text})
    graph(tmp_path, STATED)

    report, err = audited(tmp_path, "--graph-date", "2026-01-01")

    found = {(f["subject"]["id"], f["reason"]) for f in report["findings"] if f["outcome"] == "refuted"}
    assert {pair for pair in found if pair[0] != "ZZO:121"} == {("ZZO:20", "value_mismatch"), ("ZZO:22", "id_obsolete")}
    assert {id_ for id_, _ in found} == {"ZZO:20", "ZZO:22", "ZZO:121"}
    (evidence,) = next(f for f in report["findings"] if f["subject"]["id"] == "ZZO:22")["evidence"]
    assert (evidence["source"], evidence["release"]) == ("zzo", "2026-01-31")
    assert "UNKNOWN 1" in err


def test_an_id_that_a_whole_ontology_lacks_is_told_and_one_that_may_be_newer_is_not_refuted(tmp_path: Path) -> None:
    snapshot(tmp_path, zzo__obo=OBO)
    graph(tmp_path, STATED | {"ZZO:999": "made up"})

    now, _ = audited(tmp_path)
    then, _ = audited(tmp_path, "--graph-date", "2026-01-01")

    assert [(f["outcome"], f["reason"]) for f in now["findings"] if f["subject"]["id"] == "ZZO:999"] == [
        ("insufficient", "reference_older")
    ]
    unknown = [f for f in then["findings"] if f["subject"]["id"] == "ZZO:999"]
    assert [f["outcome"] for f in unknown] == ["refuted"]


def test_of_a_source_that_knows_few_of_the_ids_nothing_is_taken_for_missing(tmp_path: Path) -> None:
    snapshot(tmp_path, zzo__obo=OBO)
    graph(tmp_path, {"ZZO:22": "obsolete thing"} | {f"ZZO:{n}": f"x {n}" for n in range(900, 950)})

    report, err = audited(tmp_path, "--graph-date", "2026-01-01")

    assert reasons(report) == {("refuted", "id_obsolete"): 1}
    assert "zzo knows 1 of 51 ids of ZZO" in err


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("ontology: zzo\n", "ontology: zzo/subsets/zzo_slim\n", "is a part of zzo"),
        ("ontology: zzo\n", "ontology: zzo/imports/ro_import\n", "is a part of zzo"),
        ("ontology: zzo\n", "ontology: zzo-slim\n", "has no ids of that prefix"),
        ("name: part of\n", "name: part of", "has no end"),
    ],
)
def test_a_part_of_an_ontology_is_not_taken_for_it(before: str, after: str, why: str, tmp_path: Path) -> None:
    write(tmp_path / "sources", "whole.obo", OBO.replace("zzo", "yyo").replace("ZZO", "YYO"))
    write(tmp_path / "sources", "part.obo", OBO.replace(before, after))

    built = kgcheck("reference", "build", "sources", "--out", "reference.duckdb", cwd=tmp_path)

    assert (built.code, "yyo" in built.out, "zzo" in built.out) == (0, True, False)
    assert why in built.err


@pytest.mark.parametrize("name", ["zzo/zzo-basic.obo", "zzo/zzo-base", "http://purl.obolibrary.org/obo/zzo.owl"])
def test_products_of_an_ontology_that_have_all_of_its_terms(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, "a.obo", OBO.replace("ontology: zzo\n", f"ontology: {name}\n"))

    recipe = ontology_recipe(path, [])

    assert recipe
    assert recipe.source == "zzo"
    # One that a recipe is of is a release of its source.
    of_recipe = write(tmp_path, "doid.obo", OBO.replace("zzo", "doid").replace("ZZO", "DOID"))
    recipe = ontology_recipe(of_recipe, load_reference_recipes(load_schema()))
    assert recipe
    assert (recipe.source, recipe.files[0].release) == ("do", "2026-01-31")


def test_a_newer_part_under_the_same_name_does_not_end_the_others(tmp_path: Path) -> None:
    few = (HEADER + "".join(f"\n[Term]\nid: ZZO:{n}\nname: thing {n}\n" for n in (1, 2))).replace("01-31", "02-28")
    snapshot(tmp_path, a__obo=OBO, b__obo=few)
    graph(tmp_path, {f"ZZO:{n}": f"thing {n}" for n in range(1, 21)})

    report, err = audited(tmp_path)

    assert reasons(report)["refuted", "id_obsolete"] == 0
    assert "so that nothing is said of the others" in err


def test_a_prefix_in_another_spelling_is_told(tmp_path: Path) -> None:
    snapshot(tmp_path, zzo__obo=OBO)
    graph(tmp_path, STATED | {"zzo:22": "obsolete thing"})

    report, err = audited(tmp_path)

    assert "the snapshot has ids of ZZO, and the graph writes zzo: they are not looked up" in err
    assert "zzo:22" not in {f["subject"]["id"] for f in report["findings"]}


def test_an_id_that_another_source_lists_is_not_unknown_to_an_audit_or_a_single_check(tmp_path: Path) -> None:
    facts = Facts()
    facts.release("more").entities("", "ZZO:500", "ZZO:1")
    facts.release("uniprot").entity("P00001").entity("P00002", state="merged", now=["P00001"])
    facts.write(tmp_path / "sources")
    write(tmp_path / "sources", "gene_info", GENES)
    snapshot(tmp_path, a__obo=OBO)
    graph(tmp_path, STATED | {"ZZO:500": "of another list", "ZZO:501": "of none", "UniProtKB:P99999": "C"})

    report, _ = audited(tmp_path, "--graph-date", "2026-01-01")
    with Workspace(store=f"files:{tmp_path / 'nodes.tsv'}", reference=tmp_path / "reference.duckdb") as workspace:

        def checked(id_: str, date: str | None = "2026-01-01") -> str:
            request = f"existence biolink:Disease {id_}"
            verdict = workspace.check(request, keep=False, graph_date=date).finding.verdict
            return f"{verdict.outcome.value} {verdict.reason.value}"

        assert {f["subject"]["id"] for f in report["findings"] if f["reason"] == "unknown_id"} == {"ZZO:501"}
        assert (checked("ZZO:501"), checked("ZZO:501", None)) == ("refuted unknown_id", "insufficient reference_older")
        for id_ in ("ZZO:500", "UniProtKB:P99999", "UNKNOWN:1"):
            assert checked(id_).startswith("unavailable ")


def test_a_release_without_a_date_does_not_refute_what_it_lacks(tmp_path: Path) -> None:
    snapshot(tmp_path, zzo__obo=OBO.replace("data-version: zzo/releases/2026-01-31/zzo.owl\n", "data-version: 245\n"))
    graph(tmp_path, STATED | {"ZZO:999": "made up"})

    report, _ = audited(tmp_path, "--graph-date", "2026-01-01")

    found = {f["subject"]["id"]: (f["outcome"], f["reason"]) for f in report["findings"]}
    assert (found["ZZO:999"], found["ZZO:20"]) == (("insufficient", "reference_older"),) * 2
    assert found["ZZO:22"] == ("refuted", "id_obsolete")


def test_names_with_bars_lists_of_names_and_names_of_retired_terms(tmp_path: Path) -> None:
    odd = '\n[Term]\nid: ZZO:30\nname: a|b\nsynonym: "c|d e" EXACT []\n'
    retired = "\n[Term]\nid: ZZO:31\nname: obsolete thirty\nis_obsolete: true\n"
    snapshot(tmp_path, zzo__obo=OBO + odd + retired)
    names = {**STATED, "ZZO:20": "thing 20|another name", "ZZO:30": "c|d e", "ZZO:31": "thirty", "ZZO:19": ""}
    graph(tmp_path, names)

    report, _ = audited(tmp_path, "--graph-date", "2026-01-01")

    assert [f["subject"]["id"] for f in report["findings"] if f["type"] == "attribute"] == []


HGNC = (
    "hgnc_id\tsymbol\tname\tstatus\talias_symbol\talias_name\tprev_symbol\tprev_name\tentrez_id\tuniprot_ids\n"
    + "".join(
        f"HGNC:{n}\tSYM{n}\tsymbol number {n}\tApproved\tALI{n}|ALJ{n}\talso {n}\tPRE{n}\tformerly {n}\t{n}\tP0000{n}\n"
        for n in range(1, 21)
    )
)


def test_a_gene_may_be_called_by_its_symbol_its_name_or_an_alias(tmp_path: Path) -> None:
    write(tmp_path / "sources", "hgnc_complete_set_2026-01-31.txt", HGNC)
    snapshot(tmp_path)
    forms = ("SYM{}", "symbol number {}", "ALI{}", "also {}")
    named = {f"HGNC:{n}": forms[n % 4].format(n) for n in range(1, 19)}
    graph(tmp_path, {**named, "HGNC:19": "PRE19", "HGNC:20": "SYM19"})

    report, _ = audited(tmp_path, "--graph-date", "2026-01-01")

    assert {(f["subject"]["id"], f["reason"]) for f in report["findings"]} == {
        ("HGNC:19", "value_outdated"),
        ("HGNC:20", "value_mismatch"),
    }


def test_a_recipe_that_does_not_fit_takes_nothing_of_others_away(tmp_path: Path) -> None:
    write(tmp_path / "sources", "hgnc_complete_set_2026-01-31.txt", HGNC.replace("entrez_id", "other"))
    built = kgcheck("reference", "build", "sources", "--out", "reference.duckdb", "--profile", "ckg", cwd=tmp_path)

    assert (built.code, "hgnc " in built.out, "hgnc_id" in built.out) == (0, True, False)
    assert "has other columns than the recipe of 'hgnc_id' expects" in built.err


def test_what_a_recipe_names_is_not_ended_by_a_file_that_none_names(tmp_path: Path) -> None:
    write(tmp_path / "sources", "HumanDO.obo", OBO.replace("zzo", "doid").replace("ZZO", "DOID"))
    few = HEADER.replace("zzo", "doid").replace("01-31", "02-28") + "\n[Term]\nid: DOID:1\nname: thing 1\n"
    write(tmp_path / "sources", "few.obo", few)

    built = kgcheck("reference", "build", "sources", "--out", "reference.duckdb", cwd=tmp_path)

    assert (built.code, "few.obo" in built.out) == (0, False)
    assert "few.obo is of do, of which there is a file that its recipe names: left out" in built.err


def test_kinds_before_ids_and_sources_whose_ids_have_no_prefix(tmp_path: Path) -> None:
    facts = Facts()
    facts.release("uniprot").entity("P00001").entity("P00002", state="merged", now=["P00001"])
    facts.write(tmp_path / "sources")
    snapshot(tmp_path, zzo__obo=OBO)
    ids = {
        "UniProtKB:P00001": "A",
        "UniProtKB:P00002": "B",
        "UniProtKB:P99999": "C",
        "Disease::ZZO:22": "obsolete thing",
    }
    graph(tmp_path, ids)

    report, err = audited(tmp_path)

    found = {(f["subject"]["id"], f["reason"]) for f in report["findings"]}
    assert found == {("UniProtKB:P00002", "id_merged"), ("Disease::ZZO:22", "id_obsolete")}
    assert "uniprot knows 2 of 3 ids of UniProtKB" in err


def test_a_draft_that_was_written_to_be_edited_is_asked_about_too(tmp_path: Path) -> None:
    snapshot(tmp_path, zzo__obo=OBO)
    graph(tmp_path, STATED)
    assert kgcheck("profile", "init", "nodes.tsv", "--out", "mine", cwd=tmp_path).code == 0

    drafted, _ = audited(tmp_path)
    edited, _ = audited(tmp_path, "--profile", "./mine")

    assert reasons(edited) == reasons(drafted)


GENES = (
    "#tax_id\tGeneID\tSymbol\tLocusTag\tSynonyms\tdbXrefs\tchromosome\tmap_location\tdescription\ttype_of_gene\t"
    "Symbol_from_nomenclature_authority\tFull_name_from_nomenclature_authority\tNomenclature_status\t"
    "Other_designations\tModification_date\tFeature_type\n"
    + "".join(
        f"1\t{n}\tGEN{n}\t-\tOLD{n}\t-\t1\t-\tgene number {n}\tprotein-coding\t-\t-\t-\t-\t20260101\t-\n"
        for n in range(1, 21)
    )
)
HISTORY = (
    "#tax_id\tGeneID\tDiscontinued_GeneID\tDiscontinued_Symbol\tDiscontinue_Date\n"
    "1\t2\t71\tX\t20250101\n1\t-\t72\tY\t20250101\n"
)
DRUGS = "DrugBank ID,Accession Numbers,Common name,CAS,UNII,Synonyms,Standard InChI Key\n" + (
    'DB90001,DB90001 | DB90009 | BIOD9,Alpha,,,"Alphine | Alphol",\n'
)


def test_genes_of_ncbi_and_drugs(tmp_path: Path) -> None:
    for name, text in (("gene_info", GENES), ("gene_history", HISTORY), ("drugbank vocabulary.csv", DRUGS)):
        write(tmp_path / "sources", name, text)
    snapshot(tmp_path)
    named = {f"NCBIGene:{n}": ("OLD1", f"GEN{n}", f"gene number {n}")[min(n - 1, 2)] for n in range(1, 20)}
    drugs = {"DRUGBANK:DB90001": "alphol", "DRUGBANK:DB90009": "Alpha", "DRUGBANK:DB90077": "not in the vocabulary"}
    graph(tmp_path, {**named, "NCBIGene:20": "GEN19", "NCBIGene:71": "X", "NCBIGene:72": "Y", **drugs})

    report, err = audited(tmp_path, "--graph-date", "2026-01-01")

    assert {(f["subject"]["id"], f["reason"], f["outcome"]) for f in report["findings"]} == {
        ("NCBIGene:71", "id_merged", "refuted"),
        ("NCBIGene:72", "id_deleted", "refuted"),
        # The file has no date.
        ("NCBIGene:20", "reference_older", "insufficient"),
        ("DRUGBANK:DB90009", "id_secondary", "refuted"),
    }
    assert "drugbank knows 2 of 3 ids of DRUGBANK" in err


def test_a_link_that_leads_out_of_the_folder_is_not_opened(tmp_path: Path) -> None:
    outside = write(tmp_path, "secret.obo", OBO)
    write(tmp_path / "sources", "yyo.obo", OBO.replace("zzo", "yyo").replace("ZZO", "YYO"))
    (tmp_path / "sources/zzo.obo").symlink_to(outside)
    os.mkfifo(tmp_path / "sources/pipe.obo")

    built = kgcheck("reference", "build", "sources", "--out", "reference.duckdb", cwd=tmp_path)

    assert (built.code, "yyo" in built.out, "zzo" in built.out) == (0, True, False)
    assert "zzo.obo leads out of sources: left out" in built.err


def test_of_what_an_extra_would_read_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    write(tmp_path / "sources", "zzo.owl", OWL)
    snapshot(tmp_path, yyo__obo=OBO.replace("zzo", "yyo").replace("ZZO", "YYO"))

    again = kgcheck("reference", "build", "sources", "--out", "again.duckdb", cwd=tmp_path)

    assert "zzo:" in again.err
    assert "left out" in again.err


@pytest.mark.parametrize(
    ("authorities", "code", "told"),
    [
        ('[{ source = "zzo", pattern = "(" }]', 2, "is no regular expression"),
        ('[{ source = "zzo", pattern = "(?P<odd>a)" }]', 2, "an id has no group 'odd'"),
        ('[{ source = "zzo" }]', 2, "needs a source and the pattern"),
        ('[{ pattern = "a" }]', 2, "needs a source and the pattern"),
        ('[{ source = "zzo", pattern = "ZZO:.+" }]', 0, "only tables of facts can state them: zzo"),
    ],
)
def test_authorities_of_a_profile_are_checked(authorities: str, code: int, told: str, tmp_path: Path) -> None:
    graph(tmp_path, STATED)
    assert kgcheck("profile", "init", "nodes.tsv", "--out", "mine", cwd=tmp_path).code == 0
    path = tmp_path / "mine/graph.toml"
    text = path.read_text(encoding="utf-8").replace("[[labels]]", f"[[labels]]\nauthorities = {authorities}", 1)
    path.write_text(text, encoding="utf-8")

    said = kgcheck("profile", "validate", "./mine", cwd=tmp_path)

    assert (said.code, told in said.out + said.err) == (code, True), said.err


TERM = re.compile(r"\n\[Term\]\n(?:[^\n]+\n)+")


def damaged(text: str, kind: str, number: int) -> str:
    """An ontology as it may come: cut, without some terms, undated, of another day, or under another name."""
    terms = TERM.findall(text)
    few = "".join(term for n, term in enumerate(terms) if n % 7 != number % 7)
    match kind:
        case "cut":
            return text[: len(text) - 1 - number % (len(text) // 2)]
        case "cut at a line":
            return "\n".join(text.split("\n")[: -1 - number % 60]) + "\n"
        case "without terms":
            return HEADER + few
        case "few terms":
            return HEADER + "".join(terms[: 1 + number % 5])
        case "undated":
            return re.sub(r"data-version: .*\n", "", HEADER) + few
        case "another day":
            return HEADER.replace("2026-01-31", f"20{10 + number % 30:02}-06-01") + few
        case "another name":
            return (
                HEADER.replace("ontology: zzo", ("ontology: yyo", "ontology: zzo-x", "ontology: zzo/x")[number % 3])
                + few
            )
        case "names exchanged with synonyms":
            return re.sub(r"name: (thing \d+)\n", r'name: other \1\nsynonym: "\1" EXACT []\n', text)
        case _:
            return text


KINDS = (
    *("cut", "cut at a line", "without terms", "few terms", "undated", "another day", "another name"),
    *("names exchanged with synonyms", "whole"),
)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 10**6)), min_size=1, max_size=3), st.booleans())
def test_nothing_that_is_true_is_refuted_by_a_damaged_reference(damages: list[tuple[str, int]], packed: bool) -> None:
    """The graph has what the whole ontology of its day states: references that lack some of it contradict nothing."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for n, (kind, number) in enumerate(damages):
            data = damaged(HEADER + TERMS, kind, number).encode()
            write(folder / "sources", f"{n}.obo" + ".gz" * packed, gzip.compress(data) if packed else data)
        graph(folder, {f"ZZO:{n}": f"thing {n}" for n in range(1, 21)})
        with suppress(KgcheckError):
            build_snapshot(folder / "sources", folder / "reference.duckdb", load_schema(), Settings())
            store = f"files:{folder / 'nodes.tsv'}"
            with Workspace(store=store, reference=folder / "reference.duckdb", ledger=folder / "l.sqlite") as workspace:
                found = workspace.audit(types=["existence", "attribute"]).findings
                assert [(f.task.subject.id, f.verdict.reason) for f in found if f.verdict.outcome == "refuted"] == []


def test_nothing_but_structure_is_looked_at_where_the_snapshot_knows_no_id(tmp_path: Path) -> None:
    snapshot(tmp_path, zzo__obo=OBO)
    graph(tmp_path, {"MONDO:1": "a", "MONDO:2": "b"})

    said = kgcheck("audit", "nodes.tsv", "--reference", "reference.duckdb", "--type", "existence", cwd=tmp_path)
    whole = kgcheck("audit", "nodes.tsv", "--reference", "reference.duckdb", cwd=tmp_path)

    assert (said.code, "--reference" in said.err) == (2, True)
    assert "such ids are listed (mondo 2): kgcheck reference fetch sources/ --source mondo" in whole.err


@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                ["format-version: 1.2\n", "ontology: ", "go\n", "data-version: ", "[Term]\n", '"graphs": [']
            ),
            st.text(max_size=8),
        ),
        max_size=9,
    )
)
def test_any_file_is_an_ontology_or_is_none(parts: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = write(Path(folder), "file", "".join(parts).encode(errors="replace"))
        header = OntologyHeader.of(path)
        assert header is None or header.name
