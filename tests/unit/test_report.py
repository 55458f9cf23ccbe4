"""A run as an HTML page and as Markdown: nothing hostile gets through, and nothing is pushed out or left unsaid."""

import base64
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import RenderableType

from kgcheck.ledger.ledger import Run
from kgcheck.model import (
    CheckType,
    Finding,
    Gap,
    Outcome,
    Reason,
    TallyMark,
    Target,
)
from kgcheck.report.documents import MAX_CHARACTERS, MAX_SHOWN, Kind, ShownFindings, fair, is_web, unasked
from kgcheck.report.methods import methods_text
from kgcheck.report.safe_console import SafeConsole
from kgcheck.report.tables import findings_table, run_table
from kgcheck.visible import visible
from tests.support.reports import RUN, Page, cells, finding, parsed, tally, written

HOSTILE = [
    "<script>alert(1)</script>",
    "</style></script><img src=x onerror=alert(1)>",
    "\"' onmouseover=alert(1) x='",
    "a | b\nc\r\nd | e",
    "[link](javascript:alert(1)) ![x](https://example.org/x.png)",
    "`code` **bold** __bold__ ~~gone~~ \\| \\` &lt; &#60;",
    "<https://example.org> https://example.org www.example.org @somebody #1 GH-1",
    "--> <!-- ]]> {{ run.id }} {% raw %}",
    "\u202eesrever \x00\x1b[31m \x85",
]


def test_page_tells_what_why_and_what_to_do() -> None:
    page = Page(written("html", [finding()], [tally(1, Outcome.REFUTED), tally(9, Outcome.SUPPORTED)]))

    for told in (
        "bolt://localhost:7687",
        "10 checked, 1 refuted",
        "Protein Q00007",
        "there is such a node",
        "Accession merged into another",
        "re-point to P04637",
        "2026_03",
        "merged; now P04637",
        f"kgcheck explain {finding().fingerprint}",
    ):
        assert told in " ".join(page.text.split())
    assert "https://www.uniprot.org/uniprotkb/Q00007" in page.values("href")
    assert page.values("rel") == ["noopener noreferrer"]


def test_page_allows_only_its_own_style_and_script_and_loads_nothing() -> None:
    html = written("html", [finding(said=text, value=text) for text in HOSTILE], [tally(9, Outcome.REFUTED)])
    page = Page(html)
    (policy,) = [value for tag, name, value in page.attributes if tag == "meta" and "default-src" in value]

    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        digest = base64.b64encode(hashlib.sha256(page.inline[tag].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
        assert page.tags[tag] == 1
    assert policy.startswith("default-src 'none'; ")
    assert not page.tags.keys() & {"link", "img", "iframe", "object", "embed", "base", "audio", "video", "source"}
    assert not {"src", "srcset", "style", "action", "data", "poster"} & {name for _, name, _ in page.attributes}
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert "url(" not in page.inline["style"]
    assert "@import" not in page.inline["style"]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_page_shows_hostile_text_as_text(hostile: str) -> None:
    plain = Page(written("html", [finding()]))
    clean = "".join(c for c in hostile if ord(c) >= 32)
    page = Page(written("html", [finding(clean, said=hostile, value=hostile, label=hostile)], run=_named(hostile)))

    assert not page.tags - plain.tags - Counter(span=9, div=9, dt=9, dd=9)
    assert page.text.count(visible(hostile, layout=True)) >= 4
    assert not {name for _, name, _ in page.attributes} - {name for _, name, _ in plain.attributes}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_markdown_shows_hostile_text_as_text(hostile: str) -> None:
    clean = "".join(c for c in hostile if ord(c) >= 32)
    text = written("markdown", [finding(clean, said=hostile, value=hostile, url="")], run=_named(hostile))
    tokens, plain = parsed(text), parsed(written("markdown", [finding(url="", value="v")]))

    assert Counter(t.type for t in tokens) == Counter(t.type for t in plain)
    assert [t.content for t in tokens if t.type == "html_block"] == [t.content for t in plain if t.type == "html_block"]
    row = cells(text)[-1]
    assert len(row) == 6
    assert " ".join(visible(hostile, layout=True).split()) in row[4].replace("\u2060", "")


def test_markdown_mentions_nobody_and_links_nothing_of_itself() -> None:
    text = written("markdown", [finding(said="@somebody #12 GH-12 https://example.org www.example.org :x:")])

    assert not re.search(r"@somebody|#12|GH-12|://example|www\.example|:x:", text)


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " javascript:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "file:///etc/passwd",
        "//example.org/x",
        "https://uniprot.org@example.org/",
        'https://example.org/"onmouseover="alert(1)',
        "https://example.org/\u202ex",
        "https://",
        "",
    ],
)
def test_only_plain_web_addresses_become_links(url: str) -> None:
    page = Page(written("html", [finding(url=url)]))

    assert not is_web(url)
    assert [href for href in page.values("href") if not href.startswith("#")] == []
    assert "](" not in written("markdown", [finding(url=url)])


