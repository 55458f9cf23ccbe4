"""Papers gathered for a topic over real HTTP, from the four services in their forms, in a small world of papers."""

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.errors import SourceAnswer, SourceError, UsageError
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.gather import SourceName
from kgcheck.literature.papers import Paragraph, Section, WholePaper
from kgcheck.literature.topics import (
    SectionTexts,
    TopicFit,
    TopicGathered,
    TopicGathering,
    TopicPaper,
    gather_topic,
    leaning_of,
    ranked,
    section_texts,
    topic_rules,
)
from kgcheck.providers.http import Http
from tests.support import loopback
from tests.support.audits import kgcheck
from tests.support.jats import article
from tests.support.literature import WordsModel
from tests.support.loopback import Loopback, Reply, answers, busy
from tests.support.paper_world import WORLDS, EuropeWorld, PaperWorld, WorldPaper, plos_world

DAY = "2026-11-22"
TOPIC = "kinase Abc1 in kidney fibrosis"
SOURCES: tuple[SourceName, ...] = ("europepmc", "pubmed", "semantic_scholar", "openalex")

FIBROSIS = "Kinase Abc1 drives fibrosis of the kidney."
PAPERS = (
    WorldPaper(1, "Abc1 in kidney fibrosis", FIBROSIS, 2020, cites=(11, 12, 13), cited_by=40),
    WorldPaper(2, "Abc1 in kidney fibrosis", f"{FIBROSIS} We confirm it.", 2018, cites=(11,), cited_by=3),
    WorldPaper(11, "A kinase of the kidney", "Abc1 is a kinase.", 2005, cites=(21,), cited_by=900),
    WorldPaper(12, "Weather of the north", "It rains and rains.", 2001, cites=(31,)),
    WorldPaper(13, "Abc1 and scars", "Kinase Abc1 did not change kidney fibrosis.", 2016),
    WorldPaper(21, "Older work on Abc1", "A kinase seen in the kidney.", 1999),
    WorldPaper(31, "Rain in the kidney", "Kidney fibrosis and the kinase Abc1, seen from afar.", 2010),
    WorldPaper(41, "Citing work", "Kinase Abc1 compared with other kinases of kidney fibrosis.", 2024, cites=(1,)),
    WorldPaper(51, "A title alone on kidney fibrosis by Abc1", "", 2003, cites=()),
)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


@pytest.fixture
def http(server: Loopback, tmp_path: Path) -> Iterator[Http]:
    with loopback.clients(tmp_path / "cache", **loopback.addresses(server.url, *SOURCES)) as make:
        yield make()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Corpus]:
    with Corpus(tmp_path / "index", create=True) as corpus:
        yield corpus


def ids(corpus: Corpus) -> list[str]:
    return [row[0] for row in corpus.store.ids()]


def steps(done: TopicGathered, step: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in done.log.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["step"] == step]


def get(source: SourceName, corpus: Corpus, http: Http, **more: Any) -> TopicGathered:
    # Two papers are found by the search, the others by links.
    wanted = TopicGathering(source, TOPIC, **({"seeds": 2, "threshold": 0.1} | more))
    return gather_topic(wanted, corpus, http, None, DAY)


@pytest.mark.parametrize("source", SOURCES)
def test_a_topic_is_followed_along_references_and_citations(
    server: Loopback, http: Http, index: Corpus, source: SourceName
) -> None:
    WORLDS[source](server, PaperWorld(PAPERS))
    done = get(source, index, http)

    # 12 does not fit and is not followed, so that 31 is not met.
    reached = {line["paper"]: (line["round"], line["why"]) for line in steps(done, "scored")}
    assert reached == {
        "pmid:1": (0, "above_threshold"),
        "pmid:2": (0, "above_threshold"),
        "pmid:11": (1, "above_threshold"),
        "pmid:12": (1, "below_threshold"),
        "pmid:13": (1, "above_threshold"),
        "pmid:41": (1, "above_threshold"),
        "pmid:21": (2, "above_threshold"),
    }
    assert set(done.kept) == {f"pmid:{n}" for n in (1, 2, 11, 13, 21, 41)}
    assert ids(index) == list(done.kept)
    assert done.counts == {"new": 6}
    # What was asked for is in the index: the graph of citations.
    paper = index.store.paper("pmid:1")
    assert paper is not None
    assert len(paper.references) == 3
    assert len(paper.citations) == 1
    asked = [(c.method, c.path, c.form or c.body, *c.query.items()) for c in server.calls]
    assert [question for question, times in Counter(map(str, asked)).items() if times > 1] == []


