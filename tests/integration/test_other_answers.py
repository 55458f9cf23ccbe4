"""Well-formed answers about something else, and badly formed ones: nothing rests on them, and none is kept."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.errors import SourceError
from kgcheck.literature.gather import whole_of
from kgcheck.model import CheckTask, Outcome
from kgcheck.providers.europepmc import EuropePmc
from kgcheck.providers.ncbi import Pmc
from kgcheck.providers.openalex import OpenAlex
from kgcheck.providers.paper_service import PaperRecord
from tests.support import loopback, quick_of
from tests.support.facts import existence, potential, triple
from tests.support.loopback import Reply, addresses
from tests.support.paper_services import AlexServer, EuropeServer, alex_work
from tests.support.services import entry
from tests.support.study_services import StudyServices, pmc_article
from tests.support.world import World, running

ASKED: list[tuple[CheckTask, Outcome]] = [
    (existence("Protein P10001"), Outcome.SUPPORTED),
    (existence("Protein B4DFC2"), Outcome.REFUTED),
    (existence("Protein A0A999ZZZ9"), Outcome.REFUTED),
    (triple("Protein P10001", "HAS_STRUCTURE", "Protein_structure 9XYZ"), Outcome.REFUTED),
    (triple("Protein P10001", "ACTS_ON", "Protein P10002"), Outcome.SUPPORTED),
    (triple("Protein P10002", "ACTS_ON", "Protein P10003"), Outcome.REFUTED),
    (potential("Protein P10001", "ACTS_ON", "Protein P10002"), Outcome.SUPPORTED),
]

DAY = "2026-11-22"

Json = Any
Change = Callable[[Json], Json]


def _bytes(reply: Reply, body: bytes) -> Reply:
    return reply._replace(body=body)


def _json(change: Change) -> Callable[[Reply], Reply]:
    """A change of the body."""
    return lambda reply: _bytes(reply, json.dumps(change(json.loads(reply.raw))).encode())


def _headers(**more: str) -> Callable[[Reply], Reply]:
    return lambda reply: reply._replace(headers={**reply.headers, **{k.replace("_", "-"): v for k, v in more.items()}})


def _each(value: Json, change: Change) -> Json:
    """Every leaf changed."""
    if isinstance(value, dict):
        return {key: _each(one, change) for key, one in value.items()}
    return [_each(one, change) for one in value] if isinstance(value, list) else change(value)


def _other(value: Json) -> Json:
    """Ids of proteins that nobody asked for, in place of those that are there."""
    if not isinstance(value, str):
        return value
    for known in ("P10001", "P10002", "P10003", "B4DFC2", "P21802"):
        value = value.replace(known, "P19999")
    for known in ("9606.E1", "9606.E2", "9606.E3", "9606.E9"):
        value = value.replace(known, f"{known}7")
    return value


def _negative(value: Json) -> Json:
    return -value - 1 if isinstance(value, int | float) and not isinstance(value, bool) else value


def _rows(said: Json, change: Callable[[list[Json]], list[Json]]) -> Json:
    if isinstance(said, dict) and isinstance(said.get("results"), list):
        return said | {"results": change(said["results"])}
    return change(said) if isinstance(said, list) else said


def _stranger(rows: list[Json]) -> list[Json]:
    """One row more, about another protein."""
    made = [*rows, entry("P19999")]
    if rows and isinstance(rows[0], dict) and "stringId_A" in rows[0]:
        made[-1] = rows[0] | {"stringId_A": "9606.E77"}
    elif rows and isinstance(rows[0], dict) and "queryItem" in rows[0]:
        made[-1] = rows[0] | {"queryItem": "P19999", "queryIndex": 99}
    return made


def _key_twice(reply: Reply) -> Reply:
    said = json.loads(reply.raw)
    first = said[0] if isinstance(said, list) and said else said
    if not isinstance(first, dict) or not first:
        return reply
    key = json.dumps(next(iter(first)))
    return _bytes(reply, reply.raw.replace(b"{", b"{" + key.encode() + b': "P19999", ', 1))


def _number(text: bytes) -> Callable[[Reply], Reply]:
    def change(reply: Reply) -> Reply:
        body = json.dumps(_each(json.loads(reply.raw), lambda v: "@@" if type(v) in (int, float) else v)).encode()
        return _bytes(reply, body.replace(b'"@@"', text))

    return change


def _species(value: Json) -> Json:
    return value.replace("9606.", "10090.") if isinstance(value, str) else value


CHANGES: dict[str, Callable[[Reply], Reply]] = {
    "other proteins": _json(lambda said: _each(said, _other)),
    "one row more": _json(lambda said: _rows(said, _stranger)),
    "rows twice": _json(lambda said: _rows(said, lambda rows: rows + [_each(r, _negative) for r in rows])),
    "another protein's entry": lambda reply: _bytes(reply, json.dumps(entry("P19999")).encode()),
    "other proteins' rows": _json(lambda said: _rows(said, lambda rows: [_each(row, _other) for row in rows])),
    "negative numbers": _json(lambda said: _each(said, _negative)),
    "not a number": _number(b"NaN"),
    "infinity": _number(b"1e999"),
    "a huge number": _number(b"9" * 6000),
    "texts for numbers": _number(b'"one"'),
    "nothing in place of texts": _json(lambda said: _each(said, lambda v: None if isinstance(v, str) else v)),
    # UniProt's own word on a species is one that nothing was asked about.
    "another species": _json(lambda said: _each(said, _species) if isinstance(said, list) else said),
    "a key twice": _key_twice,
    "deep nesting": lambda reply: _bytes(reply, b'{"results": ' + b"[" * 5000 + b"]" * 5000 + b"}"),
    "deep nesting beside it": _json(
        lambda said: said | {"more": json.loads("[" * 400 + "]" * 400)} if isinstance(said, dict) else [[said]]
    ),
    "no JSON": lambda reply: _bytes(reply, b"<html></html>"),
    "half of it": lambda reply: _bytes(reply, reply.raw[: len(reply.raw) // 2] or b"{"),
    "no UTF-8": lambda reply: _bytes(reply, reply.raw.replace(b'"', b'"\xff', 1)),
    "another type": _headers(Content_Type="text/html; charset=utf-8"),
    "another status": lambda reply: reply._replace(status=206),
    "a redirect elsewhere": lambda reply: _headers(Location="/uniprotkb/P19999")(reply._replace(status=303)),
}
"""What may become of a good answer; one that a change does not touch stays good."""


def faulty(change: str) -> loopback.Fault:
    return changed_by(CHANGES[change])


def changed_by(change: Callable[[Reply], Reply]) -> loopback.Fault:
    def fault(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        loopback.send(handler, change(reply))

    return fault


@pytest.fixture
def world(shared_data: Path, tmp_path: Path) -> Iterator[World]:
    with running(shared_data, tmp_path) as made:
        yield made


def judged(world: World, folder: Path, **more: Any) -> list[Outcome]:
    return [v.outcome for v in world.verdicts([task for task, _ in ASKED], cache_dir=folder, **more)]


@pytest.mark.parametrize("change", quick_of(CHANGES, "other proteins"))
def test_nothing_rests_on_an_answer_about_something_else(change: str, world: World, tmp_path: Path) -> None:
    world.uniprot.server.always = world.string.server.always = faulty(change)
    said = judged(world, tmp_path / "kept")
    world.uniprot.server.always = world.string.server.always = None

    assert all(one in (right, Outcome.UNAVAILABLE) for one, (_, right) in zip(said, ASKED, strict=True))
    assert judged(world, tmp_path / "kept") == [right for _, right in ASKED]


@pytest.mark.nightly
@pytest.mark.slow
def test_nor_when_only_some_answers_are(shared_data: Path, tmp_path: Path) -> None:
    calls = st.lists(st.none() | st.sampled_from(list(CHANGES)), max_size=6)
    with running(shared_data, tmp_path) as world:

        @settings(max_examples=5, deadline=None)
        @given(calls, calls)
        def check(of_uniprot: list[str | None], of_string: list[str | None]) -> None:
            world.uniprot.server.faults[:] = [faulty(one) if one else loopback.send for one in of_uniprot]
            world.string.server.faults[:] = [faulty(one) if one else loopback.send for one in of_string]
            folder = tmp_path / uuid4().hex
            said = judged(world, folder, http_attempts=2)
            world.uniprot.server.faults.clear()
            world.string.server.faults.clear()

            assert all(one in (right, Outcome.UNAVAILABLE) for one, (_, right) in zip(said, ASKED, strict=True))
            assert judged(world, folder) == [right for _, right in ASKED]

        check()


# --- papers


def _body(text: str) -> Callable[[Reply], Reply]:
    return lambda reply: _bytes(reply, text.encode())


def _set_of(*papers: str) -> Callable[[Reply], Reply]:
    return _body(f'<?xml version="1.0"?><pmc-articleset>{"".join(papers)}</pmc-articleset>')


BROKEN = ("no JSON", "half of it", "no UTF-8", "deep nesting", "another status")

WORKS = {name: CHANGES[name] for name in BROKEN} | {
    "another work": lambda reply: _bytes(reply, json.dumps(alex_work(2)).encode()),
    "another DOI": _json(lambda said: said | {"doi": "https://doi.org/10.5555/a2"}),
    "a longer DOI": _json(lambda said: said | {"doi": said["doi"] + "2"}),
    "no DOI": _json(lambda said: said | {"doi": None}),
    "a list of it": _json(lambda said: [said]),
    "an id of another service": _json(lambda said: said | {"id": "https://example.org/W1"}),
}
"""What may become of OpenAlex's answer about the work of a DOI."""

