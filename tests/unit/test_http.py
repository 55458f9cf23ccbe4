"""The one place that asks services: faults, limits, pace, what is kept, and staying offline."""

import multiprocessing
import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import requests.exceptions
import urllib3.exceptions

from kgcheck import clock, errors
from kgcheck.errors import (
    ConfigurationError,
    KgcheckError,
    SourceAnswer,
    SourceBusy,
    SourceError,
    SourceOffline,
    SourceRefused,
    SourceTimeout,
    SourceUnreachable,
)
from kgcheck.providers.http import Http, Pace, ProviderService, ServiceAnswer, error_for
from kgcheck.settings import Settings
from tests.support import loopback
from tests.support.loopback import Fault, Loopback, Reply, Seen

RELEASED = "X-Test-Release"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        running.route("GET", "/fact", lambda seen: Reply(body={"fact": 1}, headers={RELEASED: "2026_03"}))
        running.route("POST", "/facts", lambda seen: Reply(body=seen.form, headers={RELEASED: "2026_03"}))
        yield running


class Client:
    """Asks a server, and remembers how long it would have waited."""

    def __init__(self, server: Loopback, folder: Path, **settings: Any) -> None:
        self.slept: list[float] = []
        self.service = ProviderService("Test", server.url, settings.pop("pace", 1000.0), "KGCHECK_TEST_URL", RELEASED)
        limits: dict[str, Any] = loopback.limits() | {"http_max_mb": 1, "http_attempts": 3}
        self.http = Http(Settings(**(limits | {"cache_dir": folder} | settings)), sleep=self.slept.append)

    def fact(self, **options: Any) -> Any:
        return self.http.ask(self.service, "/fact", ServiceAnswer.json, **options)


@pytest.fixture
def make(server: Loopback, tmp_path: Path) -> Iterator[Callable[..., Client]]:
    made: list[Client] = []

    def client(**settings: Any) -> Client:
        made.append(Client(server, tmp_path, **settings))
        return made[-1]

    yield client
    for one in made:
        one.http.close()


def exceptions(module: ModuleType) -> list[type[Exception]]:
    found = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, Exception)]
    return [c for c in found if c.__module__ == module.__name__ and not issubclass(c, Warning)]


UNREACHABLE = {
    requests.exceptions: "RequestException ConnectionError ProxyError SSLError ChunkedEncodingError RetryError",
    urllib3.exceptions: "HTTPError PoolError RequestError SSLError ProxyError ProtocolError MaxRetryError "
    "HostChangedError NewConnectionError NameResolutionError EmptyPoolError FullPoolError ClosedPoolError "
    "IncompleteRead InvalidChunkLength",
}
"""Those that mean that nobody was reached: one that a new version brings is of these, or has a meaning of its own."""


def meaning(kind: type[Exception]) -> type[KgcheckError]:
    """The error that an exception becomes, whatever it is made with."""
    wrong: type[Exception] = type("Wrong", (kind,), {"__str__": lambda self: "x"})
    return type(error_for(wrong.__new__(wrong), "Test", "http://127.0.0.1/x"))


@pytest.mark.parametrize("module", UNREACHABLE, ids=["requests", "urllib3"])
def test_every_exception_of_the_two_libraries_has_an_error_of_its_own(module: ModuleType) -> None:
    meanings = {kind.__name__: meaning(kind) for kind in exceptions(module)}

    assert len(meanings) > 20
    assert {name for name, error in meanings.items() if error is SourceUnreachable} == {*UNREACHABLE[module].split()}
    assert {*meanings.values()} == {ConfigurationError, SourceAnswer, SourceTimeout, SourceUnreachable}


def test_every_error_of_a_source_means_that_it_could_not_be_looked_at() -> None:
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, SourceError)]

    assert len(kinds) == 9
    assert {k.exit_code for k in kinds} == {errors.EXIT_INCOMPLETE}


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (TimeoutError("x"), SourceTimeout),
        (OSError("x"), SourceUnreachable),
        (requests.exceptions.ReadTimeout("x"), SourceTimeout),
        (urllib3.exceptions.NewConnectionError(urllib3.connection.HTTPConnection("x"), "x"), SourceUnreachable),
        (urllib3.exceptions.EmptyPoolError(urllib3.HTTPConnectionPool("x"), "x"), SourceUnreachable),
        (urllib3.exceptions.LocationParseError("x"), ConfigurationError),
    ],
)
def test_a_fault_becomes_an_error_that_says_what_to_do(wrong: Exception, kind: type[KgcheckError]) -> None:
    error = error_for(wrong, "Test", "http://127.0.0.1/x")

    assert type(error) is kind
    assert "Test" in error.message
    assert error.hint


