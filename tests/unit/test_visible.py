"""What a terminal would obey, or nobody would see, is spelt out."""

import json
import re
import sys
import unicodedata

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.visible import HIDDEN, HIDDEN_RE2, as_json, safe_json, visible

_LETTERS = "aß中β-·e\u0301\U0001f9ec"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202eb\u2066c", "a<U+202E>b<U+2066>c"),
        ("one\ntwo\tthree\r", "one\\x0atwo\\x09three\\x0d"),
        ("\u2028\u2029\x85\x7f", "<U+2028><U+2029>\\x85\\x7f"),
        ("zero\u200bwidth\ufeff\U000e0041", "zero<U+200B>width<U+FEFF><U+E0041>"),
        ("\ud800", "<U+D800>"),
        (_LETTERS, _LETTERS),
    ],
)
def test_spelt_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_layout_keeps_line_breaks_and_tabs_alone() -> None:
    assert visible("a\n\tb\r\x1b\u2028", layout=True) == "a\n\tb\\x0d\\x1b<U+2028>"


def test_every_character_of_the_hidden_categories_is_hidden() -> None:
    hidden = re.compile(f"[{HIDDEN}]")
    wanted = [
        c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]

    assert [hex(ord(c)) for c in wanted if not hidden.match(c)] == []


@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_nothing_hidden_is_left_and_json_says_the_same(text: str) -> None:
    hidden = re.compile(f"[{HIDDEN}]")
    # Two halves side by side are one character.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    assert not hidden.search(visible(text))
    told = as_json({"said": [text]})
    assert told.isascii()
    assert not hidden.search(told)
    assert json.loads(told) == {"said": [text]}
    assert json.loads(safe_json(json.dumps({text: 1}, ensure_ascii=False, indent=2))) == {text: 1}


def test_databases_see_the_same() -> None:
    hidden = re.compile(f"[{HIDDEN}]")
    ranges = [chr(n) for n in range(0x20000) if not 0xD800 <= n < 0xE000 and n] + ["\U000e0001", "\U000e0fff"]

    query = f"SELECT list_filter($1, lambda c: regexp_matches(c, '[{HIDDEN_RE2}]'))"
    (found,) = duckdb.execute(query, [ranges]).fetchall()[0]

    assert found == [c for c in ranges if hidden.match(c)]
