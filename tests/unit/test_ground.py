"""`kgcheck ground` over a note: forms, thresholds, limits, repairs, errors."""

import json
from pathlib import Path

import pytest

from kgcheck.grounding.remarks import Remark
from tests.support import ROOT
from tests.support.audits import Said, kgcheck

NOTE = """# Abstract

ABC1 was seen in 73.1% of treated mice [1,9]. It rose by 35%.

# Results

ABC1 was seen in 71.2% of treated mice [2].

# References

1. Lee A, Roe B. A made-up title about mice. J Made Up. 2010;1:1-2.
2. Poe C. Another made-up title. J Made Up. 2012;1:3-4.
"""

RESULTS = '{"treated mice with ABC1": {"value": 71.2, "unit": "%"}, "rise": 0.35}'


@pytest.fixture
def note(tmp_path: Path) -> Path:
    (tmp_path / "results.json").write_text(RESULTS, encoding="utf-8")
    path = tmp_path / "note.md"
    path.write_text(NOTE, encoding="utf-8")
    return path


def ground(note: Path, *more: object) -> Said:
    return kgcheck("ground", note, "--results", note.with_name("results.json"), *more, cwd=note.parent)


def test_json_has_every_sentence_with_its_remarks(note: Path) -> None:
    said = ground(note, "--format", "json")

    whole = json.loads(said.out)
    assert said.code == 1
    assert [(s["state"], [r["remark"] for r in s["remarks"]]) for s in whole["sentences"]] == [
        ("contradicted", ["number_differs", "marker_out_of_range"]),
        ("verified", ["number_verified"]),
        ("verified", ["number_verified"]),
    ]
    assert whole["sentences"][0]["remarks"][0]["found"] == "71.2 %"
    assert whole["measures"]["mismatches"] == 1
    # Half of a third of the keys, three tenths of a twentieth; every reference is cited.
    assert whole["measures"]["hallucination_penalty"] == pytest.approx(0.5 / 3 + 0.3 * 0.05)
    assert set(whole["not_looked"]) == {"graph", "papers", "references"}


def test_thresholds_and_limits_decide_the_exit_code(note: Path) -> None:
    assert ground(note, "--fail-on", "never").code == 0
    assert ground(note, "--fail-on", "never", "--max", "number_differs=0").code == 1
    assert ground(note, "--fail-on", "never", "--max", "number_differs=1", "--min-coverage", "1").code == 0
    assert ground(note, "--max", "nothing=0").refuses("")


def test_every_form_is_written_to_a_folder_and_hostile_words_stay_words(note: Path) -> None:
    note.write_text(NOTE.replace("It rose", "<script>alert(1)</script> rose"), encoding="utf-8")

    ground(note, "--out", note.with_name("out"))

    html = note.with_name("out").joinpath("ground.html").read_text(encoding="utf-8")
    assert 'class="sentence contradicted"' in html
    assert "script-src 'sha256-" in html
    assert "<script>alert" not in html
    assert "| line 3 | contradicted |" in note.with_name("out").joinpath("ground.md").read_text(encoding="utf-8")


def test_what_cannot_be_read_is_one_clear_error(note: Path) -> None:
    note.with_name("empty.md").write_text("", encoding="utf-8")
    for name in ("missing.md", "empty.md"):
        assert kgcheck("ground", name, cwd=note.parent).refuses(), name
    assert kgcheck("ground", "note.md", "--results", "note.md", cwd=note.parent).refuses("note.md is no JSON")


def test_every_remark_has_words_and_the_docs_have_them() -> None:
    docs = (ROOT / "docs/grounding.md").read_text(encoding="utf-8")
    table = docs.partition("<!-- remarks -->")[2].partition("<!-- end of remarks -->")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in table.strip().splitlines()[2:]]

    assert rows == [[f"`{remark.value}`", remark.words] for remark in Remark]


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    text = "Abstract\n\n<script>alert(1)</script> was seen in 5 mice [7].\n\nReferences\n\n1. Lee A. T. 2010.\n"
    path.write_text(text, encoding="utf-8")

    html = kgcheck("ground", path, "--format", "html", cwd=tmp_path).out

    assert "<script>alert" not in html
    assert "&lt;script&gt;alert" in html
