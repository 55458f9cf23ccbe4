"""Documents from files: every format, and files that are broken."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.errors import InputFormat, InputMissing, UnknownName
from kgcheck.literature.documents import Document, Rejected
from kgcheck.literature.formats import Record, choose_recipe, read_documents, read_retractions
from kgcheck.profile.corpus_files import corpus_recipe, load_corpus_recipes

XML = """<?xml version="1.0"?>
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID>11</PMID><Article><Journal><JournalIssue><PubDate><Year>2012</Year></PubDate>
</JournalIssue><Title>A journal</Title></Journal><ArticleTitle>On <i>E. coli</i></ArticleTitle><Abstract>
<AbstractText Label="AIM">We asked a &lt; b.</AbstractText><AbstractText>It is so.</AbstractText></Abstract>
<PublicationTypeList><PublicationType>Retracted Publication</PublicationType></PublicationTypeList></Article>
</MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>12</PMID><Article><ArticleTitle>No abstract</ArticleTitle></Article>
</MedlineCitation></PubmedArticle>
</PubmedArticleSet>
"""
EUROPEPMC = {
    "resultList": {
        "result": [
            {
                "id": "5",
                "source": "MED",
                "pmid": "5",
                "title": "T",
                "abstractText": "<h4>Background</h4>Some text.",
                "pubYear": "1999",
                "journalInfo": {"journal": {"title": "J"}},
                "pubTypeList": {"pubType": ["Review"]},
            }
        ]
    }
}
PUBMEDQA = {
    "77": {"QUESTION": "Is it so?", "CONTEXTS": ["We looked.", "We saw."], "LONG_ANSWER": "It is.", "YEAR": "2001"}
}
PUBTATOR = "9|t|A title\n9|a|One. Two.\n9\t0\t5\tTP53\tGene\t7157\n\n10|t|Title only\n10|a|\n"


def read(path: Path, text: str) -> list[Record]:
    path.write_text(text, encoding="utf-8")
    return list(read_documents(path, choose_recipe(path)))


def documents(records: list[Record]) -> list[Document]:
    return [r for r in records if isinstance(r, Document)]


@pytest.mark.parametrize(
    ("name", "text", "fields", "rejected"),
    [
        (
            "a.xml",
            XML,
            ("pmid:11", "On E. coli", "We asked a < b. It is so.", 2012, "A journal", ("Retracted Publication",), True),
            ["no_abstract"],
        ),
        (
            "a.json",
            json.dumps(EUROPEPMC),
            ("pmid:5", "T", "Background Some text.", 1999, "J", ("Review",), False),
            [],
        ),
        (
            "a.json",
            json.dumps(PUBMEDQA),
            ("pmid:77", "Is it so?", "We looked. We saw. It is.", 2001, "", (), False),
            [],
        ),
        (
            "a.PubTator",
            PUBTATOR,
            ("pmid:9", "A title", "One. Two.", None, "", (), False),
            ["no_abstract"],
        ),
        (
            "a.csv",
            'id,abstract,year\n1,"Text, with a comma.",2001\n2,one,two,three\n',
            ("1", "", "Text, with a comma.", 2001, "", (), False),
            ["malformed"],
        ),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_each_format_is_known_and_read(
    tmp_path: Path, name: str, text: str, fields: tuple[object, ...], rejected: list[str], packed: bool
) -> None:
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    records = list(read_documents(path, choose_recipe(path)))
    (d,) = documents(records)

    assert (d.id, d.title, d.abstract, d.year, d.journal, d.types, d.retracted) == fields
    assert [r.reason for r in records if isinstance(r, Rejected)] == rejected


def test_json_lines(tmp_path: Path) -> None:
    lines = ['{"id": "a", "abstract": "Text.", "types": ["Letter"], "retracted": true}', '{"id": "b", "abst', "[1]", ""]
    records = read(tmp_path / "a.jsonl", "\n".join(lines))

    assert [d.id for d in documents(records)] == ["a"]
    assert documents(records)[0].retracted
    rejected = [r for r in records if isinstance(r, Rejected)]
    assert [r.reason for r in rejected] == ["malformed", "malformed"]
    assert rejected[0].place.endswith("line 2")


def test_scifact_keeps_its_sentences(tmp_path: Path) -> None:
    abstract = "['One sentence, \\'quoted\\'.'\n \"It's two.\"]"
    text = f'doc_id,title,abstract,structured\n4,T,"{abstract.replace(chr(34), chr(34) * 2)}",False\n'
    (found,) = documents(read(tmp_path / "corpus.csv", text))

    assert found.id == "s2:4"
    assert found.passages == ("One sentence, 'quoted'.", "It's two.")


def test_a_fault_after_good_records_loses_only_what_follows(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    records = read(path, XML.replace("</PubmedArticleSet>", "<Pubmed"))

    assert [d.id for d in documents(records)] == ["pmid:11"]
    last = records[-1]
    assert isinstance(last, Rejected)
    assert last.reason == "malformed"
    assert "what follows was not read" in last.detail


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.xml", "<PubmedArticleSet><Pub"),
        ("a.json", '{"resultList": {"result": [{"pmid"'),
        ("a.json", "{}"),
        ("a.csv", "one,two\n1,2\n"),
        ("a.txt", "just text\n"),
        ("a.pdf", "%PDF"),
        ("a.jsonl", ""),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(InputFormat, match=name):
        read(tmp_path / name, text)


def test_entities_that_explode_are_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><PubmedArticleSet>&b;</PubmedArticleSet>'
    path = tmp_path / "a.xml"
    path.write_text(bomb)

    with pytest.raises(InputFormat, match="not PubMed XML"):
        list(read_documents(path, corpus_recipe("pubmed")))


def test_missing_files_and_unknown_recipes(tmp_path: Path) -> None:
    with pytest.raises(InputMissing):
        choose_recipe(tmp_path / "none.csv")
    with pytest.raises(UnknownName, match="pubmd"):
        corpus_recipe("pubmd")


def test_retraction_lists(tmp_path: Path) -> None:
    path = tmp_path / "list.tsv"
    path.write_text("PMID\treason\n12\tx\n13\n")
    assert list(read_retractions(path)) == ["pmid:12", "pmid:13"]
    path.write_text("! Downloaded on a day\n! Source\nPMID:14,PMCID:PMC1\nPMID:15\n")
    assert list(read_retractions(path)) == ["pmid:14", "pmid:15"]
    path.write_text("12\nnothing\n")
    with pytest.raises(InputFormat, match="line 2"):
        read_retractions(path)


@given(st.binary(max_size=200), st.sampled_from(load_corpus_recipes()))
def test_no_bytes_end_in_another_error(tmp_path_factory: pytest.TempPathFactory, raw: bytes, recipe: object) -> None:
    path = tmp_path_factory.mktemp("bytes") / "file"
    path.write_bytes(raw)
    for chosen in load_corpus_recipes():
        if chosen == recipe:
            try:
                list(read_documents(path, chosen))
            except InputFormat:
                pass


def test_shared_files_are_read_whole(shared_data: Path) -> None:
    counts = {}
    for name in (
        "scifact/corpus.csv",
        "pubmedqa/pqal_train.json",
        "literature/BioRED_Train.PubTator",
        "literature/CDR_TrainingSet.PubTator.txt",
        "api/biomcp/pubmed_efetch_citation_22663011.xml",
    ):
        path = shared_data / name
        records = list(read_documents(path, choose_recipe(path)))
        assert all(isinstance(r, Document) for r in records)
        counts[name] = len(records)

    assert list(counts.values()) == [5183, 500, 400, 500, 1]
