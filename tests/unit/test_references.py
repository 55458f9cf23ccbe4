"""A reference against works: titles that are one, and what is confirmed, differs, or is not known."""

import random
import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.grounding.citations.references import (
    JudgedReference,
    Likeness,
    compare_titles,
    judge_reference,
    same_author,
)
from kgcheck.grounding.remarks import Remark, SentenceState
from kgcheck.literature.papers import CitedWork
from kgcheck.literature.titles import same_journal, title_words
from kgcheck.literature.works import Work, WorksFound, WorkStatement, silent
from tests.support.readings import readings

AT = datetime(2026, 11, 22, tzinfo=UTC)
TITLES = (
    "Kinase A binds kinase B in the growing tumours of young mice",
    "Behaviour of naïve fibres in Sjögren's syndrome: a randomised controlled trial",
    "TGF-β signalling and the regulation of \u03b1-catenin in haematopoietic cells",
    "The role of CO2 in long-term warming of northern seas: results of three cruises",
    "Analysis of gene expression by real-time PCR and the 2(-Delta Delta C(T)) method",
    "Amodiaquine for treating malaria in children of rural areas",
)
WORDS = "insulin glacier hepatitis algorithm receptor pigeon vaccination turbine melanoma orchid".split()


def harmless(title: str, rng: random.Random) -> str:
    """The same title as somebody else writes it."""
    changes: list[Callable[[str], str]] = [
        str.upper,
        str.lower,
        str.title,
        lambda t: t + ".",
        lambda t: f"[{t}].",
        lambda t: t.replace("-", "\u2010"),
        lambda t: t.replace("-", "\u2013"),
        lambda t: t.replace(": ", " \u2014 "),
        lambda t: t.replace("'", "\u2019"),
        lambda t: t.replace("β", "&beta;").replace("\u03b1", "alpha"),
        lambda t: t.replace("ï", "i").replace("ö", "o"),
        lambda t: t.replace("tumour", "tumor").replace("Behaviour", "Behavior").replace("fibres", "fibers"),
        lambda t: t.replace("randomised", "randomized").replace("signalling", "signaling").replace("haem", "hem"),
        lambda t: t.replace("CO2", "CO<sub>2</sub>").replace("gene", "<i>gene</i>"),
        lambda t: t.partition(": ")[0] if len(t.partition(": ")[0].split()) > 6 else t,
        lambda t: t + " [Article in German]",
        lambda t: re.sub(r" (?:and|&) ", " & ", t),
        lambda t: "The " + t,
        lambda t: t.replace(" ", "  "),
    ]
    for change in rng.sample(changes, rng.randint(1, 3)):
        title = change(title)
    return title


def harmful(title: str, rng: random.Random) -> str:
    """A title that says something else."""
    words = title.split()
    places = [n for n, w in enumerate(words) if len(w) > 5 and w.isalpha()]
    kind = rng.choice(("exchange", "negate", "other"))
    if kind == "exchange":
        words[rng.choice(places)] = rng.choice(WORDS)
        return " ".join(words)
    if kind == "negate":
        words.insert(rng.choice(places), "not")
        return " ".join(words)
    return rng.choice([t for t in TITLES if t != title])


@pytest.mark.parametrize(("rewrite", "is_same"), [(harmless, True), (harmful, False)])
@given(title=st.sampled_from(TITLES), rng=st.randoms(use_true_random=False))
def test_a_title_in_another_dress_is_the_same_and_one_of_another_meaning_is_not(
    rewrite: Callable[[str, random.Random], str], is_same: bool, title: str, rng: random.Random
) -> None:
    written = rewrite(title, rng)

    assert (compare_titles(written, title) is Likeness.SAME) is is_same
    assert (compare_titles(title, written) is Likeness.SAME) is is_same


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    assert compare_titles(one, other) is compare_titles(one, other)
    assert compare_titles(one, one) is Likeness.SAME or not title_words(one)
    assert isinstance(same_author(one, other), bool)


@pytest.mark.parametrize(("one", "other", "likeness"), readings("titles"))
def test_likeness(one: str, other: str, likeness: str) -> None:
    assert compare_titles(one, other).value == likeness


@pytest.mark.parametrize(("one", "other", "found"), readings("journals"))
def test_journals_are_compared_as_they_are_abbreviated(one: str, other: str, found: str) -> None:
    same = {"same": True, "another": False, "unknown": None}[found]

    assert same_journal(one, other) is same_journal(other, one) is same


@pytest.mark.slow
def test_long_titles_are_compared_in_time() -> None:
    for piece in ("a-", "&amp;", "<i>", "ab ", "(", "retracted:", "\u03b1", "[article in a"):
        assert compare_titles(piece * 20_000, piece * 19_000 + "x") in Likeness


