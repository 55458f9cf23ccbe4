"""What the readers of provider formats make of a file, whole or broken."""

import json
from pathlib import Path

import duckdb
import pytest

from kgcheck.errors import InputFormat, InputMissing
from kgcheck.profile.reference_files import Modification, ReferenceFile
from kgcheck.providers.files import read_obo, read_uniprot_flat, read_uniprot_jsonl
from kgcheck.providers.tsv import Form, check_file, open_tsv
from kgcheck.providers.uniprot_entry import COVERED, Rows

OBO = """format-version: 1.2
date: 14:05:2015 16:40

[Term]
id: X:1
name: root
synonym: "the \\"old\\" root" EXACT []
namespace: kind_a

[Term]
id: X:2
name:  child 
alt_id: X:20
def: "Not \\"the root\\"\\, but its child." [X:curator, url:http\\://x.org]
is_a: X:1 ! root
relationship: part_of X:3 {source="x"} ! part
relationship: regulates X:4
namespace: kind_b

[Term]
id: X:3
name: gone
is_obsolete: true
is_a: X:1
replaced_by: X:1
consider: X:2
xref: Remap: "X:2"

[Term]
id: Y:1
name: of another ontology

[Typedef]
id: part_of
name: part of
"""

SEQUENCE = "MSTYKPLLRS"
FLAT = f"""ID   TEST_HUMAN              Reviewed;          10 AA.
AC   P10001; Q10001;
AC   Q10002;
DT   03-OCT-2006, integrated into UniProtKB/Swiss-Prot.
DT   01-MAR-2001, sequence version 2.
DT   10-FEB-2021, entry version 168.
DE   RecName: Full=Test protein {{ECO:0000303|PubMed:1}};
GN   Name=TST1 {{ECO:0000312|HGNC:HGNC:1}}; Synonyms=T1, T2 {{ECO:1}};
GN   and
GN   Name=TST2;
OS   Homo sapiens (Human).
OC   Eukaryota.
OX   NCBI_TaxID=9606;
CC   -!- INTERACTION:
CC       P10001; Q9Y2J4-4: AMOTL2; NbExp=5; IntAct=EBI-1, EBI-2;
CC       P10001; P10001: TST1; NbExp=3; IntAct=EBI-1, EBI-1;
DR   PDB; 1ABC; X-ray; 2.10 A; A=1-10.
DR   GO; GO:0005634; C:nucleus; IEA:UniProtKB-SubCell.
DR   Reactome; R-HSA-1; Test pathway.
PE   1: Evidence at protein level;
FT   MOD_RES         2
FT                   /note="Phosphoserine; by CK2"
FT                   /evidence="ECO:0000269|PubMed:1"
FT   MOD_RES         10
FT                   /note="Something else"
FT   MOD_RES         P10001-2:3
FT                   /note="Phosphoserine"
SQ   SEQUENCE   10 AA;  1000 MW;  0000000000000000 CRC64;
     {SEQUENCE}
//
"""