@pytest.mark.parametrize("source", ["europepmc", "pubmed", "openalex"])
def test_a_retracted_paper_is_kept_as_that_and_not_followed(
    server: Loopback, http: Http, index: Corpus, source: SourceName
) -> None:
    WORLDS[source](server, PaperWorld([p._replace(retracted=p.number in (11, 41)) for p in PAPERS]))
    done = get(source, index, http)

    assert set(done.kept) == {"pmid:1", "pmid:2", "pmid:13"}
    assert {row[0]: row[2] for row in index.store.ids()} == {
        "pmid:1": False, "pmid:2": False, "pmid:13": False, "pmid:11": True, "pmid:41": True,
    }  # fmt: skip
    assert {line["paper"] for line in steps(done, "retracted")} == {"pmid:11", "pmid:41"}
    assert {line["paper"] for line in steps(done, "links")} == {"pmid:1", "pmid:2", "pmid:13"}


@pytest.mark.parametrize("by", ["title", "list"])
def test_a_title_or_a_list_retracts_where_a_service_has_no_mark(
    server: Loopback, http: Http, index: Corpus, by: str
) -> None:
    titled = [p._replace(title=f"RETRACTED: {p.title}") if p.number == 13 and by == "title" else p for p in PAPERS]
    WORLDS["semantic_scholar"](server, PaperWorld(titled))
    if by == "list":
        index.store.retract(["pmid:13"])
    done = get("semantic_scholar", index, http)

    assert "pmid:13" not in done.kept
    assert {row[0] for row in index.store.ids() if row[2]} == {"pmid:13"}


def test_what_has_no_record_or_no_abstract_is_counted_and_looked_for_once(
    server: Loopback, http: Http, index: Corpus
) -> None:
    # 77 is nowhere; both papers of the search and one of the next round cite it.
    WORLDS["semantic_scholar"](server, PaperWorld([p._replace(cites=(*p.cites, 77)) for p in PAPERS]))
    done = get("semantic_scholar", index, http, seeds=20)

    lots = [json.loads(c.body)["ids"] for c in server.calls if c.path == "/paper/batch"]
    assert [name for lot in lots for name in lot].count("PMID:77") == 1
    assert (done.steps["no_record"], done.steps["no_abstract"]) == (1, 1)
    (line,) = [line for line in steps(done, "scored") if line["paper"] == "pmid:51"]
    assert (line["fits"], line["why"]) == (True, "no_abstract")
    assert "pmid:51" not in ids(index)


def test_no_more_are_kept_than_wanted_and_the_log_says_which(server: Loopback, http: Http, index: Corpus) -> None:
    EuropeWorld(server, PaperWorld(PAPERS))
    done = get("europepmc", index, http, keep=3, seeds=3)

    order = [(line["place"], line["why"]) for line in steps(done, "ranked")]
    assert order[:4] == [(1, "kept"), (2, "kept"), (3, "kept"), (4, "beyond_keep")]
    assert ids(index) == list(done.kept)
    assert len(done.kept) == 3


