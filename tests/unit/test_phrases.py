"""Phrases of somebody else's lexicon: what could hang a question is refused when the profile is read."""

import re
import shutil
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgcheck.graph.names import NameIndex
from kgcheck.profile.claims import load_claim_forms
from kgcheck.profile.folder import profile_dir
from kgcheck.profile.lexicon import check_phrase, load_lexicon, phrase
from kgcheck.profile.schema import load_schema
from kgcheck.profile.toml_files import WrongFile
from kgcheck.profile.validate import validate_profile
from kgcheck.questions.reading import Reader
from tests.support.spent import spent


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(a+)+b", "repeats words without end"),
        ("((a|b) )*b", "repeats words without end"),
        ("a?" * 30 + "a" * 30, "ways to fit"),
        ("(a|b|ab){30}", "ways to fit"),
        ("(.*a)(.*b)(.*c)", "more than 2 parts"),
        (r"(a)\1b", "has a part that phrases do not have"),
        ("x" * 3000, "has more than"),
        ("(", "is no regular expression"),
        ("a)|(b", "is no regular expression"),
        ("(?i)a", "has flags"),
        ("(?P<value>a)", "groups with names"),
        ("# of #", "is no regular expression"),
        ("(?<!in )terms?", "looks back at what has no fixed length"),
    ],
)
def test_what_could_take_ages_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_phrase(text)


@pytest.mark.parametrize(
    "text", ["((a|ab|b) ){0,3}c", "(" * 50 + "a" + ")" * 50, "where(?= is.*found)", "(?<!at\\s)most"]
)
def test_what_is_plain_is_accepted(text: str) -> None:
    check_phrase(text)
    re.compile(phrase(text))


_ATOMS = st.sampled_from(["a", "b", "ab", " ", ".", "[ab]", "a?", "b*", "a+", r"\s", "(?=a)", "(?!b)"])
_PHRASES = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("({}|{})".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from(["", "?", "*", "+", "{2,9}", "*?"])),
    ),
    max_leaves=14,
)
_QUESTIONS = st.builds(
    lambda piece, times, end: piece * times + end,
    st.text(alphabet="ab ", min_size=1, max_size=4),
    st.integers(10, 40),
    st.sampled_from(["", "!", "c"]),
)


@settings(deadline=None, max_examples=200)
@given(_PHRASES, _QUESTIONS)
@example("(a|b|ab)*c", "ab" * 40)
def test_what_is_accepted_is_looked_for_at_once(text: str, question: str) -> None:
    try:
        check_phrase(text)
    except ValueError:
        return
    assert spent(lambda: re.compile(phrase(text)).search(question)) < 5


def test_prepositions_that_are_parts_of_each_other_are_read_at_once(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(profile_dir("ckg"), mine, ignore=shutil.ignore_patterns("demo"))
    path = mine / "lexicon.toml"
    path.write_text(path.read_text().replace("forward = ['", f"forward = ['taken ({'into|' * 200}!)', '", 1))
    schema = load_schema(str(mine))
    lexicon = load_lexicon(schema)

    assert spent(lambda: Reader(lexicon, NameIndex(schema, lambda label: (), lexicon))) < 5


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("{head} is in {tail:99999999999}", "holds {head} and {tail}, once each"),
        ("{head.__class__} is in {tail}", "holds {head} and {tail}, once each"),
        ("{head} is in {0}", "holds {head} and {tail}, once each"),
        ("{head} is in {tail", "expected '}'"),
        ("all is in all", "holds {head} and {tail}, once each"),
        ("{head} is in {tail}" + " x" * 1000, "at most"),
    ],
)
def test_a_claim_is_a_sentence_with_two_names(tmp_path: Path, claim: str, why: str) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "claims.toml").write_text(
        f'[[claims]]\nrelation = "R"\nhead = "A"\ntail = "B"\nclaim = "{claim}"\ncues = ["(a+)+", "["]\n'
    )
    with pytest.raises(WrongFile, match=re.escape(why)):
        load_claim_forms(str(mine))


def test_a_profile_with_such_a_phrase_is_told_where(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(profile_dir("ckg"), mine, ignore=shutil.ignore_patterns("demo"))
    load_lexicon(load_schema(str(mine)))
    path = mine / "lexicon.toml"
    text = path.read_text()
    assert text.count("'mod terms?'") == 1
    path.write_text(text.replace("'mod terms?'", "'(mod+)+ terms', 'mod ('"))

    found = [(m.where, m.what) for m in validate_profile(str(mine)).mistakes]

    assert found[0] == ("labels[Modification].nouns", "'(mod+)+ terms' repeats words without end: write {0,3}")
    assert "is no regular expression" in found[1][1]
    with pytest.raises(WrongFile, match=r"labels\[Modification\].nouns"):
        load_lexicon(load_schema(str(mine)))
