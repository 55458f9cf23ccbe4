"""Text is cleaned, and sentences keep exact offsets."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.literature.documents import MAX_CHARACTERS, Document, Rejected, clean, make_document, sentences

PROSE = st.text(max_size=300)


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("TGF-&beta;1 &lt; 5 &amp;lt; 7", "TGF-β1 < 5 < 7"),
        ("H<sub>2</sub>O and <i>E. coli</i>", "H 2 O and E. coli"),
        ("p<0.05 and n>3", "p<0.05 and n>3"),
        ("two\n\n lines\t here\x00", "two lines here"),
        ("lone \ud800 surrogate", "lone surrogate"),
        ("e\u0301tude", "étude"),
        ("中文摘要。第二句。", "中文摘要。第二句。"),
    ],
)
def test_text_is_cleaned(raw: str, kept: str) -> None:
    assert clean(raw) == kept


@given(PROSE)
def test_clean_text_is_clean(raw: str) -> None:
    once = clean(raw)

    assert once == " ".join(once.split())
    assert once.encode().decode() == once


@given(PROSE)
def test_sentences_leave_out_nothing_but_space(raw: str) -> None:
    text = clean(raw)
    spans = sentences(text)

    assert all(0 <= a < b <= len(text) for a, b in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert "".join(text[a:b] for a, b in spans).replace(" ", "") == text.replace(" ", "")


def test_sentences_know_abbreviations() -> None:
    text = "We used E. coli (Fig. 2, P < 0.05). It grew. Smith et al. agree."

    assert [text[a:b] for a, b in sentences(text)] == [
        "We used E. coli (Fig. 2, P < 0.05).",
        "It grew.",
        "Smith et al. agree.",
    ]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"id": "1", "abstract": ""}, "no_abstract"),
        ({"id": "1", "abstract": "<p> ... </p>"}, "no_abstract"),
        ({"id": "1", "abstract": []}, "no_abstract"),
        ({"id": "", "abstract": "text"}, "no_id"),
        ({"id": "1", "abstract": "long " * MAX_CHARACTERS}, "too_long"),
        ({"id": "1", "abstract": "x" * (20 * MAX_CHARACTERS)}, "too_long"),
    ],
)
def test_what_is_no_document_is_told(raw: dict[str, object], reason: str) -> None:
    made = make_document(raw, "jsonl")

    assert isinstance(made, Rejected)
    assert made.reason == reason


def test_given_sentences_are_kept() -> None:
    made = make_document({"id": "1", "abstract": ["No. 1 was", "used here.", ""], "sentences": True}, "scifact")

    assert isinstance(made, Document)
    assert made.abstract == "No. 1 was used here."
    assert made.passages == ("No. 1 was", "used here.")


def test_copies_have_the_same_content() -> None:
    one = Document(ids=("a",), title="A Title.", abstract="Some text (here).")
    two = Document(ids=("b",), title="a title", abstract="Some text  here")

    assert one.content == two.content
    assert one.content != Document(ids=("a",), title="A Title.", abstract="Some other text.").content
