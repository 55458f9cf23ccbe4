"""Whole papers from files to search, evidence and quotes, through the command line."""

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kgcheck.errors import UnknownName
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.store import DocumentStore
from kgcheck.protocols.reports.papers import whole_papers
from tests.support.audits import kgcheck
from tests.support.chance import new_seed
from tests.support.jats import article, related
from tests.support.literature import WordsModel, remove_papers


def run(*arguments: object) -> str:
    done = kgcheck(*arguments)
    assert done.code in (0, 1), done.err
    return done.out


def rows(*arguments: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(*arguments, "--format", "json"))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    made.mkdir()
    (made / "one.xml").write_text(article("10.5555/one"))
    other = "<sec><title>Results</title><p>Light had no effect on sleep of mice.</p></sec>"
    (made / "two.nxml").write_text(article("10.5555/two", abstract="", body=other, title="Sleep"))
    return made


def added(folder: Path, *more: object) -> Path:
    index = folder.parent / "index"
    run("corpus", "add", folder, *more, "--index", index, "--model", "none")
    return index


def quarantine(index: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (index / "quarantine.jsonl").read_text().splitlines()]


def pdf(*pages: Sequence[str], info: str = "") -> bytes:
    """A PDF of lines of text, each page with its own."""
    streams = [
        "BT /F1 12 Tf 14 TL 72 720 Td " + " ".join(f"({line}) Tj T*" for line in lines) + " ET" for lines in pages
    ]
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, stream in enumerate(streams):
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
            f" /Contents {5 + 2 * n} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< {info} >>")
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{at:010} 00000 n \n" for at in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    trailer = (
        f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    )
    return (out + end + trailer).encode("latin-1")


def test_a_paper_is_one_hit_and_one_opinion_of_a_named_section(folder: Path) -> None:
    index = added(folder)
    with DocumentStore(index / "documents.sqlite") as store:
        before = (store.version, len(store))
    added(folder)
    with DocumentStore(index / "documents.sqlite") as store:
        assert (store.version, len(store)) == before

    (hit,) = rows("search", "kinase B in yeast cells", "--index", index, "--limit", 1)
    assert (hit["paper"], hit["section"], hit["heading"]) == ("doi:10.5555/one", "results", "Results")
    assert hit["passage"]["text"] == "Kinase A binds kinase B in yeast cells at night."
    for section, ids in (("methods", ["doi:10.5555/one#3"]), ("abstract", ["doi:10.5555/one"]), ("conclusion", [])):
        found = rows("search", "kinase cells", "--index", index, "--section", section)
        assert [(h["id"], h["section"]) for h in found] == [(name, section) for name in ids]
    assert kgcheck("search", "x", "--index", index, "--section", "nonsense").code == 2
    verdict = json.loads(run("verify", "Kinase A binds kinase B.", "--index", index, "--format", "json"))
    assert len({o["document"].partition("#")[0] for o in verdict["opinions"]}) == len(verdict["opinions"])
    claim = ("verify", "Kinase A binds kinase B in yeast cells.", "--index", index, "--document", "doi:10.5555/one")
    (opinion,) = json.loads(run(*claim, "--format", "json"))["opinions"]
    assert (opinion["document"], opinion["section"]) == ("doi:10.5555/one#7", "results")
    assert opinion["quotes"][0]["text"] == hit["passage"]["text"]

    text = run("corpus", "show", "doi:10.5555/one", "--index", index)
    assert all(part in text for part in ("Results of staining", "10.1234/abc.1"))
    run("corpus", "remove", "doi:10.5555/one", "--index", index)
    assert rows("search", "kinase", "--index", index) == []
    shown = kgcheck("corpus", "show", "doi:10.5555/one", "--index", index)
    assert shown.refuses("there is no whole paper 'doi:10.5555/one'")


def test_of_a_paper_the_paragraph_is_read_that_names_all(folder: Path) -> None:
    """The abstract has more of the words, and speaks of another kinase."""
    body = "<sec><title>Results</title><p>At night, and only then, kinase Q binds kinase R.</p></sec>"
    (folder / "one.xml").write_text(article("10.5555/one", body=body))
    index = added(folder)
    verdict = json.loads(run("verify", "Kinase Q binds kinase R.", "--index", index, "--top", 1, "--format", "json"))

    (opinion,) = verdict["opinions"]
    assert (opinion["section"], opinion["stance"]) == ("results", "supports")


