"""Lists of references in free text and in CSL JSON: what is sure is taken, the rest stays empty."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.grounding.manuscripts.reference_lists import Entry, cited_works, joined, split_entries, works_of_csl
from tests.support.spent import spent

TITLE = "Kinase A binds kinase B in vivo"
STYLES = {
    "vancouver": "Lee AB, O'Neill C, van den Berg DE, et al. {title}. Cell. 2020;12(3):45-9. doi:10.5555/abc.1 PMID 12",
    "plos": "Lee AB, Chan C (2020) {title}. Nature methods 12: 45\u20139. doi:10.5555/abc.1. PMID 12",
    "apa": "Lee, A. B., & Chan-Roe, C. (2020). {title}. J C, 12(3), 45\u20139. https://doi.org/10.5555/abc.1 PMID: 12",
    "nature": "Lee, A. B., Chan, C. & Roe, D. {title}. J. Cell Biol. 12, 45\u201349 (2020). doi:10.5555/ABC.1 PMID: 12",
}


@pytest.mark.parametrize("style", STYLES)
def test_usual_styles(style: str) -> None:
    (work,) = cited_works([Entry(STYLES[style].format(title=TITLE), "3")])

    assert (work.key, work.label, work.doi, work.pmid) == ("3", "3", "10.5555/abc.1", "12")
    assert (work.year, work.title, work.authors[0]) == (2020, TITLE, "Lee AB")
    assert len(work.authors) == {"vancouver": 3, "plos": 2, "apa": 2, "nature": 3}[style]


@pytest.mark.parametrize(
    ("text", "first", "title"),
    [
        ("Roe F von, Lee CA (1933) On old yeast. J Yeast 21: 1-72.", "Roe F", "On old yeast"),
        ("Roe N., Lee C. (2011) On old yeast. J Yeast 11: 7-9.", "Roe N", "On old yeast"),
        ("The ABC Working Party (1993) On old yeast. J Yeast 3: 1-7.", "The ABC", "On old yeast"),
        ("Roe H. Yeasts (1901) again. J Yeast. 1921;73: 5-9.", "Roe H", "Yeasts (1901) again"),
        ("Roe HA. Yeasts of W. M. Lee, again. J Yeast. 1921;73: 5-9.", "Roe HA", "Yeasts of W. M. Lee, again"),
    ],
)
def test_names_with_dots_and_particles(text: str, first: str, title: str) -> None:
    (work,) = cited_works([Entry(text)])

    assert (work.authors[0], work.title) == (first, title)


@pytest.mark.parametrize(
    "text", ["A web page of kinases, seen in May. Available from the authors.", "Lee AB, kinases and friends. 12", ""]
)
def test_a_title_that_is_not_sure_stays_empty(text: str) -> None:
    assert [w.title for w in cited_works([Entry(text)])] == [""]


def test_two_years_are_none() -> None:
    assert cited_works([Entry("Lee A. From 1999 to 2001. Cells.")])[0].year is None
    assert cited_works([Entry("Lee A (2001). From 1999 on. Cells 3, 4.")])[0].year == 2001


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1. Lee A. One\n   thing. 2001.\n2. Chan B. Two. 2002.\n10. is no entry\n3. Roe C. Three.", 3),
        ("[1] Lee A. One.\n[2] Chan B. Two.", 2),
        ("Lee A. One thing\nof yeast. 2001.\n\nChan B. Two. 2002.", 2),
        ("Lee A, Roe B. One thing\nof yeast. Cells. 2001;1:2.\nChan B. Two. Cells. 2002;1:3.", 2),
        ("", 0),
    ],
)
def test_entries_are_told_apart(text: str, count: int) -> None:
    entries = split_entries(text.split("\n"))

    assert len(entries) == count
    assert [e.label for e in entries] in ([str(n + 1) for n in range(count)], [""] * count)


def test_words_and_addresses_that_were_broken() -> None:
    assert joined(["of bind-", "ing. https://doi.org/10.5555/", "abc and T-", "and B-cells"]) == (
        "of binding. https://doi.org/10.5555/abc and T- and B-cells"
    )


def test_csl() -> None:
    lee = {"id": "lee", "DOI": "https://doi.org/10.5555/X", "PMID": "7", "issued": {"date-parts": [[2020, 1]]}}
    authors = [{"family": "Lee", "given": "A"}, {"literal": "A group"}, 3]
    odd = {"id": "odd", "issued": "about 1850", "author": "Lee", "title": ["x"]}

    first, second = works_of_csl([{**lee, "title": "On <i>A</i>", "author": authors}, {"title": "no key"}, odd])

    assert (first.key, first.doi, first.pmid, first.year) == ("lee", "10.5555/x", "7", 2020)
    assert (first.title, first.authors) == ("On A", ("Lee A", "A group"))
    assert (second.key, second.year, second.authors, second.title) == ("odd", 1850, (), "")


@given(st.text(max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_text_is_an_entry(text: str) -> None:
    for work in cited_works([*split_entries(text.split("\n")), Entry(text)]):
        assert work.title in "".join(work.text.split("\n"))


@pytest.mark.parametrize(
    "piece", ["Lee AB, ", "Lee, A. B., ", "A. ", "10.5555/", "van der ", "doi:", "1. a\n", "Lee A.\n", "a-\n"]
)
def test_long_lists_take_no_longer_than_they_are(piece: str) -> None:
    text = piece * (100_000 // len(piece))

    assert spent(lambda: cited_works([*split_entries(text.split("\n")), Entry(text)])) < 5


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("J Cell Sci. 2001;12(3):345-50.", ("J Cell Sci", "12", "3", "345", "350")),
        ("J Cell Sci 12: 345\u2013350. doi: 10.5555/x", ("J Cell Sci", "12", "", "345", "350")),
        ("Journal of Cell Science, 12(3), 345-350.", ("Journal of Cell Science", "12", "3", "345", "350")),
        ("PLoS One 7: e1002145.", ("PLoS One", "7", "", "e1002145", "")),
        ("In: Roe R, editor. Kinases of yeast 33: 1-47.", ("", "", "", "", "")),
        ("Available from the authors.", ("", "", "", "", "")),
    ],
)
def test_where_an_entry_is_printed_is_read_in_its_usual_forms(printed: str, expected: tuple[str, ...]) -> None:
    (work,) = cited_works([Entry(f"Doe J, Roe R (2001) How kinase A binds kinase B in yeast. {printed}")])

    assert (work.journal, work.volume, work.issue, work.page, work.last_page) == expected