def test_an_answer_says_when_and_of_which_release(make: Callable[..., Client]) -> None:
    client = make()

    answer = client.http.ask(client.service, "/fact", lambda a: a)

    assert (answer.status, answer.json(), answer.release, answer.cached) == (200, {"fact": 1}, "2026_03", False)
    assert abs(answer.retrieved_at - clock.exact_now()) < timedelta(seconds=5)


TRANSIENT: list[tuple[str, Fault]] = [
    ("429 without Retry-After", loopback.busy()),
    ("429 with Retry-After", loopback.busy("7")),
    ("500 then good", loopback.answers(500, {"messages": ["Internal server error"]})),
    ("503 page", loopback.page(503)),
    ("HTML instead of JSON", loopback.page()),
    ("truncated JSON", loopback.truncated),
    ("body cut off", loopback.cut_off),
    ("slow headers", loopback.slow_headers(5)),
    ("dripping headers", loopback.dripping_headers(5)),
    ("slow body", loopback.slow_body(5)),
    ("connection reset", loopback.reset),
]


@pytest.mark.parametrize("fault", [f for _, f in TRANSIENT], ids=[n for n, _ in TRANSIENT])
def test_one_fault_is_survived(fault: Fault, server: Loopback, make: Callable[..., Client]) -> None:
    server.faults.append(fault)

    assert make(**loopback.limits(fault)).fact() == {"fact": 1}
    assert len(server.calls) == 2


LASTING: list[tuple[str, Fault, type[SourceError]]] = [
    ("429 without Retry-After", loopback.busy(), SourceBusy),
    ("500", loopback.answers(500, b"x"), SourceBusy),
    ("HTML instead of JSON", loopback.page(), SourceAnswer),
    ("truncated JSON", loopback.truncated, SourceAnswer),
    ("body cut off", loopback.cut_off, SourceUnreachable),
    ("slow headers", loopback.slow_headers(5), SourceTimeout),
    ("dripping headers", loopback.dripping_headers(5), SourceTimeout),
    ("slow body", loopback.slow_body(5), SourceTimeout),
    ("connection reset", loopback.reset, SourceUnreachable),
    ("huge body", loopback.huge(3_000_000), SourceAnswer),
    ("forbidden", loopback.answers(403, b"x"), SourceRefused),
]


@pytest.mark.parametrize(("fault", "kind"), [(f, k) for _, f, k in LASTING], ids=[n for n, *_ in LASTING])
def test_a_lasting_fault_is_one_error_and_nothing_is_kept(
    fault: Fault, kind: type[SourceError], server: Loopback, make: Callable[..., Client]
) -> None:
    server.always = fault
    client = make(http_attempts=2, **loopback.limits(fault))
    with pytest.raises(SourceError) as caught:
        client.fact()
    server.always = None

    assert type(caught.value) is kind
    assert caught.value.hint
    assert make().fact() == {"fact": 1}


def test_no_more_than_the_limit_is_read_of_a_huge_body(server: Loopback, make: Callable[..., Client]) -> None:
    server.always = loopback.huge(50_000_000)
    client = make()
    started = time.monotonic()

    with pytest.raises(SourceAnswer, match="1,000,000 bytes"):
        client.fact()

    assert time.monotonic() - started < 5
    assert len(server.calls) == 1


@pytest.mark.parametrize(("after", "slept"), [("7", [7, 0.5]), ("soon", [0.25, 0.5])])
def test_retry_after_in_seconds_is_kept_and_nonsense_counts_as_none(
    after: str, slept: list[float], server: Loopback, make: Callable[..., Client]
) -> None:
    server.faults += [loopback.busy(after), loopback.busy()]
    client = make(http_wait_s=0.25)

    assert client.fact() == {"fact": 1}
    assert client.slept == slept