def test_a_broken_file_of_a_folder_is_quarantined_and_the_others_stay(folder: Path) -> None:
    (folder / "half.xml").write_text(article("10.5555/half")[:900])
    (folder / "laughs.xml").write_text('<!DOCTYPE article [<!ENTITY a "ha">]><article>&a;</article>')
    (folder / "empty.xml").write_text("")
    index = added(folder)

    assert {Path(q["place"]).name: q["reason"] for q in quarantine(index)} == dict.fromkeys(
        ("half.xml", "laughs.xml", "empty.xml"), "malformed"
    )
    assert len(json.loads(run("corpus", "list", "--ids", "--index", index, "--format", "json"))) == 2


def test_an_abstract_that_is_there_is_completed(folder: Path) -> None:
    notes = folder.parent / "notes.jsonl"
    notes.write_text(
        json.dumps({"id": "doi:10.5555/one", "title": "On kinase A", "abstract": "Another wording."}) + "\n"
    )
    index = added(folder, notes)
    run("corpus", "add", notes, folder, "--index", index.with_name("other"), "--model", "none")

    with DocumentStore(index.with_name("other") / "documents.sqlite") as store:
        assert [row[3] for row in store.ids()] == ["On kinase A", "Sleep"]
        (listed,) = [r for r in store.listed() if r.documents]
        assert (listed.recipe, listed.documents, listed.paragraphs) == ("jats", 2, 12)
    # The other way round, the paper stays, and what comes is in the quarantine.
    assert [q["reason"] for q in quarantine(index)] == ["conflict"]


def test_another_body_is_taken_only_when_wanted(folder: Path) -> None:
    index = added(folder)
    (folder / "one.xml").write_text(
        article("10.5555/one", body="<sec><title>Results</title><p>Nothing is left.</p></sec>")
    )
    added(folder)
    assert [(q["reason"], q["record"]) for q in quarantine(index)] == [("conflict", "doi:10.5555/one")]
    assert len(rows("search", "kinase B in yeast cells at night", "--index", index, "--section", "results")) == 1

    run("corpus", "add", folder, "--replace", "--index", index, "--model", "none")
    (hit,) = rows("search", "nothing is left", "--index", index, "--section", "results")
    assert hit["paper"] == "doi:10.5555/one"
    assert rows("search", "yeast", "--index", index) == []


@pytest.mark.parametrize("first", [True, False])
def test_a_notice_retracts_a_paper_before_or_after_it_came(folder: Path, first: bool) -> None:
    notice = folder.parent / "a.xml"
    notice.write_text(
        article(
            "10.5555/n", title="Retraction", type_="retraction", related=related("retracted-article", "10.5555/one")
        )
    )
    index = added(notice, folder) if first else added(folder, notice)

    found = rows("search", "kinase B in yeast cells", "--index", index)
    assert {h["paper"]: h["retracted"] for h in found} == {"doi:10.5555/one": True, "doi:10.5555/n": True}
    verdict = json.loads(run("verify", "Kinase A binds kinase B.", "--index", index, "--format", "json"))
    assert set(verdict["retracted"]) == {"doi:10.5555/one", "doi:10.5555/n"}
    assert {o["document"] for o in verdict["opinions"]} <= {"doi:10.5555/two"}
    assert "retraction  of doi:10.5555/one by doi:10.5555/n" in run("corpus", "show", "doi:10.5555/n", "--index", index)
    shown = json.loads(run("corpus", "show", "doi:10.5555/one", "--index", index, "--format", "json"))
    assert shown["retracted"] is True
    with DocumentStore(index / "documents.sqlite") as store:
        papers = {name: store.paper(f"doi:10.5555/{name}") for name in ("one", "n", "two")}
    retracted = {name: paper.retracted for name, paper in papers.items() if paper}
    assert retracted == {"one": True, "n": True, "two": False}


def test_a_paper_that_is_removed_meanwhile_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = added(folder)
    assert len(list(whole_papers(index, [], []))) == 2
    remove_papers(monkeypatch, "doi:10.5555/one")

    assert [paper.ids for paper, _ in whole_papers(index, [], [])] == [("doi:10.5555/two",)]
    with pytest.raises(UnknownName, match="no whole paper"):
        list(whole_papers(index, ["doi:10.5555/one"], []))
    shown = json.loads(run("corpus", "show", "doi:10.5555/one", "--index", index, "--format", "json"))
    assert shown["retracted"] is False


