"""Citations of a manuscript: range, retraction, repetition, order, what cited papers say, and the measures."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from kgcheck import clock
from kgcheck.grounding.citations.check import (
    CitedPapers,
    check_citations,
    citation_measures,
    hallucination_penalty,
    misplaced_citations,
    statement_of,
)
from kgcheck.grounding.citations.live_works import WorksInTurn
from kgcheck.grounding.ground import ground
from kgcheck.grounding.manuscript import Manuscript
from kgcheck.grounding.manuscripts.reading import read_manuscript
from kgcheck.grounding.remarks import Remark, Remarked, SentenceState
from kgcheck.literature.bibliography import Bibliography, build_bibliography
from kgcheck.literature.documents import Document
from kgcheck.literature.jats import read_jats
from kgcheck.literature.papers import CitedWork, WholePaper
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.trained_verifier import TrainedVerifier
from kgcheck.literature.works import Work, WorksFound, silent
from kgcheck.model import Evidence
from kgcheck.settings import Settings
from tests.support.literature import WordsModel, build_index, remove_papers
from tests.support.manuscripts import cited, manuscript, manuscript_of
from tests.support.spent import spent
from tests.unit.test_references import OTHER, TITLES, work


class FixedWorks:
    """A world with works by DOI, which may say of what else it was looked through."""

    def __init__(self, *works: Work, looked: tuple[Evidence, ...] = ()) -> None:
        self.works, self.looked = works, looked
        self.requests: list[int] = []

    def find(self, references: Sequence[CitedWork]) -> list[WorksFound]:
        self.requests.append(len(references))
        named = ([w for w in self.works if f"doi:{r.doi}" in w.ids] for r in references)
        return [WorksFound(by_id=tuple(works), looked=self.looked) for works in named]


def entry(key: str, doi: str = "", title: str = "") -> CitedWork:
    return CitedWork(key=key, label=key, doi=doi, title=title, year=2012, authors=("Doe J",), text=f"Doe J. {title}")


def of(remarks: Sequence[Remarked], kind: Remark) -> list[Remarked]:
    return [r for r in remarks if r.remark is kind]


def test_markers_out_of_range_are_found_where_they_stand() -> None:
    text = manuscript([cited("Kinase A binds B []. It grows [].", "1", "1,99")], [entry("1")])
    (remark,) = of(check_citations(text, None), Remark.MARKER_OUT_OF_RANGE)
    sentence = text.sentences[1]

    assert (remark.sentence, remark.stated, remark.state) == (2, "99", SentenceState.CONTRADICTED)
    assert sentence.text[remark.start : remark.end] == "[1,99]"
    assert "1 to 1" in remark.note
    # Without a list nothing is known of markers.
    remarks = check_citations(manuscript([cited("Kinase A binds B [].", "1")]), None)
    assert [(r.state, r.unavailable) for r in remarks] == [(SentenceState.NOT_CHECKABLE, True)]


def test_a_world_of_lists_that_knows_few_of_a_list_tells_little(tmp_path: Path) -> None:
    known = [entry(str(n), f"10.5555/{n}", TITLES[n]) for n in range(1, 5)]
    absent = silent("jats", "2026", clock.exact_now(), "x", complete=False)
    papers = [work(f"10.5555/{n}", titles=(TITLES[n],), volume=str(n)) for n in range(1, 5)]

    def state(*missing: CitedWork) -> list[SentenceState]:
        text = manuscript([cited("A binds B [].", "1")], [*known, *missing])
        remarks = check_citations(text, FixedWorks(*papers, looked=(absent,)))
        return [r.state for r in of(remarks, Remark.REFERENCE_UNKNOWN)]

    lost = [entry(f"x{n}", f"10.5555/x{n}", TITLES[0]) for n in range(3)]
    assert state(lost[0]) == [SentenceState.UNSUPPORTED]
    assert state(*lost) == [SentenceState.NOT_CHECKABLE] * 3


def test_a_retracted_reference_is_remarked_at_each_sentence_that_cites_it() -> None:
    text = manuscript(
        [cited("Kinase A binds B []. It grows. Kinase B binds [].", "1", "1")], [entry("1", "10.5555/a", TITLES[0])]
    )
    remarks = of(check_citations(text, FixedWorks(work(retracted=True))), Remark.REFERENCE_RETRACTED)

    assert [(r.reference, r.sentence) for r in remarks] == [("1", None), (None, 1), (None, 3)]
    assert {r.state for r in remarks} == {SentenceState.CONTRADICTED}


def test_repeated_and_uncited_entries_are_named() -> None:
    listed = [
        entry("1", "10.5555/a", TITLES[0]),
        entry("2", "10.5555/b", TITLES[3]),
        entry("3", "10.5555/A", TITLES[0]),
    ]
    text = manuscript([cited("Kinase A binds B [], [].", "1", "3")], listed)
    remarks = check_citations(text, FixedWorks(work(), OTHER))

    assert [(r.reference, r.found) for r in of(remarks, Remark.REFERENCE_REPEATED)] == [("3", "1")]
    assert [r.reference for r in of(remarks, Remark.REFERENCE_NOT_CITED)] == ["2"]
    # Citations of a form that is not read say nothing of any entry.
    assert not of(check_citations(manuscript([cited("None.")], listed), None), Remark.REFERENCE_NOT_CITED)


def test_the_next_world_is_looked_at_for_what_the_first_does_not_confirm() -> None:
    first, second = FixedWorks(work()), FixedWorks(work(), OTHER)

    found = WorksInTurn(first, second).find([entry("1", "10.5555/a", TITLES[0]), entry("2", "10.5555/b", TITLES[3])])
    assert (first.requests, second.requests) == ([2], [1])
    assert [len(f.by_id) for f in found] == [1, 1]


def in_order(*keys: str, count: int = 14) -> Manuscript:
    blocks = [cited(f"Sentence on matter {key} of cells [].", key) for key in keys]
    return manuscript(blocks, [entry(str(n), title=f"Topic number {n} alone") for n in range(1, count + 1)])


def test_a_citation_out_of_the_order_of_the_list_is_found() -> None:
    order = [str(n) for n in range(1, 15)]
    moved = [*order[:3], *order[4:10], "4", *order[10:]]
    (remark,) = misplaced_citations(in_order(*moved))

    assert misplaced_citations(in_order(*order)) == []
    assert (remark.stated, remark.sentence, remark.found) == ("4", 10, "3, 5")
    # A list by names has no such order, and a few citations show none.
    assert misplaced_citations(in_order(*order[::-1])) == []
    assert misplaced_citations(in_order("2", "1")) == []


ENTRIES = "".join(f"\n{n}. Author A. A made-up title about things {n}. J Made Up. 2001;{n}:1-9." for n in range(1, 61))


@pytest.mark.parametrize(("cited", "stated"), [("[58-70]", 10), ("[58-71]", 1), ("[1-999]", 1)])
def test_a_range_that_is_out_of_range_is_one_remark_where_it_is_long(cited: str, stated: int) -> None:
    text = f"Results\n\nWe saw this {cited}.\n\nReferences\n{ENTRIES}"
    found = ground(read_manuscript(Path("paper.txt"), text.encode()), [])

    assert found.counted(Remark.MARKER_OUT_OF_RANGE) == stated


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["[1-999] ", "[58-70] ", "We saw this [61-400]. ", "We saw this [1]. ", "[7][8] ", "and [2-59], "]
)
def test_many_citations_take_time_in_proportion(piece: str) -> None:
    took = []
    for length in (10_000, 20_000, 40_000):
        text = f"Results\n\n{piece * (length // len(piece))}\n\nReferences\n{ENTRIES}"
        took.append(spent(partial(_grounded, text)))

    # In proportion it is 4, by the square 16.
    assert took[2] < 8 * max(took[0], 0.05), took


def _grounded(text: str) -> None:
    ground(read_manuscript(Path("paper.txt"), text.encode()), [])


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiteratureIndex]:
    documents = [
        Document(
            ids=("doi:10.5555/k",), title="Kinases", abstract="Kinase A binds kinase B in yeast. Cells were grown."
        ),
        Document(ids=("pmid:9",), title="Old", abstract="Kinase A binds kinase B in yeast.", retracted=True),
    ]
    with LiteratureIndex(build_index(tmp_path_factory.mktemp("cited") / "index", documents)) as index:
        yield index


def test_a_sentence_is_read_against_the_paper_that_it_cites(index: LiteratureIndex) -> None:
    text = manuscript(
        [
            cited("Kinase A binds kinase B in yeast [].", "1"),
            cited("Kinase A does not bind kinase B in yeast [].", "1"),
            cited("See [].", "1"),
            cited("Kinase A binds kinase B in yeast [], [].", "2", "3"),
        ],
        [entry("1", "10.5555/k"), CitedWork(key="2", pmid="9"), entry("3", "10.5555/unknown")],
    )
    remarks = CitedPapers(index, TrainedVerifier()).remarks(text)

    assert [(r.sentence, r.remark) for r in remarks] == [(1, Remark.CITED_SUPPORTS), (2, Remark.CITED_CONTRADICTS)]
    assert remarks[0].evidence[0].quote == "Kinase A binds kinase B in yeast."
    assert statement_of(text.sentences[0]) == "Kinase A binds kinase B in yeast."


def test_a_paper_says_nothing_for_itself_and_one_that_is_removed_meanwhile_nothing_at_all(
    index: LiteratureIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks, listed = [cited("Kinase A binds kinase B in yeast [].", "1")], [entry("1", "10.5555/k")]

    own = manuscript(blocks, listed, ids=("doi:10.5555/k",))
    assert CitedPapers(index, TrainedVerifier()).remarks(own) == []
    remove_papers(monkeypatch, "doi:10.5555/k")
    assert CitedPapers(index, TrainedVerifier()).remarks(manuscript(blocks, listed)) == []


SUBJECTS = ("Copper pumps of liver", "Wing veins of flies", "Roots of maize", "Sleep of mice", "Ice in clouds")


def test_a_citation_that_was_moved_is_seen_by_what_the_cited_paper_is_about(tmp_path: Path) -> None:
    texts = ["Kinase A binds kinase B in yeast", *SUBJECTS, "Tides move sand along coasts"]
    documents = [Document(ids=(f"doi:10.5555/{n}",), title=text, abstract=f"{text}.") for n, text in enumerate(texts)]
    folder = build_index(tmp_path / "index", documents, WordsModel())
    references = [entry(str(n), f"10.5555/{n}") for n in range(len(texts))]
    blocks = [
        cited("Kinase A and kinase B were seen together in yeast [].", "6"),
        # Beside another one, it may be cited for something else; but not beside one that is no nearer.
        cited("Kinase A and kinase B were seen together in yeast [], [].", "0", "6"),
        cited("Sand was seen along coasts with tides [].", "6"),
        cited("Kinase A and kinase B were seen together in yeast [].", "0"),
    ]

    def found(among: list[CitedWork]) -> list[tuple[int | None, str]]:
        with LiteratureIndex(folder, WordsModel()) as index:
            remarks = CitedPapers(index, TrainedVerifier()).remarks(manuscript(blocks, among))
        return [(r.sentence, r.stated and r.note) for r in remarks if r.remark is Remark.CITED_UNRELATED]

    assert found(references) == [
        (1, "the cited paper doi:10.5555/6 says nothing of this, and another one of the list is far nearer to it: 0")
    ]
    # Of a few papers one is always the nearest.
    assert found([references[0], *references[3:]]) == []
    with LiteratureIndex(build_index(tmp_path / "plain", documents)) as plain:
        remarks = CitedPapers(plain, TrainedVerifier()).remarks(manuscript(blocks, references))
    assert Remark.CITED_UNRELATED not in {r.remark for r in remarks}


def test_measures() -> None:
    text = manuscript([cited("A [], B [].", "1", "2,9")], [entry(k) for k in ("1", "2", "3", "4")])
    measured = citation_measures(text)

    assert (measured.keys, measured.out_of_range, measured.coverage) == (3, 1 / 3, 0.5)
    assert citation_measures(manuscript([cited("None.")])).out_of_range is None
    assert hallucination_penalty(1 / 3, 0, 0.5) == pytest.approx(1 / 6)


@pytest.mark.slow
def test_references_of_real_papers_agree_with_their_world(shared_data: Path, tmp_path: Path) -> None:
    """Lists of papers that are in the world: nothing differs, and what the world lacks is not contradicted."""
    folder = shared_data / "fulltext/plos"
    papers = [p for f in sorted(folder.glob("*"))[20:40] for _, p in read_jats(f) if isinstance(p, WholePaper)]
    build_bibliography(folder, tmp_path / "works", Settings())
    with Bibliography(tmp_path / "works") as works:
        remarks = [r for paper in papers for r in check_citations(manuscript_of(paper), works)]

    sentences = sum(len(manuscript_of(paper).sentences) for paper in papers)
    wrong = [r for r in remarks if r.state is SentenceState.CONTRADICTED]
    unsure = [r for r in remarks if r.state is SentenceState.UNSUPPORTED]
    assert len(of(remarks, Remark.REFERENCE_CONFIRMED)) > 800
    assert [r.note for r in wrong] == []
    assert len(unsure) < sentences / 200
