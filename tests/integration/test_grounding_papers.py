"""What papers make of a manuscript's sentences: support and contradiction, never by the manuscript itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgcheck.curation.project import GroundJob
from kgcheck.grounding.ground import open_grounder
from kgcheck.grounding.manuscript import Block, Manuscript
from kgcheck.grounding.paper_support import MOST_SENTENCES, PaperSupport, claims_of
from kgcheck.grounding.remarks import Remark, Remarked
from kgcheck.literature.documents import Document
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.trained_verifier import TrainedVerifier
from kgcheck.options import TextOptions
from kgcheck.workspace.file_jobs import ground_folder
from kgcheck.workspace.workspace import Workspace
from tests.support.literature import build_index
from tests.support.manuscripts import manuscript

PAPERS = (
    ("10.5555/one", "Zincol and gout", "Zincol reduced the risk of gout in 400 adults.", ()),
    ("10.5555/own", "Our own work on Velbex", "Velbex increased the survival of ABC1 carriers.", ()),
    ("10.5555/gone", "Quorin", "Quorin lowered the risk of migraine in DEF2 carriers.", ("Retracted Publication",)),
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiteratureIndex]:
    documents = [
        Document(ids=(f"doi:{doi}",), title=title, abstract=text, types=types, retracted=bool(types))
        for doi, title, text, types in PAPERS
    ]
    with LiteratureIndex(build_index(tmp_path_factory.mktemp("papers"), documents)) as opened:
        yield opened


def remarks(index: LiteratureIndex, *texts: str, **fields: Any) -> list[Remarked]:
    return PaperSupport(index, TrainedVerifier()).remarks(written(*texts, **fields))


def written(*texts: str, **fields: Any) -> Manuscript:
    return manuscript([Block(text=text, section="results") for text in texts], **fields)


def test_a_paper_supports_and_is_quoted(index: LiteratureIndex) -> None:
    (found,) = remarks(index, "Zincol reduced the risk of gout in 400 adults of our study.")

    assert found.remark is Remark.PAPERS_SUPPORT
    assert [e.record for e in found.evidence] == ["doi:10.5555/one"]
    assert found.evidence[0].quote == PAPERS[0][2]


@pytest.mark.parametrize("own", [{"ids": ("doi:10.5555/OWN",)}, {"title": "Our own work on VELBEX."}])
def test_the_manuscript_does_not_support_itself(index: LiteratureIndex, own: dict[str, object]) -> None:
    claim = "Velbex increased the survival of ABC1 carriers by 20 percent more than others."

    (other,), (itself,) = remarks(index, claim), remarks(index, claim, **own)

    assert "of 1 papers" in other.note
    assert itself.remark is Remark.PAPERS_SILENT
    assert "of 0 papers" in itself.note


def test_a_retracted_paper_never_counts(index: LiteratureIndex) -> None:
    (found,) = remarks(index, "Quorin lowered the risk of migraine in DEF2 carriers by 3 percent compared with others.")

    assert found.remark is Remark.PAPERS_SILENT
    assert not found.evidence


def test_only_what_claims_something_is_looked_up_up_to_a_bound(index: LiteratureIndex) -> None:
    texts = (
        "Does Zincol reduce gout in ABC1 carriers?",
        "Results for ABC1 and DEF2 are shown in Figure 2.",
        "We thank everybody who came.",
        "ABC1 levels were higher than 3 in DEF2 carriers.",
        "DEF2 levels were lower than 7 in ABC1 carriers.",
    )
    whole = written(*texts)

    assert [s.number for s in claims_of(whole)] == [4, 5]
    assert [r.sentence for r in PaperSupport(index, TrainedVerifier(), most=1).remarks(whole)] == [4]


CLAIMS = [f"ABC1 levels were higher than {number} in DEF2 carriers." for number in range(3, 4 + MOST_SENTENCES)]
LACKING = f"for 1 of {MOST_SENTENCES + 1} sentences that claim something"


def test_a_text_with_more_claims_than_are_looked_up_says_so(index: LiteratureIndex) -> None:
    with Workspace(literature=index.folder) as workspace, open_grounder(workspace, TextOptions()) as grounder:
        found = [grounder.ground(written(*CLAIMS[:count])) for count in (MOST_SENTENCES + 1, MOST_SENTENCES)]

    assert [one.not_looked.get("papers") for one in found] == [LACKING, None]
    assert not [note for note in grounder.notes if "sentences" in note]


def test_a_job_and_a_score_name_the_manuscript_of_which_not_all_claims_are_looked_up(
    index: LiteratureIndex, tmp_path: Path
) -> None:
    for name, most in (("a.md", None), ("b.md", MOST_SENTENCES)):
        (tmp_path / name).write_text("# Results\n\n" + " ".join(CLAIMS[:most]), encoding="utf-8")
    job = GroundJob(kind="ground", folder=".", files=("*.md",))
    with Workspace(literature=index.folder) as workspace:
        work = ground_folder(workspace, tmp_path, job, bibliography=None, results=None, out=None, before=())
        _, notes = workspace.score(tmp_path / "a.md")

    assert [note for note in work.notes if "papers" in note or "results" in note] == [
        f"a.md: papers not looked at: {LACKING}",
        "results not looked at: no canonical results are named",
    ]
    assert [note for note in notes if "not looked at" in note] == [f"papers not looked at: {LACKING}"]