def test_retry_after_as_a_date_is_kept(server: Loopback, make: Callable[..., Client]) -> None:
    server.faults.append(loopback.busy(format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)))
    client = make()
    client.fact()

    assert 25 < client.slept[0] <= 30


def test_a_service_that_asks_to_wait_too_long_is_given_up(server: Loopback, make: Callable[..., Client]) -> None:
    server.faults.append(loopback.busy("3600"))
    client = make()

    with pytest.raises(SourceBusy):
        client.fact()
    assert client.slept == []


def test_a_service_that_is_down_is_left_alone_for_a_while(server: Loopback, make: Callable[..., Client]) -> None:
    server.always = loopback.reset
    client = make(http_attempts=2)
    for _ in range(3):
        with pytest.raises(SourceUnreachable):
            client.fact()

    assert len(server.calls) == 2


def test_a_service_that_is_back_is_asked_again(server: Loopback, make: Callable[..., Client]) -> None:
    client = make(http_attempts=1, http_pause_s=0)
    server.faults.append(loopback.reset)
    with pytest.raises(SourceUnreachable):
        client.fact()

    assert client.fact() == {"fact": 1}


@pytest.mark.parametrize("place", ["http://127.0.0.1:9/elsewhere", "/fact"])
def test_a_redirect_is_an_answer_and_not_followed(place: str, server: Loopback, make: Callable[..., Client]) -> None:
    server.always = loopback.answers(303, {}, Location=place)
    client = make()

    answer = client.http.ask(client.service, "/fact", lambda a: a)

    assert (answer.status, answer.headers["Location"]) == (303, place)
    assert len(server.calls) == 1


def test_an_address_at_another_host_is_not_followed(make: Callable[..., Client]) -> None:
    client = make()

    with pytest.raises(SourceAnswer, match="another place"):
        client.http.ask(client.service, "http://127.0.0.2:9/next", ServiceAnswer.json)


@pytest.mark.parametrize("url", ["", "rest.uniprot.org", "ftp://rest.uniprot.org", "http://", "http://[bad"])
def test_a_wrong_address_names_its_setting(url: str, make: Callable[..., Client]) -> None:
    client = make()
    client.service = client.service._replace(url=url)

    with pytest.raises(ConfigurationError) as caught:
        client.fact()
    assert "KGCHECK_TEST_URL" in caught.value.hint or "environment" in caught.value.hint


def test_the_same_question_is_asked_once_whoever_asks(server: Loopback, make: Callable[..., Client]) -> None:
    assert [make().fact() for _ in range(3)] == [{"fact": 1}] * 3
    assert len(server.calls) == 1


