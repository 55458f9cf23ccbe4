"""Diseases and tissues in comments of UniProt: what is said plainly is a link, and what is not is nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.providers.uniprot_entry import (
    Terms,
    UniProtEntry,
    comments_of_flat,
    disease_of,
    links_of_entry,
    tissues_in,
)
from tests.support.services import entry

TERMS = Terms(
    tissues={
        "brain": "BTO:1",
        "liver": "BTO:2",
        "muscle": "BTO:3",
        "skeletal muscle": "BTO:4",
        "bone marrow": "BTO:5",
        "heart": "BTO:6",
        "kidney": "BTO:7",
    },
    diseases={"cold feet": "DOID:1", "named twice by number": "DOID:2"},
    by_mim={"100100": "DOID:3"},
)


@pytest.mark.parametrize(
    ("text", "tissues"),
    [
        ("Expressed in brain.", ["BTO:1"]),
        ("Ubiquitous. Shows highest expression in the Brain, liver and heart.", ["BTO:1", "BTO:2", "BTO:6"]),
        ("Detected in skeletal muscle (at protein level).", ["BTO:4"]),
        ("Expressed in bone marrow (PubMed:1234). Present in adult heart.", ["BTO:5", "BTO:6"]),
        ("Expressed in brain {ECO:0000269|PubMed:1}.", ["BTO:1"]),
        ("Expressed in brain. Not detected in liver.", ["BTO:1"]),
        ("Expressed in brain; not in liver.", ["BTO:1"]),
    ],
)
def test_what_a_comment_says_plainly(text: str, tissues: list[str]) -> None:
    assert tissues_in(text, TERMS) == tissues


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Not detected in brain.",
        "Expressed in all tissues except liver.",
        "Absent in brain, expressed elsewhere.",
        "Expressed at low levels in brain.",
        "Expressed in brain but not in liver.",
        "Expressed in brain tumors.",
        "Expressed in brain-derived cells.",
        "Expressed in fetal brain.",
        "Expressed in a kidney cell line.",
        "Expressed in mouse brain.",
        "Down-regulated in brain, where it is expressed.",
        "May be expressed in brain.",
        "Expressed in liver of patients with hepatitis.",
        "Expressed in brainstem.",
        "Brain.",
        "Expressed in smooth muscle.",
        "Expressed in heart valves.",
    ],
)
def test_what_a_comment_does_not_say_plainly(text: str) -> None:
    assert tissues_in(text, TERMS) == []


NAMES = st.lists(st.sampled_from(sorted(TERMS.tissues)), min_size=1, max_size=3)
DENIALS = (
    "Not expressed in {}",
    "Expressed in lung but not in {}",
    "No expression found in {}",
    "Never detected in {}",
    "Undetected in {}, present elsewhere",
    "Neither present in {} nor in skin",
    "Expressed without {}",
    "Expression is absent in {}",
    "Expressed everywhere except {}",
    "Expression was lost in {}",
)


@given(NAMES, st.sampled_from(DENIALS), st.sampled_from([", ", " and ", " or ", " and in the "]), st.booleans())
def test_a_denial_never_supports(names: list[str], denial: str, between: str, upper: bool) -> None:
    text = denial.format(between.join(names))

    assert tissues_in(text.upper() if upper else text, TERMS) == []


@given(st.text(alphabet="abrinlve ,.;()-", max_size=60))
def test_only_whole_names_count(text: str) -> None:
    for term in tissues_in(f"Expressed in {text}", TERMS):
        name = next(n for n, t in TERMS.tissues.items() if t == term)
        assert name in f"in {text}".replace(",", " ").replace("(", " ").replace(".", " ").replace(";", " ")


@pytest.mark.parametrize(
    ("name", "mim", "note", "term"),
    [
        ("x", "100100", "", "DOID:3"),
        ("x", "100100", "The disease is caused by variants affecting the gene represented in this entry.", "DOID:3"),
        ("Cold feet", "", "", "DOID:1"),
        # A number decides where there is one.
        ("Cold feet", "999999", "", None),
        ("Cold feet 1", "", "", None),
        ("x", "100100", "The gene represented in this entry may be involved in disease pathogenesis.", None),
        ("x", "100100", "The gene is not involved.", None),
        ("x", "100100", "Variants protect against it.", None),
    ],
)
def test_the_disease_of_a_comment(name: str, mim: str, note: str, term: str | None) -> None:
    assert disease_of(name, mim, note, TERMS) == term


def _pubmed(*numbers: str) -> list[dict[str, str]]:
    return [{"evidenceCode": "ECO:0000269", "source": "PubMed", "id": n} for n in numbers]


def test_links_of_an_entry_name_the_papers_that_they_rest_on() -> None:
    disease: dict[str, Any] = {"diseaseId": "x", "diseaseCrossReference": {"database": "MIM", "id": "100100"}}
    read = UniProtEntry.model_validate(
        entry(
            "P10001",
            comments=[
                {"commentType": "DISEASE", "disease": disease | {"evidences": _pubmed("1", "2")}},
                {"commentType": "DISEASE", "note": {"texts": [{"value": "No disease is named."}]}},
                {
                    "commentType": "TISSUE SPECIFICITY",
                    "texts": [
                        {"value": "Expressed in brain", "evidences": [*_pubmed("3"), {"evidenceCode": "ECO:0000305"}]},
                        {"value": "Expressed in liver"},
                    ],
                },
            ],
        )
    )
    found = [(row["tail"], row["citations"]) for row in links_of_entry(read, TERMS)]

    assert found == [("DOID:3", ["PMID:1", "PMID:2"]), ("BTO:1", None), ("BTO:2", None)]


def test_links_of_the_flat_file_are_the_same() -> None:
    comments = [
        "DISEASE: Made up (MU1) [MIM:100100]: A disorder. {ECO:0000269|PubMed:1, ECO:0000269|PubMed:2}. "
        "Note=The disease is caused by variants affecting the gene represented in this entry.",
        "DISEASE: Made up (MU1) [MIM:100100]: A disorder. {ECO:0000305}. Note=It may be involved.",
        "DISEASE: Note=A defect is found in cold feet.",
        "TISSUE SPECIFICITY: Expressed in brain. {ECO:0000269|PubMed:3, ECO:0000305}.",
        "FUNCTION: Expressed in liver.",
    ]
    read = UniProtEntry.model_validate(entry("P10001")).model_copy(
        update={"comments": tuple(comments_of_flat("P10001", comments))}
    )
    found = [(row["head"], row["tail"], row["citations"]) for row in links_of_entry(read, TERMS)]

    assert found == [("P10001", "DOID:3", ["PMID:1", "PMID:2"]), ("P10001", "BTO:1", None)]
