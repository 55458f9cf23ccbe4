"""A brief over the demo and made-up papers: what is verified, what papers say, what is open."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kgcheck.errors import UnknownName
from kgcheck.grounding.brief import Brief, BriefFact, FactKind
from kgcheck.literature.corpus import Corpus
from kgcheck.model import Outcome, Ref
from kgcheck.report.documents import page
from kgcheck.workspace import Workspace
from tests.support.audits import demo, kgcheck

NOTES: tuple[tuple[str, str, str, list[str]], ...] = (
    ("pmid:900000001", "A", "TLR4 binds TNF directly in cells. The complex of TLR4 and TNF was seen twice.", []),
    ("pmid:900000002", "B", "TLR4 did not bind IL6. No interaction of TLR4 with IL6 was found.", []),
    ("pmid:900000004", "D", "The binding of TLR40 and TNFX was strong in the kidney.", []),
    ("pmid:900000003", "C", "TLR4 interacts with TYK2 in all cells.", ["Retracted Publication"]),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger of one audit of what is around TLR4, and an index of made-up papers."""
    folder = tmp_path_factory.mktemp("brief")
    lines = [json.dumps({"id": i, "title": t, "abstract": a, "types": k}) for i, t, a, k in NOTES]
    (folder / "notes.jsonl").write_text("\n".join(lines))
    with Corpus(folder / "index", create=True) as corpus:
        corpus.add([folder / "notes.jsonl"])
        corpus.build(None)
    with _workspace(folder) as workspace:
        workspace.audit(types=["existence", "triple", "potential"], labels=["Protein"], ids=["O00206"])
    return folder


def _workspace(folder: Path, **more: Any) -> Workspace:
    return Workspace(store=demo().store, reference=demo().reference, ledger=folder / "ledger.sqlite", **more)


@pytest.fixture(scope="module")
def brief(place: Path) -> Brief:
    with _workspace(place, literature=place / "index") as workspace:
        return workspace.brief("Protein O00206")


def of_kind(brief: Brief, kind: FactKind) -> list[BriefFact]:
    return [fact for fact in brief.facts if fact.kind is kind]


def test_what_is_verified_names_the_finding_and_the_record(brief: Brief) -> None:
    facts = {fact.text: fact for fact in of_kind(brief, FactKind.VERIFIED)}
    fact = facts["TLR4 interacts with TNF."]

    assert fact.task is not None
    assert fact.rests_on == (f"finding {fact.task.fingerprint}", "string web-dsx TLR4-TNF")
    assert f"{fact.text} [{'; '.join(fact.rests_on)}]\n" in page("brief", "markdown", brief=brief)
    assert fact.theme == "Protein ACTS_ON Protein"
    assert "TLR4 is expressed in kidney." in facts
    assert {fact.outcome for fact in facts.values()} == {Outcome.SUPPORTED}


def test_what_is_refuted_or_missing_is_named_as_that(brief: Brief) -> None:
    (refuted,), (missing,) = of_kind(brief, FactKind.REFUTED), of_kind(brief, FactKind.MISSING)

    assert refuted.text == "The graph states that TLR4 is expressed in CL-48 cell: refuted (endpoint deleted)."
    assert missing.text == "Missing from the graph, and known to string: TLR4 interacts with CD14."
    assert missing.rests_on[1] == "string web-dsx CD14-TLR4"


def test_what_papers_say_for_and_against(brief: Brief) -> None:
    said_for, against = of_kind(brief, FactKind.PAPER_FOR), of_kind(brief, FactKind.PAPER_AGAINST)
    contested = of_kind(brief, FactKind.CONTESTED)

    assert [(fact.quote, fact.rests_on) for fact in said_for] == [
        ("TLR4 binds TNF directly in cells.", ("pmid:900000001",))
    ]
    assert {fact.rests_on for fact in against} == {("pmid:900000002",)}
    # A source supports it, a paper contradicts it: no verified fact.
    assert [str(fact.task) for fact in contested if fact.task] == ["P05231 ACTS_ON O00206"]
    assert "pmid:900000002" in contested[0].rests_on
    assert not any("IL6" in fact.text and "TLR4" in fact.text for fact in of_kind(brief, FactKind.VERIFIED))