def work(doi: str = "10.5555/a", listed: bool = False, retracted: bool = False, **more: object) -> Work:
    stated = {
        "source": "crossref",
        "release": "2026",
        "record": f"{doi}#1" if listed else doi,
        "retrieved_at": AT,
        "stated_by": "reference_list" if listed else "record",
        "titles": (TITLES[0],),
        "years": (2012,),
        "author": "Doe Jane",
        "volume": "33",
        "page": "588",
    }
    ids = (f"doi:{doi}",) if doi else ()
    return Work(ids=ids, statements=(WorkStatement(**stated | more),), retracted=retracted)


def reference(**more: object) -> CitedWork:
    fields = {"key": "r1", "doi": "10.5555/a", "year": 2012, "title": TITLES[0], "authors": ("Doe J",)} | more
    text = f"{', '.join(fields['authors'])} ({fields['year']}) {fields['title']}. J 33: 588-602. {fields['doi']}"  # type: ignore[arg-type]
    return CitedWork(**{"text": text} | fields)


def kinds(judged: JudgedReference) -> list[str]:
    return [r.remark.value for r in judged.remarks]


def judge(
    entry: CitedWork, by_id: tuple[Work, ...] = (), similar: tuple[Work, ...] = (), **more: object
) -> JudgedReference:
    return judge_reference(entry, WorksFound(by_id=by_id, similar=similar, **more))


OTHER = work("10.5555/b", titles=(TITLES[3],), author="Roe R", years=(1999,), volume="1", page="2")


@pytest.mark.parametrize(
    ("changed", "expected", "found"),
    [
        ({"year": 2007}, Remark.YEAR_DIFFERS, "2012"),
        ({"title": TITLES[0].replace("binds", "releases")}, Remark.TITLE_DIFFERS, TITLES[0]),
        ({"title": TITLES[3]}, Remark.TITLE_DIFFERS, TITLES[0]),
        ({"authors": ("Roe R",)}, Remark.AUTHOR_DIFFERS, "Doe Jane"),
    ],
)
def test_what_differs_is_named(changed: dict[str, object], expected: Remark, found: str) -> None:
    (remark,) = judge(reference(**changed), (work(),)).remarks

    assert (remark.remark, remark.found, remark.state) == (expected, found, SentenceState.CONTRADICTED)


def test_a_year_is_repaired_where_it_stands() -> None:
    entry = reference(year=2007)
    (remark,) = judge(entry, (work(),)).remarks

    assert remark.repair is not None
    fixed = entry.text[: remark.repair.start] + remark.repair.to + entry.text[remark.repair.end :]
    assert fixed == reference().text


def test_one_year_off_is_weak_unless_print_and_online_are_both_known() -> None:
    (weak,) = judge(reference(year=2011), (work(),)).remarks
    (firm,) = judge(reference(year=2010), (work(years=(2011, 2012)),)).remarks

    assert (weak.state, weak.repair) == (SentenceState.UNSUPPORTED, None)
    assert firm.state is SentenceState.CONTRADICTED
    assert judge(reference(year=2011), (work(years=(2011, 2012)),)).confirmed


def test_lists_of_others_are_weaker_than_records() -> None:
    (remark,) = judge(reference(year=2007), (work(listed=True),)).remarks
    both = Work(ids=("doi:10.5555/a",), statements=(*work().statements, *work(listed=True, years=(2007,)).statements))

    assert remark.state is SentenceState.UNSUPPORTED
    assert kinds(judge(reference(year=2007), (both,))) == ["year_differs"]


def test_a_doi_of_another_work_is_replaced_where_the_right_one_is_found() -> None:
    entry = reference(doi="10.5555/b")
    (remark,) = judge(entry, (OTHER,), (work(),)).remarks
    (alone,) = judge(entry, (OTHER,)).remarks

    assert (remark.remark, remark.found) == (Remark.DOI_DIFFERS, "10.5555/a")
    assert remark.repair is not None
    assert entry.text[remark.repair.start : remark.repair.end] == "10.5555/b"
    assert (alone.remark, alone.repair, TITLES[3] in alone.note) == (Remark.DOI_DIFFERS, None, True)