@pytest.mark.parametrize("together", [False, True])
def test_a_kept_answer_tells_when_it_came(
    together: bool, make: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = (datetime(2026, 6, 1, tzinfo=UTC) + timedelta(hours=passed) for passed in count())
    monkeypatch.setattr(clock, "exact_now", lambda: next(hours))
    client = make(cache_days=400, release_hours=9_000)

    def came() -> datetime:
        return client.http.ask(client.service, "/fact", lambda answer: answer.retrieved_at)

    first = client.http.whole(came) if together else came()
    assert came() == first


def test_a_posted_question_is_kept_by_its_fields(server: Loopback, make: Callable[..., Client]) -> None:
    client = make()
    for value in ("a", "b", "a"):
        said = client.http.ask(client.service, "/facts", ServiceAnswer.json, form={"of": value})
        assert said == {"of": value}

    assert len(server.calls) == 2


def test_a_new_release_is_asked_again(server: Loopback, make: Callable[..., Client]) -> None:
    make().fact()
    server.always = loopback.answers(200, {"fact": 2}, X_Test_Release="2026_04")
    other = make()

    assert other.http.ask(other.service, "/facts", ServiceAnswer.json, form={"x": 1}) == {"fact": 2}
    assert make().fact() == {"fact": 2}


def test_a_release_passes_as_the_newest_for_some_hours_only(server: Loopback, make: Callable[..., Client]) -> None:
    make(release_hours=1e-9).fact()
    make().fact()

    assert len(server.calls) == 2


@pytest.fixture
def no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("no_socket")
def test_offline_opens_no_socket(tmp_path: Path) -> None:
    service = ProviderService("Test", "http://127.0.0.1:9", 1000.0, "KGCHECK_TEST_URL", RELEASED)
    with Http(Settings(cache_dir=tmp_path, offline=True)) as http, pytest.raises(SourceOffline, match="offline"):
        http.ask(service, "/fact", ServiceAnswer.json)


def test_offline_gives_what_is_kept_even_when_it_is_old(server: Loopback, make: Callable[..., Client]) -> None:
    make(release_hours=1e-9, cache_days=1e-9).fact()

    assert make(offline=True).fact() == {"fact": 1}
    assert len(server.calls) == 1


def test_a_provider_is_told_whom_to_write_to(server: Loopback, make: Callable[..., Client]) -> None:
    make(contact="curator@example.org").fact()

    assert server.calls[0].headers["User-Agent"].startswith("kgcheck/")
    assert "(curator@example.org)" in server.calls[0].headers["User-Agent"]


def test_commas_stay_as_they_are(server: Loopback, make: Callable[..., Client]) -> None:
    def raw(seen: Seen) -> Reply:
        return Reply(body=seen.query)

    server.route("GET", "/raw", raw)
    client = make()

    answer = client.http.ask(client.service, "/raw", lambda a: a, params={"ids": "A,B", "q": "a b&c"})

    assert answer.url.endswith("/raw?ids=A,B&q=a%20b%26c")
    assert answer.json() == {"ids": "A,B", "q": "a b&c"}


def test_calls_to_a_host_keep_its_pace(server: Loopback, make: Callable[..., Client]) -> None:
    client = make(pace=10.0)
    begun = time.monotonic()
    for number in range(3):
        client.fact(params={"n": number})

    assert in_pace([call.at for call in server.calls], begun, 0.1)


def in_pace(at: list[float], begun: float, apart: float) -> bool:
    """Whether no call came before it might: a busy machine makes calls late, and the next is near it."""
    return all(time_ - begun > number * apart * 0.95 for number, time_ in enumerate(at))


def _paced(folder: Path, gate: Any, told: Any) -> None:
    pace = Pace(folder, "string-db.org:443", 5.0)
    gate.wait()
    told.put(time.monotonic())
    for _ in range(3):
        pace.wait()
        told.put(time.monotonic())


def test_processes_keep_the_pace_together(tmp_path: Path) -> None:
    fork = multiprocessing.get_context("spawn")
    gate, told = fork.Barrier(2), fork.Queue()
    workers = [fork.Process(target=_paced, args=(tmp_path, gate, told)) for _ in range(2)]
    for worker in workers:
        worker.start()
    times = [told.get(timeout=30) for _ in range(8)]
    for worker in workers:
        worker.join()

    assert in_pace(sorted(times)[2:], min(times), 0.2)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(ConfigurationError, match="file"):
        Http(Settings(cache_dir=tmp_path / "file"))


def test_a_broken_file_of_kept_answers_is_named(server: Loopback, make: Callable[..., Client], tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_bytes(b"no database" * 100)

    with pytest.raises(ConfigurationError, match="cannot keep answers"):
        make().fact()


def test_a_kept_answer_that_cannot_be_read_is_asked_for_again(server: Loopback, make: Callable[..., Client]) -> None:
    def strict(answer: ServiceAnswer) -> Any:
        if answer.cached:
            raise SourceAnswer("of an older form")
        return answer.json()

    make().fact()
    client = make()

    assert client.http.ask(client.service, "/fact", strict) == {"fact": 1}
    assert len(server.calls) == 2


def test_one_record_that_is_wrong_leaves_a_service_alone_only_when_others_are_too(
    server: Loopback, make: Callable[..., Client]
) -> None:
    client = make(http_attempts=1)
    server.faults += [loopback.page(), loopback.page()]
    for _ in range(2):
        with pytest.raises(SourceAnswer):
            client.fact()
    assert client.fact() == {"fact": 1}
    server.always = loopback.page()
    for _ in range(5):
        with pytest.raises(SourceAnswer):
            client.fact(params={"n": 1})

    assert len(server.calls) == 6