def test_a_retracted_paper_is_named_and_does_not_count(brief: Brief) -> None:
    assert not any("pmid:900000003" in fact.rests_on for fact in brief.facts)
    assert any("retracted" in note and "pmid:900000003" in note for note in brief.notes)


def test_every_sentence_rests_on_something_that_is_referred_to(brief: Brief) -> None:
    known = ("finding ", "graph ", *(reference.id for reference in brief.references))

    assert len({fact.id for fact in brief.facts}) == len(brief.facts)
    assert all(fact.rests_on and all(i.startswith(known) for i in fact.rests_on) for fact in brief.facts)


def test_without_an_audit_nothing_is_verified(tmp_path: Path, place: Path) -> None:
    shutil.copy(place / "ledger.sqlite", tmp_path / "ledger.sqlite")
    with _workspace(tmp_path) as workspace:
        made = workspace.brief("Q9UMR5")

    assert of_kind(made, FactKind.VERIFIED) == []
    assert {fact.rests_on[0].split()[0] for fact in of_kind(made, FactKind.UNVERIFIED)} == {"graph"}
    assert "nobody has looked" in of_kind(made, FactKind.UNVERIFIED)[0].text


@pytest.mark.slow
def test_a_symbol_and_a_topic_name_nodes(place: Path) -> None:
    with _workspace(place, literature=place / "index") as workspace:
        symbol = workspace.brief("TLR4", limit=3)
        topic = workspace.brief("the binding of TLR4 and TNF", limit=3)
        words = workspace.brief("cells seen twice", limit=3)
    with _workspace(place) as workspace, pytest.raises(UnknownName, match="no node"):
        workspace.brief("weather")

    assert symbol.nodes == (Ref(label="Gene", id="TLR4"), Ref(label="Protein", id="O00206"))
    assert set(topic.nodes) >= {Ref(label="Protein", id="O00206"), Ref(label="Protein", id="P01375")}
    assert any("more edges" in note for note in topic.notes)
    quoted = {fact.rests_on for fact in of_kind(topic, FactKind.PAPER_ON)}
    assert ("pmid:900000001",) in quoted
    assert ("pmid:900000004",) not in quoted
    assert {kind for fact in words.facts for kind in [fact.kind]} == {FactKind.PAPER_ON}
    assert not any("pmid:900000003" in fact.rests_on for fact in words.facts)


@pytest.mark.parametrize("format_", ["markdown", "html"])
def test_a_hostile_name_is_only_shown(brief: Brief, format_: str) -> None:
    evil = '<script>alert(1)</script>](http://x.example) `"'
    fact = brief.facts[0].model_copy(update={"text": evil, "rests_on": (evil,), "theme": evil})
    text = page("brief", format_, brief=brief.model_copy(update={"facts": (fact,), "of": evil, "notes": (evil,)}))

    assert "<script" not in text
    assert format_ == "html" or "](http" not in text.partition("## References")[0]


@pytest.mark.slow
def test_the_command_writes_three_forms(place: Path, tmp_path: Path) -> None:
    options = ("--store", demo().store, "--ledger", place / "ledger.sqlite", "--limit", "30")
    markdown = kgcheck("brief", "Protein", "O00206", *options)
    html = kgcheck("brief", "O00206", *options, "--format", "html", "--out", tmp_path / "brief.html")
    as_json = kgcheck("brief", "O00206", *options, "--format", "json")

    assert (markdown.code, html.code, as_json.code) == (0, 0, 0), markdown.err + html.err + as_json.err
    assert "TLR4 interacts with TNF. [finding" in markdown.out.replace("\\", "")
    written = (tmp_path / "brief.html").read_text()
    assert "default-src 'none'" in written
    assert len(json.loads(as_json.out)["facts"]) == markdown.out.count("\n- F")
    assert kgcheck("brief", "weather", *options).code == 2