OBO_RECIPE = ReferenceFile(glob="x.obo", format="obo", prefix="X:", parents=("is_a", "part_of"), successor_xref="Remap")
FLAT_RECIPE = ReferenceFile(
    glob="x.txt",
    format="uniprot_flat",
    topics={"entity": False, "structure": False, "modification": False, "gene_product": False},
    modifications={"Phosphoserine": Modification(code="p", term="MOD:00046")},
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def links(parsed: Rows, relation: str) -> list[tuple[str, str]]:
    return [(row["head"], row["tail"]) for row in parsed["link"] if row["relation"] == relation]


# OBO


def test_obo_terms(file: Path) -> None:
    file.write_text(OBO, encoding="utf-8")

    parsed, release, released = read_obo(file, OBO_RECIPE)

    told = {e["id"]: (e["namespace"], e["state"], e["successors"], e["candidates"]) for e in parsed["entity"]}
    assert told == {
        "X:1": ("kind_a", "current", [], []),
        "X:2": ("kind_b", "current", [], []),
        "X:20": ("kind_b", "secondary", ["X:2"], []),
        "X:3": (None, "obsolete", ["X:1", "X:2"], ["X:2"]),
    }
    assert [(v["id"], v["value"], v["status"]) for v in parsed["value"]] == [
        ("X:1", "root", "current"),
        ("X:1", 'the "old" root', "synonym"),
        ("X:2", "child", "current"),
        ("X:2", 'Not "the root", but its child. [X:curator, url:http://x.org]', "current"),
        ("X:3", "gone", "current"),
    ]
    assert [v["id"] for v in parsed["value"] if v["attribute"] == "definition"] == ["X:2"]
    assert links(parsed, "parent") == [("X:2", "X:1"), ("X:2", "X:3")]
    assert (release, released) == ("2015-05-14", "2015-05-14")


@pytest.mark.parametrize(
    ("header", "release", "released"),
    [
        ("date: 14:05:2015 16:40\n", "2015-05-14", "2015-05-14"),
        ("data-version: releases/2024-06-17\n", "2024-06-17", "2024-06-17"),
        ("data-version: doid/releases/2024-01-31/doid.obo\n", "doid/releases/2024-01-31/doid.obo", "2024-01-31"),
        ("data-version: 1.031.6\ndate: 13:06:2021 12:12\n", "1.031.6", "2021-06-13"),
        ("data-version: 1.031.6\n", "1.031.6", ""),
        ("", "", ""),
    ],
)
def test_obo_release(file: Path, header: str, release: str, released: str) -> None:
    file.write_text(OBO.replace("date: 14:05:2015 16:40\n", f"ontology: x\n{header}"), encoding="utf-8")

    assert read_obo(file, OBO_RECIPE)[1:] == (release, released)


# UniProt


def test_uniprot_entry(file: Path) -> None:
    file.write_text(FLAT, encoding="utf-8")

    ((parsed, released),) = read_uniprot_flat(file, FLAT_RECIPE)

    assert [(e["id"], e["state"], e.get("successors")) for e in parsed["entity"]] == [
        ("P10001", "current", []),
        ("Q10001", "merged", ["P10001"]),
        ("Q10002", "merged", ["P10001"]),
    ]
    assert [(v["attribute"], v["value"], v["status"]) for v in parsed["value"]] == [
        ("entry_name", "TEST_HUMAN", "current"),
        ("sequence", SEQUENCE, "current"),
        ("length", "10", "current"),
        ("protein_name", "Test protein", "current"),
        ("taxid", "9606", "current"),
        ("gene_name", "TST1", "current"),
        ("gene_name", "T1", "synonym"),
        ("gene_name", "T2", "synonym"),
        ("gene_name", "TST2", "current"),
    ]
    assert links(parsed, "structure") == [("P10001", "1ABC")]
    assert links(parsed, "go_annotation") == [("P10001", "GO:0005634")]
    assert links(parsed, "pathway") == [("P10001", "R-HSA-1")]
    assert links(parsed, "gene_product") == [("TST1", "P10001"), ("TST2", "P10001")]
    assert links(parsed, "interaction") == [("P10001", "Q9Y2J4"), ("P10001", "P10001")]
    assert links(parsed, "modified_site") == [("P10001", "P10001_S2-p")]
    assert links(parsed, "modification") == [("P10001_S2-p", "MOD:00046")]
    assert released == "2021-02-10"
    # What a recipe has no topic for is left out where the rows go into a snapshot, see test_reference_build.
    assert {(c["topic"], c["id"]) for c in parsed["covered"]} == {
        ("modification", "P10001_S2-p"),
        *((kind, "P10001") for kind in COVERED),
    }


def test_both_formats_of_an_entry_state_the_same(tmp_path: Path) -> None:
    def located(value: int, sequence: str | None = None) -> dict[str, object]:
        place = {"value": value, "modifier": "EXACT"}
        return {"start": place, "end": place} | ({"sequence": sequence} if sequence else {})

    def residue(note: str, **at: object) -> dict[str, object]:
        return {"type": "Modified residue", "description": note, "location": at["location"]}

    entry = {
        "entryType": "UniProtKB reviewed (Swiss-Prot)",
        "primaryAccession": "P10001",
        "secondaryAccessions": ["Q10001", "Q10002"],
        "uniProtkbId": "TEST_HUMAN",
        "proteinDescription": {"recommendedName": {"fullName": {"value": "Test protein"}}},
        "genes": [
            {"geneName": {"value": "TST1"}, "synonyms": [{"value": "T1"}, {"value": "T2"}]},
            {"geneName": {"value": "TST2"}},
        ],
        "organism": {"taxonId": 9606},
        "sequence": {"value": SEQUENCE, "length": 10},
        "comments": [
            {
                "commentType": "INTERACTION",
                "interactions": [
                    {
                        "interactantOne": {"uniProtKBAccession": "P10001"},
                        "interactantTwo": {"uniProtKBAccession": partner},
                    }
                    for partner in ("Q9Y2J4-4", "P10001")
                ],
            }
        ],
        "features": [
            residue("Phosphoserine; by CK2", location=located(2)),
            residue("Something else", location=located(10)),
            residue("Phosphoserine", location=located(3, "P10001-2")),
        ],
        "uniProtKBCrossReferences": [
            {"database": "PDB", "id": "1ABC"},
            {"database": "GO", "id": "GO:0005634"},
            {"database": "Reactome", "id": "R-HSA-1"},
        ],
    }
    flat, lines = tmp_path / "flat.txt", tmp_path / "lines.jsonl"
    flat.write_text(FLAT, encoding="utf-8")
    lines.write_text(json.dumps(entry) + "\n", encoding="utf-8")

    ((of_flat, _),), ((of_json, _),) = read_uniprot_flat(flat, FLAT_RECIPE), read_uniprot_jsonl(lines, FLAT_RECIPE)

    assert of_flat == of_json


@pytest.mark.parametrize(
    "place", ["?", "?3", "<3", "300"], ids=["unknown", "uncertain", "before", "beyond the sequence"]
)
def test_a_site_is_where_the_sequence_has_a_residue(file: Path, place: str) -> None:
    file.write_text(FLAT.replace("MOD_RES         2\n", f"MOD_RES         {place}\n"), encoding="utf-8")

    ((parsed, _),) = read_uniprot_flat(file, FLAT_RECIPE)

    found = links(parsed, "modified_site")
    assert found == ([("P10001", "P10001_T3-p")] if "3" in place and place != "300" else [])


@pytest.mark.parametrize("kind", ["OBO", "UniProt"])
def test_what_is_of_another_kind_or_not_whole_is_refused(file: Path, kind: str) -> None:
    lines = FLAT.splitlines(keepends=True)
    without = {tag: "".join(line for line in lines if not line.startswith(tag)).encode() for tag in ("DT", "AC")}
    others = {
        "OBO": (OBO.replace("root", "rööt").encode("latin-1"), b"[Term]\nno tag here\n", b"ontology: x\n"),
        "UniProt": (
            *(FLAT.replace("Test protein", "Tést").encode("latin-1"), FLAT[: len(FLAT) // 2].encode(), b"\n\n"),
            *(FLAT.removesuffix("//\n").encode(), without["DT"], without["AC"]),
        ),
    }
    for content in (b"\x00\xff\xfe\x80binary", b"id\tname\nX:1\troot\n", *others[kind]):
        file.write_bytes(content)
        with pytest.raises(InputFormat, match=kind):
            read_obo(file, OBO_RECIPE) if kind == "OBO" else list(read_uniprot_flat(file, FLAT_RECIPE))


# tables


def table(file: Path, content: bytes, columns: tuple[str, ...] = ()) -> list[tuple[str | None, ...]]:
    file.write_bytes(content)
    with duckdb.connect() as db:
        open_tsv(db, "it", file, Form(header=not columns, columns=columns))
        return db.execute("FROM it").fetchall()


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"a\tb\n1\t2\n", [("1", "2")]),
        (b"a\tb\r\n1\t2\r\n", [("1", "2")]),
        (b"\xef\xbb\xbfa\tb\n1\t2\n", [("1", "2")]),
        (b"a\tb\n1\t2", [("1", "2")]),
        (b"a\tb\n", []),
        (b"a\tb\n\t2\n1\t\n", [(None, "2"), ("1", None)]),
        (b'"a"\t"b"\n"1"\t"2 ""x"""\n', [("1", '2 "x"')]),
        (b'a\tb\n1\t"2\t\n3"\n', [("1", "2\t\n3")]),
        (b"a\tb\n3'-5'\tsay \"x\" so\n", [("3'-5'", 'say "x" so')]),
        (b"#a\tb\n#1\tNULL\n", [("#1", "NULL")]),
        ("a\tb\nα\tnaïve\n".encode(), [("α", "naïve")]),  # noqa: RUF001
        # What looks like a number, a date or a missing value stays what it is.
        (b"a\tb\n007\t1-Mar\n1e5\tNA\n", [("007", "1-Mar"), ("1e5", "NA")]),
    ],
)
def test_table(file: Path, content: bytes, rows: list[tuple[str | None, ...]]) -> None:
    assert table(file, content) == rows