TEXTS = st.text(min_size=1, max_size=80)


@given(name=TEXTS.filter(lambda t: all(ord(c) >= 32 for c in t)), said=TEXTS, url=TEXTS, store=TEXTS)
def test_any_text_appears_escaped(name: str, said: str, url: str, store: str) -> None:
    shown = finding(name, said=said, url=url, value=said, kind=CheckType.ATTRIBUTE)
    html = written("html", [shown], run=_named(store))
    page = Page(html)

    assert page.tags == Page(written("html", [finding("Q", value="v", url="", kind=CheckType.ATTRIBUTE)])).tags
    assert visible(name, layout=True) in page.text
    assert page.text.count(visible(said, layout=True)) >= 3
    assert visible(store, layout=True) in page.text
    html.encode()


@given(name=TEXTS.filter(lambda t: all(ord(c) >= 32 for c in t)), said=TEXTS, url=TEXTS)
def test_any_text_stays_in_its_cell(name: str, said: str, url: str) -> None:
    text = written("markdown", [finding(name, said=said, url=url, value=said, kind=CheckType.ATTRIBUTE)])
    row = cells(text)[-1]

    assert len(row) == 6
    assert {t.type for t in parsed(text)} & {"html_inline", "link_open", "image", "em_open", "strong_open"} <= {
        "strong_open"
    }
    assert " ".join(visible(name, layout=True).split()) in row[1].replace("\u2060", "")
    assert " ".join(visible(said, layout=True).split()) in row[2].replace("\u2060", "")
    text.encode()


def test_a_run_that_was_cut_off_says_so() -> None:
    cut_off = RUN.model_copy(update={"finished": None, "warnings": ("the snapshot is old",)})

    for form in ("html", "markdown"):
        text = written(form, [finding()], [tally(1, Outcome.REFUTED)], run=cut_off)
        assert "This run is not finished." in text
        assert f"kgcheck audit --resume {RUN.id}" in text
        assert "the snapshot is old" in text
        assert "This run is not finished." not in written(form, [finding()])


UNCOVERED = Gap("uniprot", Reason.NOT_COVERED)
TRANSLATED = Target(label="Gene", relation="TRANSLATED_INTO", object_label="Protein")


def test_what_could_not_be_asked_is_counted_apart() -> None:
    tallies = [
        tally(5, Outcome.UNAVAILABLE, (), (UNCOVERED,)),
        tally(7, Outcome.SUPPORTED, ("hgnc",), (UNCOVERED,), TRANSLATED),
        tally(2, Outcome.UNAVAILABLE, ()),
    ]

    first, second = unasked(tallies)

    assert first[:4] == ("uniprot", Reason.NOT_COVERED.words, 5, 7)
    assert first.targets == ["Gene TRANSLATED_INTO Protein", "Protein"]
    assert (second.undecided, second.decided) == (2, 0)
    for form in ("html", "markdown"):
        assert Reason.NOT_COVERED.words in written(form, tallies=tallies)
        assert "every source that decides was asked" in written(form, tallies=[tally(1, Outcome.SUPPORTED)])
        alone = RUN.model_copy(update={"reference": None})
        assert "the graph was checked by itself" in written(form, tallies=[tally(1, Outcome.SUPPORTED)], run=alone)


def _named(store: str) -> Run:
    return RUN.model_copy(update={"store": store})


# --- tables of a terminal