def test_the_same_again_asks_nothing_and_writes_nothing(server: Loopback, http: Http, index: Corpus) -> None:
    EuropeWorld(server, PaperWorld(PAPERS), page=3)
    first = get("europepmc", index, http)
    log, calls = first.log.read_bytes(), len(server.calls)
    again = get("europepmc", index, http)

    assert (again.kept, again.log, again.counts) == (first.kept, first.log, {"unchanged": 6})
    assert len(server.calls) == calls
    assert first.log.read_bytes() == log


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_a_topic_cut_off_at_any_question_goes_on(
    server: Loopback, http: Http, tmp_path: Path, source: SourceName
) -> None:
    """Each question fails once, the gathering ends with that, and is begun again: nothing is asked for twice."""
    WORLDS[source](server, PaperWorld(PAPERS))
    with Corpus(tmp_path / "plain", create=True) as plain:
        whole = get(source, plain, http)
        asked = len(server.calls)
    settings = http.settings.model_copy(update={"cache_dir": tmp_path / "other", "http_attempts": 1, "http_pause_s": 0})
    server.calls.clear()
    faults = 0
    for _ in range(asked + 1):
        # A gathering is a process of its own.
        with Http(settings, sleep=lambda seconds: None) as one, Corpus(tmp_path / "cut", create=True) as corpus:
            served = len(server.calls) - faults
            seen = iter(range(asked + 1))
            server.always = lambda handler, reply, n=seen: (loopback.send if next(n) == 0 else busy())(handler, reply)
            try:
                done = get(source, corpus, one)
                break
            except SourceError:
                faults += 1
                assert len(server.calls) - faults == served + 1
                assert ids(corpus) == []
    server.always = None

    assert faults == asked - 1
    assert (done.kept, done.steps, done.counts) == (whole.kept, whole.steps, whole.counts)
    assert done.log.read_bytes() == whole.log.read_bytes()


@pytest.mark.slow
def test_a_killed_topic_goes_on(server: Loopback, tmp_path: Path) -> None:
    """Killed while an answer is on its way: no question that was answered is asked again; the papers are the same."""
    EuropeWorld(server, PaperWorld(PAPERS))
    method, path, answer = server._routes[2]
    waits, reached = threading.Event(), threading.Event()

    def waiting(seen: Any, *parts: str) -> Reply:
        if parts == ("11", "citations") and not waits.is_set():
            reached.set()
            waits.wait(60)
        return answer(seen, *parts)

    server._routes[2] = (method, path, waiting)
    variables = {"EUROPEPMC_URL": server.url, "EUROPEPMC_CALLS_PER_S": "1000", "CACHE_DIR": str(tmp_path / "cache")}
    place = {**os.environ, **{f"KGCHECK_{name}": value for name, value in variables.items()}}
    index = str(tmp_path / "index")
    command = [sys.executable, "-m", "kgcheck", "corpus", "gather", "--topic", TOPIC, "--index", index]
    command += ["--model", "none", "--seeds", "2", "--tau", "0.1"]
    with subprocess.Popen(command, env=place, stderr=subprocess.DEVNULL) as process:
        assert reached.wait(60)
        process.kill()
    waits.set()
    before = {(c.path, *c.query.items()) for c in server.calls if c.path != "/MED/11/citations"}
    count = len(server.calls)
    done = subprocess.run(command, env=place, check=True, capture_output=True, text=True)

    assert before.isdisjoint((c.path, *c.query.items()) for c in server.calls[count:])
    assert "6 kept" in done.stderr
    listed = kgcheck("corpus", "list", "--ids", "--index", index, "--format", "json")
    assert sorted(row["id"] for row in json.loads(listed.out)) == [f"pmid:{n}" for n in (1, 11, 13, 2, 21, 41)]


def test_whole_papers_are_scored_by_their_sections(server: Loopback, http: Http, index: Corpus) -> None:
    text = article("10.5555/w1", pmid="1", title="Abc1 in kidney fibrosis")
    EuropeWorld(server, PaperWorld([p._replace(text=text) if p.number == 1 else p for p in PAPERS]))
    done = get("europepmc", index, http, full_text=True)

    (line,) = [line for line in steps(done, "scored") if line["paper"] == "pmid:1"]
    weights = topic_rules().sections
    mean = sum(weights[k] * v for k, v in line["sections"].items()) / sum(weights[k] for k in line["sections"])
    assert {"abstract", "methods", "results"} <= set(line["sections"])
    assert line["relevance"] == pytest.approx(mean, abs=1e-3)
    assert {line["paper"] for line in steps(done, "whole")} == {"pmid:1"}


WRONG_LOTS: tuple[Any, ...] = ([], {"data": []}, [{"paperId": "short"}, None])


@pytest.mark.parametrize("body", WRONG_LOTS)
def test_a_wrong_lot_of_semantic_scholar(server: Loopback, http: Http, index: Corpus, body: Any) -> None:
    WORLDS["semantic_scholar"](server, PaperWorld(PAPERS))
    method, path, _ = server._routes[1]
    server._routes[1] = (method, path, lambda seen: Reply(body=body))

    with pytest.raises(SourceAnswer):
        get("semantic_scholar", index, http)
    assert ids(index) == []


