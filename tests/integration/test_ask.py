"""``kgcheck ask`` and ``kgcheck batch kgqa`` over the demo: what a person sees, and with which exit code."""

import json
import re

import pytest

from kgcheck.cli.checks import ask as command
from tests.support.audits import Said, demo, kgcheck


def ask(*arguments: object) -> Said:
    return kgcheck("ask", *arguments, "--store", demo().store)


def test_answers_come_with_their_paths() -> None:
    said = ask("Which protein does the gene MGEA5 code for?")

    assert said.code == 0
    assert "O60502" in said.out
    assert "MGEA5 TRANSLATED_INTO O60502" in said.out
    assert "Read as: proteins with a TRANSLATED_INTO edge from the Gene" in said.out


def test_the_examples_of_the_help_are_answered_over_the_demo() -> None:
    text = " ".join((command.help or "").split())
    examples = re.findall(r'"([^"]+\?)"', text)

    assert len(examples) == 2
    for example in examples:
        said = ask(example)
        assert said.code == 0
        assert said.out.startswith("Read as: ")
        assert "not in this graph" not in said.out
        assert len(said.out.splitlines()) > 2


def test_words_need_no_quotes_and_json_holds_everything() -> None:
    said = ask("Which", "protein", "does", "the", "gene", "MGEA5", "code", "for", "--format", "json")

    answer = json.loads(said.out)
    assert answer["status"] == "answered"
    assert answer["read_as"].startswith("proteins with a TRANSLATED_INTO edge from the Gene ")
    assert answer["found"][0]["path"][0]["triple"]["relation"] == "TRANSLATED_INTO"


@pytest.mark.parametrize(
    ("question", "code", "out", "err"),
    [
        (
            "How many proteins does the gene MGEA5 code for?",
            0,
            "Read as: the number of proteins with a TRANSLATED_INTO edge from the Gene 'meningioma expressed antigen 5"
            " (hyaluronidase)' (MGEA5)\n1\n",
            "",
        ),
        ("Which structures does A0A286YF18 have?", 0, None, "the graph has no such node"),
        ("Which structures does P99999 have?", 2, "", "there is no Protein P99999 in the graph"),
        ("Which diseases is TP53 associated with?", 2, "", "kgcheck: TP53 is not in this graph"),
        ("Are all proteins of TP53 nuclear?", 2, "", "TP53 is not in this graph"),
        ("Which proteins does TLR4 exactly act on?", 2, "", "kgcheck: the word 'exactly' changes what is asked"),
        ("Which drugs inhibit O60502?", 2, "", "kgcheck: I did not understand: 'drugs', 'inhibit'"),
        ("Does MGEA5 encode A0A286YF18?", 0, None, "no proof that it is not so"),
        ("", 2, "", "does not say what is asked for"),
        ("\x00\x01 ; MATCH (n) DELETE n", 2, "", "MATCH and DELETE are not in this graph"),
    ],
)
def test_what_ends_how(question: str, code: int, out: str | None, err: str) -> None:
    said = ask(question)

    assert said.code == code
    assert said.out == out if out is not None else said.out.startswith("Read as: ")
    assert err in said.err
    assert "Traceback" not in said.err