@pytest.mark.parametrize(
    "content",
    [
        b"a\tb\n1\n",
        b"a\tb\n1\t2\t3\n",
        b"a\tb\n1\t2\n3\t4\n5",
        b'a\tb\n1\t"2\n3\t4\n',
        b'a\tb\n1\t"x" y\n',
        "a\tb\n1\té\n".encode("latin-1"),
        "é\tb\n1\t2\n".encode("latin-1"),
        b"a\ta\n1\t2\n",
        b"a\t\n1\t2\n",
        b"\x1f\x8b\x08\x00binary",
    ],
)
def test_what_is_no_table_is_refused(file: Path, content: bytes) -> None:
    with pytest.raises(InputFormat) as caught:
        table(file, content)

    assert str(file) in caught.value.message
    assert "\n" not in caught.value.message


def test_table_without_a_header_has_as_many_columns_as_named(file: Path) -> None:
    assert table(file, b"1\t2\n", columns=("a", "b")) == [("1", "2")]
    for content in (b"1\n", b"1\t2\t3\n"):
        with pytest.raises(InputFormat):
            table(file, content, columns=("a", "b"))


def test_file_that_is_missing_empty_or_cut_off_is_refused(file: Path) -> None:
    with pytest.raises(InputMissing, match="No such file"):
        check_file(file, whole_lines=True)
    file.touch()
    with pytest.raises(InputFormat, match="is empty"):
        check_file(file, whole_lines=False)
    file.write_text("a\tb")
    with pytest.raises(InputFormat, match="has no end"):
        check_file(file, whole_lines=True)
    check_file(file, whole_lines=False)