ARTICLES = {name: CHANGES[name] for name in ("no JSON", "half of it", "another status")} | {
    "another paper": _set_of(pmc_article(102, 2, "Kinase 2")),
    "it and another": _set_of(pmc_article(101, 1, "Kinase 1"), pmc_article(102, 2, "Kinase 2")),
    "a paper without ids": _set_of("<article><front><article-meta/></front><body><p>Kinase 1.</p></body></article>"),
    "a word of it": _body("<article"),
}
"""What may become of PMC's answer about a whole paper."""


def looked_up(ask: Callable[[], Any]) -> Any:
    """An answer, or why there is none."""
    try:
        return ask()
    except SourceError as error:
        return error


@pytest.mark.parametrize("change", WORKS)
def test_another_work_of_openalex_is_neither_taken_nor_kept(change: str, tmp_path: Path) -> None:
    with loopback.Loopback() as server, loopback.clients(tmp_path, **addresses(server.url, "openalex")) as make:
        AlexServer(server, [alex_work(1)])
        server.always = changed_by(WORKS[change])
        wrong = looked_up(lambda: OpenAlex(make(), make().settings, DAY).work("doi:10.5555/a1"))
        server.always = None
        right = OpenAlex(make(), make().settings, DAY).work("doi:10.5555/a1")

    assert isinstance(wrong, SourceError)
    assert right is not None
    assert right.key == "W1"


@pytest.mark.parametrize("service", [Pmc, EuropePmc])
@pytest.mark.parametrize("change", ARTICLES)
def test_another_whole_paper_is_neither_taken_nor_kept(
    change: str, service: type[Pmc] | type[EuropePmc], tmp_path: Path
) -> None:
    record = PaperRecord("1", ("pmid:1", "pmc:PMC101"), full_text="PMC101")
    with loopback.Loopback() as server:
        StudyServices(server).pmc["101"] = pmc_article(101, 1, "Kinase 1")
        EuropeServer(server, []).texts["PMC101"] = pmc_article(101, 1, "Kinase 1")
        with loopback.clients(tmp_path, **addresses(server.url, "pubmed", "europepmc")) as make:
            server.always = changed_by(ARTICLES[change])
            wrong = looked_up(lambda: whole_of(service(make(), make().settings, DAY), record, tmp_path))
            server.always = None
            right = whole_of(service(make(), make().settings, DAY), record, tmp_path)

    assert isinstance(wrong, SourceError)
    assert right is not None
    assert "pmc:PMC101" in right.ids