def printed(width: int, *tables: RenderableType) -> str:
    console = SafeConsole(width=width, file=io.StringIO(), record=True)
    for table in tables:
        console.print(table)
    return console.export_text()


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_tables_can_be_read_at_every_width(width: int) -> None:
    found = finding(said="words of a source that take more room than a column has at 80 characters")
    counted = [tally(2_314, Outcome.SUPPORTED), tally(76, Outcome.REFUTED), tally(426, Outcome.UNAVAILABLE)]

    runs, findings = printed(width, run_table([(RUN, counted)])), printed(width, findings_table([found], {}))

    lines = [line.rstrip() for line in (runs + findings).splitlines()]
    assert max(map(len, lines)) <= width
    for whole in (RUN.id, "2,314", "supported", "refuted", "insufficient", "unavailable"):
        assert re.search(rf"(?<!\S){re.escape(whole)}(?![^\s,])", runs), whole
    for whole in (found.fingerprint[:8], found.verdict.reason.value, "proposal"):
        assert whole in findings
    # Nothing is squeezed to a ribbon.
    assert "uniprot 2026_03 Q00007:" in findings
    assert "counted" in runs or width == 200


# --- methods for a paper


def test_methods_count_what_the_run_counted() -> None:
    run = RUN.model_copy(update={"nodes": {"A": 1_234, "B": 2}, "edges": {"C": 77}, "made_with": {"kgcheck": "7.8.9"}})

    text = methods_text(run, [tally(1_005, Outcome.SUPPORTED), tally(13, Outcome.REFUTED)])

    for part in ("version 7.8.9", run.id, "1,236", "77", "1,018", "1,005", "13", *(r.release for r in run.releases)):
        assert part in text


def _many(n: int, **kind: object) -> Iterator[Finding]:
    return (finding(f"P{i:06d}", **kind) for i in range(n))  # type: ignore[arg-type]


@cache
def _noisy() -> list[Finding]:
    return [
        *_many(6_000, kind=CheckType.TRIPLE, reason=Reason.EDGE_UNSUPPORTED),
        *_many(30, reason=Reason.ID_DELETED),
        *_many(500, kind=CheckType.TRIPLE, outcome=Outcome.INSUFFICIENT, reason=Reason.NOTHING_FOUND),
    ]


@pytest.mark.slow
def test_a_noisy_reason_does_not_push_out_the_others() -> None:
    page = Page(written("html", _noisy()))

    assert page.values("class").count("finding refuted") == MAX_SHOWN - 20
    assert page.values("class").count("finding insufficient") == 20
    text = " ".join(page.text.split())
    assert "2,000 of 6,530 findings" in text
    assert "Accession deleted by its database 30" in text.replace("refuted ", "")
    assert f"kgcheck report {RUN.id} --format jsonl" in text
    assert "4,050" in text


def test_markdown_fits_into_a_comment() -> None:
    text = written("markdown", _noisy())

    assert 40_000 < len(text) <= MAX_CHARACTERS
    assert "of 6,530 findings** are shown" in text
    assert len(cells(text)) > 100
    assert "nothing either way (" in text


KINDS = st.tuples(
    st.sampled_from([CheckType.EXISTENCE, CheckType.TRIPLE]),
    st.sampled_from(list(Outcome)),
    st.sampled_from([Reason.UNKNOWN_ID, Reason.NOTHING_FOUND, Reason.EDGE_UNSUPPORTED]),
    st.sampled_from(["Gene", "Protein", "Disease"]),
)


@given(runs=st.lists(st.tuples(KINDS, st.integers(1, 60)), max_size=12), room=st.integers(0, 90))
def test_all_room_is_used_and_nothing_is_counted_twice(
    runs: list[tuple[tuple[CheckType, Outcome, Reason, str], int]], room: int
) -> None:
    choice, found = ShownFindings(room), Counter[Kind]()
    for (kind, outcome, reason, label), n in runs:
        shown = finding(kind=kind, outcome=outcome, reason=reason, label=label)
        for _ in range(n):
            choice.add(shown)
        found[Kind(TallyMark.of(kind, outcome), kind, reason)] += n

    groups = choice.groups(room)

    assert {g.kind: g.total for g in groups} == found
    assert sum(len(g.findings) for g in groups) == min(room, found.total())
    assert all(len(g.findings) <= g.total for g in groups)


@given(sizes=st.dictionaries(st.integers(), st.integers(0, 50), max_size=8), room=st.integers(0, 200))
def test_shares_are_even(sizes: dict[int, int], room: int) -> None:
    given_out = fair(sizes, room)

    assert sum(given_out.values()) == min(room, sum(sizes.values()))
    short = [given_out[k] for k in sizes if given_out[k] < sizes[k]]
    assert all(given_out[k] <= min(short) + 1 for k in sizes if short)
