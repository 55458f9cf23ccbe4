"""The maker of faults that `benchmarks.ground` counts with: each is in its copy, and nothing else is."""

import random
import re
from pathlib import Path

import pytest

from benchmarks.ground_damage import QUOTAS
from benchmarks.ground_faults import Edited, Fault, Target, Work
from benchmarks.ground_jats import Paper
from benchmarks.ground_score import Places, Score, alarms_of, found, locate, plain
from benchmarks.ground_sentences import damage, places_of
from tests.support.jats import article

ABSTRACT = """<abstract><p>Of 120 mice, 37.5% were awake at night, an odds ratio of 1.84 (95% CI 1.20 to 2.90).</p>
</abstract>"""

BODY = """<sec sec-type="intro"><title>Introduction</title><p>Kinase A1B of mice was found early on in the cells of the
liver [<xref ref-type="bibr" rid="r1">1</xref>], and then in <italic>all</italic> of the others as well. Kinase A1B was
purified by others [<xref ref-type="bibr" rid="r1">1</xref>]. It is stable
<xref ref-type="bibr" rid="r2">[2]</xref>.</p></sec>
<sec><title>Results</title><p>At night 37.5% of the 120 mice were awake, and the odds ratio was 1.84.</p></sec>
<sec><title>Discussion</title><p>That mice are awake at night is known to all who have kept them in the laboratory.</p>
</sec>"""

ENTRY = """<ref id="r{n}"><label>{n}</label><element-citation><person-group><name><surname>{name}</surname>
<given-names>J</given-names></name></person-group><article-title>{title}</article-title><source>Made Up</source>
<year>1999</year>{ids}</element-citation></ref>"""

MIXED = """<ref id="r{n}"><label>{n}</label><mixed-citation><name><surname>{name}</surname> <given-names>J</given-names>
</name> (<year>1999</year>) <article-title>{title}</article-title>. <source>Made Up</source>. doi:
<ext-link xlink:href="http://dx.doi.org/10.5555/{n}1">10.5555/{n}1</ext-link></mixed-citation></ref>"""

BACK = (
    "<ref-list>"
    + ENTRY.format(n=1, name="Doe", title="Purification of kinases from livers of sleeping animals", ids="")
    + MIXED.format(n=2, name="Roe", title="Stability of purified kinases during frozen storage")
    + "</ref-list>"
)

WORKS = [Work("other", "Migration of swallows across northern deserts", "10.5555/77", "Poe", "E")]

IN_PLACES = [kind for kind in QUOTAS if kind not in ("denied", "exchanged", "old_symbol")]


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Paper:
    path = tmp_path_factory.mktemp("papers") / "made.xml"
    path.write_text(article(abstract=ABSTRACT, body=BODY, back=BACK), encoding="utf-8")
    return Paper(path)


def _damaged(paper: Paper, kind: str, target: Target) -> tuple[Paper, Fault]:
    edited = Edited(paper, random.Random(1), WORKS, ["77"])  # noqa: S311
    fault = damage(edited, kind, target)
    assert fault
    return edited.paper, fault


def _changed(paper: Paper, other: Paper, folder: Path) -> tuple[str, str]:
    """The one stretch, by whole words and tags, in which two files differ."""
    words = []
    for number, one in enumerate((paper, other)):
        path = folder / f"{number}.xml"
        one.write(path, "jats")
        words.append(re.findall(r"<[^>]*>|\w+|\s+|.", path.read_text(encoding="utf-8")))
    for _ in range(2):  # from the front, then from the end
        differ = (n for n, (one, two) in enumerate(zip(*words, strict=False)) if one != two)
        same = next(differ, min(map(len, words)))
        words = [part[same:][::-1] for part in words]
    return "".join(words[0]), "".join(words[1])


@pytest.mark.parametrize("kind", IN_PLACES)
def test_a_fault_is_in_the_copy_and_nothing_else_is(kind: str, paper: Paper, tmp_path: Path) -> None:
    targets = list(places_of(kind, paper))

    assert targets
    for target in targets:
        copy, fault = _damaged(paper, kind, target)
        removed, added = _changed(paper, copy, tmp_path)
        words = plain(re.sub("<[^>]*>", "", added))
        if kind == "moved_citation":
            assert removed.count("<xref") == added.count("<xref")
            assert fault.before != fault.after
        elif fault.variant == "link":
            assert (words, removed != added) == ("", True)
        else:
            assert words
            assert words.replace("doi", "") in plain(fault.after).replace("doi", "")
            assert "<ref " not in removed + added
        assert bool(fault.reference) == (fault.place == "reference" or kind == "moved_citation")
    copy.write(tmp_path / "text.txt", "text")
    assert plain(fault.after) in plain((tmp_path / "text.txt").read_text(encoding="utf-8"))


def test_marks_and_entries_outlive_the_other_forms(paper: Paper, tmp_path: Path) -> None:
    for form in ("markdown", "text"):
        paper.write(tmp_path / form, form)
        text = (tmp_path / form).read_text(encoding="utf-8")
        assert re.findall(r"\[\d\]", text) == ["[1]", "[1]", "[2]"]
        assert "37.5% were awake" in text
        assert re.search(
            r"1\.\s+Doe J \(1999\) Purification of kinases from livers of sleeping animals\. Made Up", text
        )
        assert re.search(r"2\.\s+Roe J \(1999\) Stability of purified kinases .* doi:\s10\.5555/21", text)


def test_a_report_is_scored_by_place_and_by_remark(paper: Paper) -> None:
    (target, *_) = places_of("year", paper)
    _, fault = _damaged(paper, "year", target)
    (at, *_) = places_of("number_text", paper)
    _, number = _damaged(paper, "number_text", at)
    wrong = {"remark": "year_differs", "check": "citation", "state": "contradicted"}
    other = {"remark": "papers_silent", "check": "papers", "state": "unsupported"}
    report = {
        "sentences": [{"number": 1, "text": number.sentence, "remarks": [other]}],
        "references": [
            {"key": "r1", "text": fault.anchor, "remarks": [wrong]},
            {"key": "r2", "text": "Roe J.", "remarks": [wrong, {**wrong, "unavailable": True}]},
        ],
    }
    score = Score()

    alarms, places = list(alarms_of(report)), Places(report)

    assert [a.place for a in alarms] == ["s1", "r1", "r2"]
    assert found(vars(fault), locate(vars(fault), places, 2), alarms) == "strict"
    assert found(vars(number), locate(vars(number), places, 2), alarms) == "loose"
    unread = {**vars(number), "anchor": "Words that stand nowhere in it at all.", "core": "nowhere in it"}
    assert found(unread, locate(unread, places, 2), alarms) == "unread"
    score.damaged({"form": "jats", "entries": 2}, [vars(fault), vars(number)], report)
    assert (score.right["citation", "contradicted"], score.wrong["citation", "contradicted"]) == (1, 1)
    assert score.right["papers", "unsupported"] == 1
