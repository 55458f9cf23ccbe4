"""Pins files: what is read, what is refused by name and line, and what is written."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.errors import InputFormat, KgcheckError
from kgcheck.pins import COLUMNS, Pin, add_pin, find_pins, format_pins, make_pin, parse_pins

HEADER = "\t".join(COLUMNS) + "\n"
EDGE = Pin(pin="must_not", subject="HGNC:1", predicate="biolink:treats", object="MONDO:2", because="PMID:3", by="ana")
NODE = Pin(pin="must", subject="HGNC:1", because="HGNC 2026", date="2026-11-27")
VALUE = Pin(pin="must", subject="HGNC:1", property="name", value='the "A" gene', because="HGNC")


def row(pin: str, **fields: str) -> str:
    return "\t".join({"pin": pin, **fields}.get(column, "") for column in COLUMNS) + "\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("pin\tsubject\tbecuse\n", "x:1: there is no column 'becuse'"),
        ("subject\tpin\n", "x:1: the header begins with pin"),
        ("pin\tsubject\tsubject\n", "x:1: the header begins with pin, and has each column once"),
        (HEADER + row("maybe", subject="a", because="b"), "x:2: pin: Input should be 'must' or 'must_not'"),
        (HEADER + "\n" + row("must", subject="a b", because="c"), "x:3: subject: 'a b' has a space"),
        (HEADER + row("must", subject="a"), "x:2: a pin names its subject, and because of which record"),
        (HEADER + row("must", because="a"), "x:2: a pin names its subject, and because of which record"),
        (HEADER + row("must", subject="a", predicate="b", because="c"), "x:2: an edge has a predicate and an object"),
        (HEADER + row("must", subject="a", property="b", because="c"), "x:2: a property has a value"),
        (
            HEADER + row("must", subject="a", predicate="b", object="c", property="d", value="e", because="f"),
            "x:2: it is of an edge or of a value",
        ),
        (HEADER + row("must", subject="a", because="b", date="2026-02-30"), "x:2: day is out of range"),
        (HEADER + row("must", subject="a", because="b") * 2, "x:3: must a stands there already, in line 2"),
        (
            HEADER + row("must", subject="a", because="b") + row("must_not", subject="a", because="c"),
            "x:3: must_not a is contradicted by must, in line 2",
        ),
        (
            HEADER
            + row("must", subject="a", predicate="b", object="c", because="d")
            + row("must_not", subject="c", because="e"),
            "x:2: must a b c is contradicted by must_not c, in line 3",
        ),
        (HEADER + row("must", subject="a", because="b").rstrip("\n") + "\tmore\n", "x:2: 10 fields, and 9 columns"),
        (HEADER + 'must\t"a\n', "x:2: unexpected end of data"),
    ],
)
def test_a_wrong_file_is_refused_with_the_line(text: str, why: str) -> None:
    with pytest.raises(InputFormat) as refused:
        parse_pins(text, "x")

    assert refused.value.message.startswith(why)
    assert refused.value.exit_code == 2


def test_what_people_and_spreadsheets_write_is_read() -> None:
    text = (
        "\ufeffpin\tsubject\tbecause\r\n# of the first release\r\n\r\n must \t HGNC:1 \tPMID:1 \r\nmust_not\tHGNC:2\tx"
    )

    assert [(str(pin), pin.because) for pin in parse_pins(text)] == [
        ("must HGNC:1", "PMID:1"),
        ("must_not HGNC:2", "x"),
    ]
    assert parse_pins("") == parse_pins("\n# nothing yet\n") == ()


def test_pins_are_added_below_what_stands_there(tmp_path: Path) -> None:
    path = tmp_path / "kgcheck.pins.tsv"
    for pin in (EDGE, NODE):
        add_pin(path, pin)
    path.write_text(path.read_text(encoding="utf-8") + "# by hand\n", encoding="utf-8")
    add_pin(path, VALUE)

    text = path.read_text(encoding="utf-8")
    assert parse_pins(text) == (EDGE, NODE, VALUE)
    assert text.splitlines()[3] == "# by hand"
    with pytest.raises(InputFormat, match=r"pins.tsv:6: must_not HGNC:1 is contradicted by must, in line 3"):
        add_pin(path, make_pin({"pin": "must_not", "subject": "HGNC:1", "because": "x"}))
    assert path.read_text(encoding="utf-8") == text, "nothing is written of what is refused"


def test_a_pin_that_the_header_has_no_column_for_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv"
    path.write_text("pin\tsubject\tbecause\n", encoding="utf-8")

    with pytest.raises(InputFormat, match=r"p.tsv:1: the header has no column date"):
        add_pin(path, NODE)
    add_pin(path, NODE.model_copy(update={"date": ""}))
    assert path.read_text(encoding="utf-8") == "pin\tsubject\tbecause\nmust\tHGNC:1\tHGNC 2026\n"


PIECES = st.lists(st.sampled_from(["must", "must_not", "\t", "\n", "\r", '"', "#", " ", "a", "b:1"]), max_size=30)


@settings(max_examples=300)
@given(st.text() | PIECES.map("".join) | PIECES.map(lambda some: HEADER + "".join(some)))
def test_any_text_is_pins_or_an_error(text: str) -> None:
    try:
        pins = parse_pins(text)
    except KgcheckError:
        return
    assert parse_pins(format_pins(pins)) == pins


SIGNS = st.sampled_from("\"'#\\a:")
IDS = st.text(SIGNS | st.characters(exclude_categories=("Cs", "Cc", "Z")), min_size=1, max_size=20)
TEXTS = st.text(SIGNS | st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20).filter(str.strip)
PARTS: st.SearchStrategy[dict[str, str]] = st.just({}) | st.fixed_dictionaries({"predicate": TEXTS, "object": IDS})
PARTS |= st.fixed_dictionaries({"property": TEXTS, "value": TEXTS})


def test_pins_are_found_in_the_working_directory_or_beside_a_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, graph = tmp_path / "here", tmp_path / "graph"
    for folder in (here, graph):
        folder.mkdir()
        (folder / "nodes.tsv").touch()
    monkeypatch.chdir(here)
    assert find_pins([graph]) is None
    beside = graph / "kgcheck.pins.tsv"
    beside.touch()
    assert find_pins([graph]) == find_pins([graph / "nodes.tsv"]) == beside
    (here / beside.name).touch()
    assert find_pins([graph]) == Path(beside.name)


ENDS = st.fixed_dictionaries({"pin": st.sampled_from(("must", "must_not")), "subject": IDS, "because": TEXTS})


@settings(max_examples=300)
@given(ENDS, PARTS)
def test_what_is_written_is_read_again(ends: dict[str, str], parts: dict[str, str]) -> None:
    pin = make_pin(ends | parts)

    assert parse_pins(format_pins([pin])) == (pin,)
