"""Texts that no release can have: what the pattern takes for one, over made-up ones and over all real ones at hand."""

import re
from collections.abc import Iterable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from kgcheck.evidence.coverage import IMPOSSIBLE_RE2
from kgcheck.quoting import literal

SYMBOLS = ("TP53", "BRAF", "MAPK1", "SEPTIN2", "UNC119B", "HLA-DRB1", "KCNH2", "ZNF790", "CXorf40A", "PINX1", "OIT3")
# Letters of other alphabets that look like these; not those of the module's own table alone.
ALIKE = {
    "Cyrillic": ("ABCEHIJKMOPSTXYaceopxy", "АВСЕНІЈКМОРЅТХУасеорху"),  # noqa: RUF001
    "Greek": ("ABEHIKMNOPTXYZ", "ΑΒΕΗΙΚΜΝΟΡΤΧΥΖ"),  # noqa: RUF001
    "Armenian": ("OSU", "ՕՏՍ"),  # noqa: RUF001
    "Cherokee": ("ABEHJKMPSTZ", "ᎪᏴᎬᎻᎫᏦᎷᏢᏚᎢᏃ"),  # noqa: RUF001
    "Lisu": ("ABCDEHIKLMNPST", "ꓮꓐꓚꓓꓰꓧꓲꓗꓡꓟꓠꓑꓢꓔ"),  # noqa: RUF001
    "full width": ("ABCDEFGHIKLMNOPRSTUXZ0123456789", "ＡＢＣＤＥＦＧＨＩＫＬＭＮＯＰＲＳＴＵＸＺ０１２３４５６７８９"),  # noqa: RUF001
    "formulas": ("ABCDEFGHIKLMNOPRSTUXZ", "𝐀𝐁𝐂𝐃𝐄𝐅𝐆𝐇𝐈𝐊𝐋𝐌𝐍𝐎𝐏𝐑𝐒𝐓𝐔𝐗𝐙"),  # noqa: RUF001
}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def impossible(texts: Iterable[str]) -> list[str]:
    given_texts = pa.table({"text": list(texts)})
    with duckdb.connect() as db:
        db.register("given_texts", given_texts)
        found = f"SELECT text FROM given_texts WHERE regexp_matches(text, {literal(IMPOSSIBLE_RE2)})"
        return [text for (text,) in db.execute(found).fetchall()]


@pytest.mark.parametrize("alphabet", ALIKE)
def test_a_symbol_with_a_letter_that_only_looks_latin_is_impossible(alphabet: str) -> None:
    look_alike = dict(zip(*ALIKE[alphabet], strict=True))
    changed = [
        f"{symbol[:place]}{look_alike[letter]}{symbol[place + 1 :]}"
        for symbol in SYMBOLS
        for place, letter in enumerate(symbol)
        if letter in look_alike
    ]

    assert changed
    assert impossible(changed) == changed


def test_dates_that_spreadsheets_make_of_symbols_are_impossible() -> None:
    days = [(day, month) for month in MONTHS for day in range(1, 32)]
    dates = [f"{day}-{month}" for day, month in days] + [f"{month}-{day:02}" for day, month in days]
    dates += [f"{day}-{month}-24" for day, month in days] + [f"{day}-{month}-2024" for day, month in days]

    assert impossible(dates) == dates


def test_names_of_real_things_are_possible() -> None:
    names = ["DEC-205", "APR-2", "TNFα", "IFN-γ receptor", "5-HT3A", "βAPP", "Ω-conotoxin", "März", "NF-κB", "2-May-ol"]  # noqa: RUF001

    assert impossible(names) == []


def test_no_text_of_real_sources_is_impossible(shared_data: Path) -> None:
    texts: set[str] = set()
    for name in (
        "ckg_sources/hgnc_entries_2017.tsv",
        "ckg_sources/ReactomePathways.txt",
        "ontologies/HumanDO_2026.tsv",
    ):
        for line in (shared_data / name).read_text(encoding="utf-8").splitlines():
            texts |= {part.strip('" ') for part in re.split(r"\t|[|;] ?|, ", line)}

    assert len(texts) > 100_000
    assert impossible(sorted(texts)) == []