def test_meaning_is_searched_by_paragraph(folder: Path) -> None:
    pytest.importorskip("faiss")
    place, model = folder.parent / "index", WordsModel()
    with Corpus(place, create=True) as corpus:
        corpus.add([folder])
        manifest = corpus.build(model)
    assert (manifest.documents, manifest.paragraphs, manifest.papers) == (14, 12, 2)
    with LiteratureIndex(place, model) as index:
        (hit,) = index.search("dye C stained", limit=1, sections=["methods"])
        assert (hit.document.paper_id, hit.document.section) == ("doi:10.5555/one", "methods")
        assert hit.cosine is not None
        assert len(index.search("kinase", limit=50)) == 2
        assert len(index.search("kinase", limit=50, every=True)) > 2
        assert [d.section for d in index.best_of("cells were stained", ["doi:10.5555/one"])] == ["methods"]


def test_a_pdf_has_sections(folder: Path) -> None:
    first = ["On kinase Z", "doi: 10.5555/pdf.1", "Abstract", "Kinase Z was looked at."]
    second = [
        "Materials and Methods",
        "Cells were incu-",
        "bated with kinase Z.",
        "Results",
        "Kinase Z binds kinase Y.",
    ]
    (folder / "z.pdf").write_bytes(
        pdf(first, [*second, "References", "1. Doe J. Kinase W."], info="/Title (On kinase Z)")
    )
    index = added(folder)

    (hit,) = rows("search", "incubated kinase Z", "--index", index, "--section", "methods", "--limit", 1)
    assert (hit["paper"], hit["title"]) == ("doi:10.5555/pdf.1", "On kinase Z")
    assert hit["passage"]["text"] == "Cells were incubated with kinase Z."
    assert rows("search", "kinase W", "--index", index, "--section", "results", "--limit", 9)[0]["heading"] == "Results"
    assert all("Doe" not in str(h) for h in rows("search", "Doe kinase W", "--index", index))


def test_a_pdf_that_is_no_paper_is_quarantined(folder: Path) -> None:
    good = pdf(["Some words of it."])
    (folder / "scan.pdf").write_bytes(pdf([]))
    (folder / "half.pdf").write_bytes(good[: len(good) // 3])
    (folder / "page.pdf").write_bytes(b"<html>maintenance</html>")
    (folder / "words.pdf").write_bytes(good)
    index = added(folder)

    found = {Path(q["place"]).name: (q["reason"], q["detail"]) for q in quarantine(index)}
    assert found["scan.pdf"] == ("no_text", "no text: scanned?")
    assert found["page.pdf"][0] == found["half.pdf"][0] == "malformed"
    assert "words.pdf" not in found
    hit = rows("search", "some words of it", "--index", index)[0]
    assert hit["paper"].startswith("pdf:")


@pytest.mark.seeded
def test_pdfs_that_were_made_to_break_a_reader(folder: Path) -> None:
    """Bytes exchanged, doubled and cut out: each file is a paper or in the quarantine, and nothing ends the command."""
    chance = random.Random(new_seed(8))  # noqa: S311
    good = pdf(["Results", "Kinase Q binds kinase R."], ["Discussion", "It may matter."])
    for number in range(40):
        data = bytearray(good)
        for _ in range(chance.randint(1, 12)):
            at = chance.randrange(9, len(data))
            match chance.randrange(3):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    data[at:at] = data[at : at + chance.randrange(60)]
                case _:
                    del data[at : at + chance.randrange(20)]
        (folder / f"f{number}.pdf").write_bytes(bytes(data))
    index = added(folder)

    with DocumentStore(index / "documents.sqlite") as store:
        papers = {row[0] for row in store.ids()}
    assert {"doi:10.5555/one", "doi:10.5555/two"} <= papers


@pytest.mark.slow
def test_the_papers_of_plos_are_searched_by_section(shared_data: Path, tmp_path: Path) -> None:
    papers = tmp_path / "plos"
    shutil.copytree(shared_data / "fulltext/plos", papers)
    index = added(papers)

    assert len(json.loads(run("corpus", "list", "--ids", "--index", index, "--format", "json"))) == 76
    for section in ("introduction", "methods", "results", "discussion"):
        found = rows("search", "brain images of bipolar disorder", "--index", index, "--section", section)
        assert {h["section"] for h in found} == {section}
        assert "doi:10.1371/journal.pone.0050698" in [h["paper"] for h in found[:3]]