def test_a_doi_that_does_not_exist() -> None:
    gone = silent("crossref", "2026", AT, "doi:10.5555/zzz", complete=True)
    entry = reference(doi="10.5555/zzz")

    assert kinds(judge(entry, absent=(gone,))) == ["reference_not_found"]
    assert kinds(judge(entry, similar=(work(),), absent=(gone,))) == ["doi_differs"]
    # It is not said to be missing where it could not be looked, nor where the world may not cover it.
    assert [r.unavailable for r in judge(entry, unavailable=("down",)).remarks] == [True]
    (unknown,) = judge(entry).remarks
    assert (unknown.remark, unknown.state) == (Remark.REFERENCE_UNKNOWN, SentenceState.UNSUPPORTED)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("Doe J (2012) On yeast. J Yeast 12: 345-9.", SentenceState.UNSUPPORTED),
        ("Doe J (2012) On yeast. J Yeast 12, 345-9.", SentenceState.UNSUPPORTED),
        ("Doe J (2012) On yeast. Exeter: Yeast Press. 345 p.", SentenceState.NOT_CHECKABLE),
        (
            "Doe J (2012) On yeast. Available: http://example.org/yeast. Seen March 25, 2012.",
            SentenceState.NOT_CHECKABLE,
        ),
    ],
)
def test_silence_about_a_book_or_a_page_tells_nothing(text: str, state: SentenceState) -> None:
    (unknown,) = judge(reference(doi="", title="On yeast", text=text)).remarks

    assert (unknown.remark, unknown.state) == (Remark.REFERENCE_UNKNOWN, state)


SERIES = "SUPPORT tools for informed policy making {}: preparing briefs for ministers"


@pytest.mark.parametrize(
    ("entry", "similar", "expected"),
    [
        # Works of a series are not taken for each other.
        (
            {"title": SERIES.format(13)},
            {"titles": (SERIES.format(14).replace("briefs", "dialogues"),), "volume": "7", "page": "14"},
            "reference_unknown",
        ),
        # A work is known by its place in print; a volume without a page is no other place.
        ({"title": TITLES[4]}, {}, "title_differs"),
        ({"year": 2007, "text": f"Doe, J. (2007). {TITLES[0]}. J. 33. 10.5555/q"}, {}, "year_differs"),
        # A short title alone names no work.
        (
            {"title": "Introduction", "authors": ("Roe R",)},
            {"titles": ("Introduction",), "volume": "9", "page": "1"},
            "reference_unknown",
        ),
    ],
)
def test_which_work_a_reference_without_an_id_means(
    entry: dict[str, object], similar: dict[str, object], expected: str
) -> None:
    assert kinds(judge(reference(doi="", **entry), similar=(work("10.5555/c", **similar),))) == [expected]  # type: ignore[arg-type]


def test_a_reference_without_a_title_is_compared_by_its_text() -> None:
    text = f"Doe J. {TITLES[0]}. 2012"

    assert judge(reference(title="", text=text), (work(),)).confirmed
    bare = CitedWork(key="r", text="Personal note")
    assert [r.state for r in judge(bare).remarks] == [SentenceState.NOT_CHECKABLE]


def test_a_retracted_work_is_named_with_its_notice() -> None:
    gone = work(retracted=True).model_copy(update={"notices": ("doi:10.5555/n",)})

    judged = judge(reference(), (gone,))
    assert kinds(judged) == ["reference_confirmed", "reference_retracted"]
    assert judged.remarks[1].found == "doi:10.5555/n"


PRINTED = {"journal": "Journal of Cell Science", "issue": "3", "last_page": "602"}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"journal": "Nature"}, Remark.JOURNAL_DIFFERS),
        ({"volume": "34"}, Remark.VOLUME_DIFFERS),
        ({"issue": "4"}, Remark.ISSUE_DIFFERS),
        ({"page": "589", "last_page": ""}, Remark.PAGES_DIFFER),
        ({"last_page": "609"}, Remark.PAGES_DIFFER),
    ],
)
@pytest.mark.parametrize("known", ["by_id", "similar"])
def test_each_field_of_print_that_differs_has_its_remark(changed: dict[str, str], expected: Remark, known: str) -> None:
    stated = {"journal": "J. Cell Sci.", "volume": "33", "issue": "3", "page": "588", "last_page": "602"}
    entry = reference(**({} if known == "by_id" else {"doi": ""}), **stated | changed)

    (remark,) = judge(entry, **{known: (work(**PRINTED),)}).remarks  # type: ignore[arg-type]

    assert (remark.remark, remark.state) == (expected, SentenceState.CONTRADICTED)
    assert remark.stated in changed.values()
    assert remark.stated in remark.note


def test_what_a_confirmed_reference_was_compared_by_is_said() -> None:
    (remark,) = judge(reference(journal="J Cell Sci", volume="33", page="588"), (work(**PRINTED),)).remarks  # type: ignore[arg-type]

    assert remark.note == "title, first author, year, journal, volume, first page agree with its sources"


@pytest.mark.parametrize(
    "stated",
    [
        {"volume": "33(2)", "page": "588"},
        {"page": "e1002"},  # the number of the article, and not its page in print
        {"volume": "XXXIII"},
        {"journal": "Journal of Cell Science (Cambridge, England)"},
    ],
)
def test_what_is_written_otherwise_or_of_another_kind_differs_in_nothing(stated: dict[str, str]) -> None:
    (remark,) = judge(reference(**stated), (work(**PRINTED),)).remarks  # type: ignore[arg-type]

    assert remark.remark is Remark.REFERENCE_CONFIRMED
