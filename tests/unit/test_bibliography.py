"""A bibliography snapshot: built from four forms, merged, looked up, and refused where it is something else."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.errors import InputFormat, InputMissing, SnapshotError, UnknownName
from kgcheck.literature.bibliography import Bibliography, BuiltBibliography, build_bibliography, read_works
from kgcheck.literature.papers import CitedWork
from kgcheck.literature.works import Work, WorksFound
from kgcheck.settings import Settings
from tests.support.audits import kgcheck
from tests.support.jats import article, related
from tests.support.paper_services import alex_work, crossref_work, pubmed_record

Make = Callable[..., tuple[BuiltBibliography, Bibliography]]
RETRACTED = (
    '<CommentsCorrectionsList><CommentsCorrections RefType="RetractionIn"><PMID>99</PMID></CommentsCorrections>'
    "</CommentsCorrectionsList>"
)


def pubmed(*records: str) -> str:
    return f"<PubmedArticleSet>{''.join(records)}</PubmedArticleSet>"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def build(files: dict[str, str | bytes], **more: object) -> tuple[BuiltBibliography, Bibliography]:
        folder = tmp_path / "files"
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        out = tmp_path / "works.duckdb"
        built = build_bibliography(folder, out, Settings(), **more)  # type: ignore[arg-type]
        return built, Bibliography(out)

    return build


def find(bibliography: Bibliography, **fields: object) -> WorksFound:
    return bibliography.find([CitedWork(key="1", **fields)])[0]


def one(bibliography: Bibliography, **fields: object) -> Work:
    (work,) = find(bibliography, **fields).by_id
    return work


def test_records_of_one_work_are_merged_and_all_values_kept(make: Make) -> None:
    alex = alex_work(7, doi="https://doi.org/10.5555/p7", authorships=[{"author": {"display_name": "Jan van Doe"}}])
    crossref = crossref_work("10.5555/P7", PMID="7")
    built, bibliography = make(
        {
            "a/pubmed.xml.gz": gzip.compress(pubmed(pubmed_record(7, RETRACTED)).encode()),
            "b/part_000.gz": gzip.compress(json.dumps(alex).encode()),
            "crossref.jsonl": json.dumps(crossref),
        }
    )
    with bibliography:
        work = one(bibliography, pmid="7")
        assert (built.works, built.statements) == (1, {"crossref": 1, "openalex": 1, "pubmed": 1})
        assert work == one(bibliography, doi="10.5555/P7")
        assert {"doi:10.5555/p7", "pmid:7", "openalex:W7"} <= set(work.ids)
        assert work.years == (2011, 2012, 2015)
        assert set(work.titles) == {"Kinase 7", crossref["title"][0]}
        assert set(work.authors) == {"Doe Jane", "van Doe Jan"}
        assert (work.retracted, work.notices) == (True, ("pmid:99",))
        assert set(bibliography.cites("pmid:7")) == {"openalex:W9", "pmid:77"}


def test_a_list_joins_no_works_and_is_kept_as_such(make: Make) -> None:
    back = (
        '<ref-list><ref id="r1"><element-citation><name><surname>Roe</surname><given-names>R</given-names></name>'
        "<article-title>Another title than that of the record here</article-title><year>2001</year>"
        '<pub-id pub-id-type="doi">10.5555/p7</pub-id><pub-id pub-id-type="pmid">8</pub-id></element-citation></ref>'
        '<ref id="r2"><element-citation><name><surname>Doe</surname></name>'
        "<article-title>On growth of kinases in living cells</article-title><year>1999</year></element-citation></ref>"
        "</ref-list>"
    )
    papers = {f"{n}.xml": article(f"10.5555/paper{n}", pmid=str(50 + n), back=back) for n in (1, 2)}
    built, bibliography = make({**papers, "p.xml": pubmed(pubmed_record(7), pubmed_record(8))})
    with bibliography:
        seven, eight = one(bibliography, doi="10.5555/p7"), one(bibliography, pmid="8")
        assert seven.titles == ("Kinase 7",)
        assert eight.titles == ("Kinase 8",)
        assert sum(s.stated_by == "reference_list" for s in seven.statements) == 2
        # Two lists name it alike, and no record: one work that is known from lists alone.
        (listed,) = find(bibliography, title="On growth of kinases in living cells", authors=("Doe J",)).similar
        assert (listed.recorded, len(listed.statements)) == (False, 2)
        assert (built.works, bibliography.cites("pmid:51")) == (5, ("doi:10.5555/p7",))
        assert one(bibliography, pmid="51").authors == ()


def test_a_work_is_found_by_a_title_with_another_word_and_by_its_place(make: Make) -> None:
    _, bibliography = make({"c.jsonl": json.dumps(crossref_work("10.5555/c"))})
    with bibliography:
        title = "Kinase A leaves kinase B in growing yeast cells"
        assert find(bibliography, title=title, authors=("Doe J",)).similar
        assert find(bibliography, title="Quite another one", authors=("Doe J",), text="Doe J 33 (3): 588-602").similar
        assert not find(bibliography, title="Quite another one", authors=("Doe J",), text="Doe J 33: 602").similar


def test_retractions_come_from_lists_notices_and_records(make: Make, tmp_path: Path) -> None:
    listing = tmp_path / "retracted.tsv"
    listing.write_text("7\n8\n")
    notice = article("10.5555/notice", related=related("retracted-article", "10.5555/p9"))
    updated = crossref_work("10.5555/u", **{"updated-by": [{"DOI": "10.5555/n2", "type": "retraction"}]})
    _, bibliography = make(
        {"p.xml": pubmed(*map(pubmed_record, (7, 9, 10))), "n.xml": notice, "u.json": json.dumps({"items": [updated]})},
        retractions=[listing],
    )
    with bibliography:
        assert one(bibliography, pmid="7").retracted
        # Nothing else speaks of this one.
        listed = one(bibliography, pmid="8")
        assert (listed.retracted, listed.recorded, listed.titles) == (True, False, ())
        assert one(bibliography, pmid="9").notices == ("doi:10.5555/notice",)
        assert one(bibliography, doi="10.5555/u").notices == ("doi:10.5555/n2",)
        assert not one(bibliography, pmid="10").retracted
        assert [r.source for r in bibliography.releases()] == ["jats", "pubmed", "crossref", "retractions"]


def test_only_a_complete_source_says_that_an_id_does_not_exist(make: Make) -> None:
    files: dict[str, str | bytes] = {"p.xml": pubmed(pubmed_record(7))}
    _, some = make(files)
    with some:
        assert find(some, pmid="12").absent == ()
        assert [e.source for e in find(some, pmid="12").looked] == ["pubmed"]
    _, every = make(files, complete=["pubmed"], releases={"pubmed": "2026"})
    with every:
        (absent,) = find(every, pmid="12").absent
        assert (absent.source, absent.release, absent.record) == ("pubmed", "2026", "pmid:12")
        # PubMed owns no DOIs.
        assert find(every, doi="10.5555/q").absent == ()


def test_crossref_denies_no_doi_of_another_agency(make: Make) -> None:
    _, every = make({"c.jsonl": json.dumps(crossref_work("10.5555/c"))}, complete=["crossref"])
    with every:
        (absent,) = find(every, doi="10.5555/none").absent
        assert (absent.source, absent.record) == ("crossref", "doi:10.5555/none")
        assert find(every, doi="10.5281/zenodo.7").absent == ()


def test_issue_and_pages_are_read_back(make: Make) -> None:
    _, bibliography = make({"c.jsonl": json.dumps(crossref_work("10.5555/c", issue="3", page="588-602"))})
    with bibliography:
        (stated,) = one(bibliography, doi="10.5555/c").statements
        assert (stated.issue, stated.page, stated.last_page) == ("3", "588", "602")


def test_what_cannot_be_read_goes_to_the_quarantine(make: Make) -> None:
    built, bibliography = make(
        {
            "good.jsonl": json.dumps(crossref_work("10.5555/c")) + "\n{\n" + json.dumps({"x": 1}),
            "long.jsonl": json.dumps(crossref_work("10.5555/l", title=["a" * 3_000])),
            "wrong.jsonl": json.dumps(crossref_work("10.5555/w", title=7)),
            "cut.xml": "<PubmedArticleSet><PubmedArticle>",
            "page.xml": "<html><body/></html>",
            "none.xml": article("", pmid=""),
            "mine.json": "[1]",
        }
    )
    bibliography.close()
    rejected = [json.loads(line) for line in built.quarantine.read_text().splitlines()]

    assert (built.works, built.rejected) == (1, 8)
    assert {r["reason"] for r in rejected} == {"malformed", "too_long", "no_id"}
    assert all(r["place"] for r in rejected)


def test_what_is_no_bibliography_is_refused(make: Make, tmp_path: Path) -> None:
    _, bibliography = make({"p.xml": pubmed(pubmed_record(7))})
    bibliography.close()
    path = tmp_path / "works.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE VIEW work_now AS SELECT 1")
    other = tmp_path / "text.duckdb"
    other.write_text("no database")

    for place in (path, other, tmp_path / "missing.duckdb"):
        with pytest.raises(SnapshotError):
            Bibliography(place)


def test_a_snapshot_with_a_hole_is_damaged(make: Make, tmp_path: Path) -> None:
    _, bibliography = make({"p.xml": pubmed(pubmed_record(7))})
    bibliography.close()
    with duckdb.connect(str(tmp_path / "works.duckdb")) as db:
        db.execute("UPDATE statement SET years = NULL")

    with Bibliography(tmp_path / "works.duckdb") as damaged, pytest.raises(SnapshotError, match="damaged"):
        find(damaged, pmid="7")


def test_faults_of_the_caller(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "page.xml").write_text("<html/>")
    out = tmp_path / "out.duckdb"

    with pytest.raises(InputMissing):
        build_bibliography(tmp_path / "empty", out, Settings())
    with pytest.raises(InputMissing):
        build_bibliography(tmp_path / "nowhere", out, Settings())
    with pytest.raises(InputFormat):
        build_bibliography(tmp_path / "page.xml", out, Settings())
    with pytest.raises(UnknownName):
        build_bibliography(tmp_path, out, Settings(), complete=["scopus"])
    assert not out.exists()


def test_the_command_builds_and_shows_it(tmp_path: Path) -> None:
    (tmp_path / "p.xml").write_text(pubmed(pubmed_record(7)))
    out = tmp_path / "works.duckdb"
    built = kgcheck("reference", "build", tmp_path, "--kind", "bibliography", "--out", out, "--complete", "pubmed")
    shown = kgcheck("reference", "show", out, "--kind", "bibliography", "--format", "json")
    refused = kgcheck("reference", "build", tmp_path, "--out", out, "--complete", "pubmed")

    assert (built.code, shown.code, refused.code) == (0, 0, 2)
    assert "1 work;" in built.err
    assert json.loads(shown.out)[0]["rows"] == {"record": 1}


@given(st.recursive(st.none() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3)))
def test_works_of_any_form_are_read_or_rejected(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    for field in ("title", "author", "issued", "reference", "update-to", "volume", "PMID"):
        path.write_text(json.dumps(crossref_work("10.5555/c", **{field: value})))
        assert len(list(read_works(path))) >= 1