def test_another_paper_in_a_lot_of_semantic_scholar_is_left_out(server: Loopback, http: Http, index: Corpus) -> None:
    WORLDS["semantic_scholar"](server, PaperWorld(PAPERS))
    method, path, _ = server._routes[1]
    body = [{"paperId": f"{9:040x}", "title": TOPIC, "abstract": TOPIC}, None, None, None]
    server._routes[1] = (method, path, lambda seen: Reply(body=body))
    done = get("semantic_scholar", index, http, rounds=1)

    assert (set(done.kept), done.steps["no_record"]) == ({"pmid:1", "pmid:2"}, 4)


@pytest.mark.parametrize("source", ["europepmc", "openalex"])
def test_a_record_that_was_not_asked_for(
    server: Loopback, http: Http, index: Corpus, source: SourceName, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = PaperWorld(PAPERS)
    WORLDS[source](server, world)
    monkeypatch.setattr(world, "at", lambda numbers: [world.papers[31]])

    with pytest.raises(SourceAnswer, match="which was not asked for"):
        get(source, index, http)


@pytest.mark.parametrize(
    ("topic", "message"), [(" the of ", "names nothing"), ("AND", "names nothing"), ("kinase " * 200, "longer than")]
)
def test_a_topic_that_is_none(http: Http, index: Corpus, topic: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        gather_topic(TopicGathering("europepmc", topic), index, http, None, DAY)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "nothing to look for"),
        (("kinase", "--topic", "kinase"), "not both"),
        (("--topic", "kinase", "--limit", "5"), "go with QUERY"),
        (("kinase", "--tau", "0.1"), "go with --topic"),
    ],
)
def test_a_query_or_a_topic(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    done = kgcheck("corpus", "gather", *options, "--index", tmp_path / "index")

    assert (done.code, message in done.err) == (2, True)
    assert not (tmp_path / "index").exists()


def test_the_command_gathers_a_topic(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    EuropeWorld(server, PaperWorld(PAPERS))
    monkeypatch.setenv("KGCHECK_EUROPEPMC_URL", server.url)
    monkeypatch.setenv("KGCHECK_EUROPEPMC_CALLS_PER_S", "1000")
    monkeypatch.setenv("KGCHECK_CACHE_DIR", str(tmp_path / "cache"))
    index = tmp_path / "index"
    options = ("--seeds", "2", "--rounds", "1", "--tau", "0.1", "--keep", "2")
    done = kgcheck("corpus", "gather", "--topic", TOPIC, *options, "--index", index, "--model", "none")

    assert done.code == 0, done.err
    assert "2 kept" in done.err.replace("\n", " ")
    assert kgcheck("search", "Abc1", "--index", index).code == 0

    server.always = answers(503)
    monkeypatch.setenv("KGCHECK_HTTP_WAIT_S", "0")
    assert kgcheck("corpus", "gather", "--topic", "another", "--index", index, "--model", "none").code == 3


# The parts


def paper(title: str, abstract: str, **sections: str) -> WholePaper:
    texts = {"abstract": abstract} | sections
    made = [Section(kind=kind, paragraphs=(Paragraph(text=text),)) for kind, text in texts.items()]
    return WholePaper(ids=("pmid:1",), title=title, sections=tuple(made))


def test_weights_are_shared_by_the_sections_that_a_paper_has() -> None:
    one = paper("T", "kidney fibrosis", methods="weather", other="kidney fibrosis")
    two = paper("T", "kidney fibrosis")
    three = paper("T", "weather")
    first, second, third = TopicFit("kidney fibrosis", None).fits([section_texts(p) for p in (one, two, three)])

    assert first.sections.keys() == {"abstract", "methods"}
    assert first.relevance == pytest.approx(second.relevance * 0.30 / 0.55, abs=1e-3)
    assert third.relevance == 0


def test_by_vectors_a_section_is_the_mean_of_its_paragraphs_and_is_embedded_once() -> None:
    model = WordsModel()
    fit = TopicFit("kidney fibrosis", model)
    same, far = (
        section_texts(paper("", "kidney fibrosis")),
        section_texts(paper("", "weather", methods="kidney fibrosis")),
    )
    both: SectionTexts = {"abstract": ("kidney fibrosis", "weather")}
    first, second, third = fit.fits([same, far, both])

    assert first.relevance == pytest.approx(1, abs=1e-3)
    assert second.sections["methods"] == pytest.approx(1, abs=1e-3)
    assert second.relevance == pytest.approx((0.3 * second.sections["abstract"] + 0.25) / 0.55, abs=1e-3)
    assert second.sections["abstract"] < third.relevance < 1
    embedded = model.embedded
    assert fit.fits([same, far, both]) == [first, second, third]
    assert model.embedded == embedded


def test_a_topic_is_scored_by_meaning(server: Loopback, http: Http, index: Corpus) -> None:
    EuropeWorld(server, PaperWorld(PAPERS))
    wanted = TopicGathering("europepmc", TOPIC, seeds=2, threshold=0.3)
    done = gather_topic(wanted, index, http, WordsModel(), DAY)

    assert steps(done, "began")[0]["model"] == "words 0123456789abcdef"
    assert {"pmid:1", "pmid:2"} <= set(done.kept)
    assert done.steps["below_threshold"] >= 1


@pytest.mark.parametrize(
    ("text", "leaning"),
    [
        ("Abc1 did not change kidney fibrosis.", "against"),
        ("The weather did not change. Abc1 drives kidney fibrosis.", "none"),
        ("These data on kidney fibrosis contradict earlier work.", "against"),
        ("Abc1 was compared with Abc2 in kidney fibrosis.", "comparison"),
        ("We confirm that Abc1 drives kidney fibrosis.", "for"),
        ("Rain was compared with snow.", "none"),
    ],
)
def test_which_way_a_paper_leans(text: str, leaning: str) -> None:
    assert leaning_of(paper("T", text), TOPIC) == leaning


def test_citations_recency_and_those_that_disagree() -> None:
    many = [TopicPaper(f"f{n:02}", 0.9 - n / 100, 100, 2020, "for") for n in range(20)]
    few = [TopicPaper(f"a{n}", 0.2, 0, 1990, "against") for n in range(4)] + [
        TopicPaper("c", 0.1, 0, 1980, "comparison")
    ]
    every = [*many, *few]
    order = [every[number].id for number, _ in ranked(every, 2026)]

    assert [name for name in order[:20] if name[0] == "a"] == ["a0", "a1", "a2"]
    assert "c" in order[:10]
    assert [name for name in order if name[0] == "f"] == sorted(p.id for p in many)
    cited = (TopicPaper("x", 0.5, 100, 2000, "none"), TopicPaper("y", 0.5, 1, 2000, "none"))
    recent = (TopicPaper("x", 0.5, 5, 2024, "none"), TopicPaper("y", 0.5, 5, 2000, "none"))
    for better, worse in (cited, recent):
        assert [number for number, _ in ranked([worse, better], 2026)] == [1, 0]


leanings = st.sampled_from(["for", "against", "comparison", "none"])
places = st.builds(
    TopicPaper,
    st.uuids().map(str),
    st.floats(-0.2, 1),
    st.none() | st.integers(0, 10**6),
    st.none() | st.integers(1800, 2030),
    leanings,
)


@given(st.lists(places, max_size=40))
def test_an_order_has_every_paper_once(papers: list[TopicPaper]) -> None:
    assert sorted(number for number, _ in ranked(papers, 2026)) == list(range(len(papers)))


@pytest.mark.slow
def test_the_references_of_a_plos_paper_are_reached(
    shared_data: Path, server: Loopback, http: Http, index: Corpus
) -> None:
    world, papers = plos_world(shared_data / "fulltext" / "plos")
    EuropeWorld(server, world)
    chosen = papers["journal.pone.0052690"]
    cited = {f"pmid:{n}" for n in chosen.cites}
    search, followed = (
        gather_topic(TopicGathering("europepmc", chosen.title, rounds=n, keep=1_000), index, http, None, DAY)
        for n in (0, 1)
    )

    assert cited <= {line["paper"] for line in steps(followed, "scored")}
    assert len(cited & set(followed.kept)) > 2 * len(cited & set(search.kept))
