"""``kgcheck pin``: what was mended once is held in every later release, without a ledger."""

import json
from pathlib import Path

import pytest

from tests.support.audits import kgcheck

NODES = """id\tcategory\tname
HGNC:1884\tbiolink:Gene\tCFTR
MONDO:0009061\tbiolink:Disease\tcystic fibrosis
MONDO:0005148\tbiolink:Disease\ttype 2 diabetes mellitus
"""
HEADER = "subject\tpredicate\tobject\tprimary_knowledge_source\tknowledge_level\tagent_type\n"
GOOD = "HGNC:1884\tbiolink:related_to\tMONDO:0009061\tinfores:omim\tknowledge_assertion\tmanual_agent\n"
BAD = "HGNC:1884\tbiolink:related_to\tMONDO:0005148\tinfores:textmining\tprediction\ttext_mining_agent\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGCHECK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KGCHECK_BY", "ana")


def release(folder: Path, *edges: str, nodes: str = NODES) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "nodes.tsv").write_text(nodes, encoding="utf-8")
    (folder / "edges.tsv").write_text(HEADER + "".join(edges), encoding="utf-8")
    return folder


def pin(*words: str, cwd: Path) -> None:
    assert kgcheck("pin", "add", *words, cwd=cwd).code == 0


def test_what_was_mended_and_comes_back_fails_the_next_release_and_names_who_brought_it(tmp_path: Path) -> None:
    pin("must_not", "HGNC:1884", "biolink:related_to", "MONDO:0005148", "--because", "PMID:1", cwd=tmp_path)
    pin("must", "HGNC:1884", "--property", "name", "--value", "CFTR", "--because", "HGNC", cwd=tmp_path)
    release(tmp_path / "v1", GOOD)
    release(tmp_path / "v2", GOOD, BAD, nodes=NODES.replace("CFTR", "MRP7"))

    first = kgcheck("audit", "v1", "--without-rule", "orphan_node", cwd=tmp_path)
    second = kgcheck("audit", "v2", "--ledger", "other.sqlite", "--format", "json", cwd=tmp_path)

    assert "kgcheck.pins.tsv: 2 pins, all kept" in first.err
    assert (second.code, "kgcheck.pins.tsv: 2 pins, 2 not kept" in second.err) == (1, True)
    found = {f["reason"]: f for f in json.loads(second.out)["findings"] if f["reason"].startswith("pinned")}
    assert {name: (f["outcome"], f["value"].partition(" (ana")[0]) for name, f in found.items()} == {
        "pinned_absent": ("refuted", "mended, lost again, name is 'MRP7' (nodes.tsv, line 2); must be: HGNC"),
        "pinned_returned": (
            "refuted",
            "mended, returned (edges.tsv, line 3, of infores:textmining); must not be: PMID:1",
        ),
    }
    (evidence,) = found["pinned_returned"]["evidence"]
    assert (evidence["source"], evidence["record"], evidence["stance"]) == ("pins", "PMID:1", "contradicts")


def test_a_pin_is_made_of_a_finding_and_its_decision(tmp_path: Path) -> None:
    release(tmp_path / "v1", GOOD, GOOD, BAD.replace("0005148", "0000000"))
    audit = kgcheck("audit", "v1", "--format", "json", cwd=tmp_path)
    dangling = next(f["fingerprint"] for f in json.loads(audit.out)["findings"] if f["reason"] == "dangling_edge")
    assert kgcheck("pin", "add", "must_not", "--finding", dangling, cwd=tmp_path).refuses("a pin names its subject")
    kgcheck("decide", dangling, "accept", "--note", "PMID:77", cwd=tmp_path)

    pin("must_not", "--finding", dangling, cwd=tmp_path)
    listed = json.loads(kgcheck("pin", "list", "--format", "json", cwd=tmp_path).out)

    wanted = ("must_not", "HGNC:1884", "biolink:related_to", "MONDO:0000000", "PMID:77", "ana")
    assert [tuple(row[k] for k in ("pin", "subject", "predicate", "object", "because", "by")) for row in listed] == [
        wanted
    ]
    assert "1 not kept" in kgcheck("audit", "v1", cwd=tmp_path).err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("pin\tsubject\tbecause\nmust\tHGNC 1884\tx\n", "kgcheck.pins.tsv:2: subject: 'HGNC 1884' has a space"),
        ("pin\tsubject\twhy\n", "kgcheck.pins.tsv:1: there is no column 'why'"),
    ],
)
def test_a_wrong_pins_file_ends_with_2_before_the_graph_is_read(tmp_path: Path, text: str, why: str) -> None:
    release(tmp_path / "v1", GOOD)
    (tmp_path / "kgcheck.pins.tsv").write_text(text, encoding="utf-8")

    audit = kgcheck("audit", "v1", cwd=tmp_path)

    assert (audit.code, audit.out) == (2, "")
    assert audit.err.startswith(f"kgcheck: {why}")
    assert not (tmp_path / "home").exists()


def test_what_is_mended_again_is_fixed_or_gone_and_without_pins_it_is_unchecked(tmp_path: Path) -> None:
    named = ("--release-of", "g", "--fail-on", "new", "--without-rule", "orphan_node", "--without-rule", "counts")

    def audit(*edges: str) -> tuple[int, set[tuple[str, str]]]:
        code = kgcheck("audit", str(release(tmp_path / "v", *edges)), *named, cwd=tmp_path).code
        diff = json.loads(kgcheck("diff", "--format", "json", cwd=tmp_path).out)
        return code, {(f["reason"].removeprefix("pinned_"), f["state"]) for f in diff["findings"]}

    pin("must_not", "HGNC:1884", "biolink:related_to", "MONDO:0005148", "--because", "PMID:1", cwd=tmp_path)
    pin("must", "HGNC:1884", "biolink:related_to", "MONDO:0009061", "--because", "PMID:1", cwd=tmp_path)
    assert audit(GOOD) == (0, set())
    assert audit(BAD) == (1, {("returned", "new"), ("absent", "new")})
    assert audit(BAD) == (0, set())
    assert audit(GOOD) == (0, {("returned", "gone"), ("absent", "fixed")})
    audit(BAD)
    (tmp_path / "kgcheck.pins.tsv").unlink()
    assert audit(BAD) == (0, {("returned", "unchecked"), ("absent", "unchecked")})
