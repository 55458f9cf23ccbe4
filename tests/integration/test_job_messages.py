"""Messages about runs of jobs, sent for real to an SMTP server and to an HTTP server of this machine."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from kgcheck.curation.jobs import JobWork, message_of, notify, occasions
from kgcheck.curation.project import NotificationEntry
from kgcheck.curation.thresholds import Crossed, Severity
from kgcheck.ledger.work import WorkItem, WorkState
from tests.support.ports import free_port

pytest.importorskip("apprise")
controller = pytest.importorskip("aiosmtpd.controller")

AT = datetime(2026, 11, 22, 2, 30, tzinfo=UTC)
RUN = WorkItem(
    number=7, job="nightly", state=WorkState.RUNNING, created=AT, started=AT, worker="host 1", lease_until=AT
)
HOSTILE = (
    "<!channel> @everyone [x](https://evil.example) <script>alert(1)</script>\r\nBcc: all@example.org \x1b[31m\u202e"
)
FOUND = {
    "finding": "fb7a191a",
    "outcome": "refuted",
    "reason": "id_previous",
    "what": f"Gene {HOSTILE}",
    "names": HOSTILE,
    "proposal": "re-point to PRKN",
}
DONE = JobWork(
    Severity.ERROR,
    "audit a1: 12 refuted",
    run="a1",
    new=1,
    crossed=(Crossed(what="refuted", count=12, of=90, bound="> 10", severity=Severity.ERROR),),
    examples=(FOUND,),
    reports=("/reports/nightly.html",),
)


class Mails:
    """Keeps what it is sent, as aiosmtpd hands it over."""

    def __init__(self) -> None:
        self.got: list[tuple[list[str], EmailMessage]] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        message = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(message, EmailMessage)
        self.got.append((envelope.rcpt_tos, message))
        return "250 OK"


@pytest.fixture
def mails(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mails]:
    handler = Mails()
    port = free_port()
    server = controller.Controller(handler, hostname="127.0.0.1", port=port)
    server.start()
    address = f"mailto://127.0.0.1:{port}?from=kgcheck@example.org&to=curators@example.org&mode=insecure"
    monkeypatch.setenv("TEAM_MAIL", address)
    yield handler
    server.stop()


class Posts(ThreadingHTTPServer):
    """Keeps what is posted to it."""

    def __init__(self, status: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = status
        self.got: list[dict[str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Posts

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append(json.loads(body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent."""


def serve(status: int) -> Iterator[Posts]:
    with Posts(status) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def posts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Posts]:
    for server in serve(200):
        monkeypatch.setenv("TEAM_HOOK", f"json://127.0.0.1:{server.server_port}/hook")
        yield server


def entry(variable: str, **more: Any) -> dict[str, NotificationEntry]:
    return {"team": NotificationEntry(address_env=variable, **more)}


def test_a_mail_arrives_and_names_are_only_text(mails: Mails) -> None:
    (sent,) = notify(entry("TEAM_MAIL"), ["team"], RUN, DONE)

    assert sent.sent, sent.why
    ((to, mail),) = mails.got
    assert to == ["curators@example.org"]
    assert mail["Subject"] == "kgcheck: nightly: error, 1 new"
    assert mail["Bcc"] is None
    body = mail.get_body(("plain",)) or mail.get_body(("html",))
    assert body is not None
    text = body.get_content()
    assert "audit a1: 12 refuted" in text
    assert "fb7a191a" in text
    assert "re-point to PRKN" in text
    for harm in ("<!channel>", "@everyone", "](https", "<script>", "\x1b", "\u202e", "\nBcc:"):
        assert harm not in text


def test_a_hook_that_refuses_is_recorded_without_its_secret(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for server in serve(500):
        monkeypatch.setenv(
            "TEAM_HOOK", f"json://bot:hunter2x@127.0.0.1:{server.server_port}/tokenA1B2?+X-Key=s3cr3tkey"
        )
        (sent,) = notify(entry("TEAM_HOOK"), ["team"], RUN, DONE)

    assert not sent.sent
    assert "500" in sent.why
    for secret in ("hunter2x", "tokenA1B2", "s3cr3tkey"):
        assert secret not in sent.why
        assert secret not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("address", "why"),
    [
        (None, "the environment has no TEAM_HOOK"),
        ("  ", "the environment has no TEAM_HOOK"),
        ("no address with hunter2x", "TEAM_HOOK is no address that apprise knows"),
        ("json://127.0.0.1:9/hunter2x", ""),
    ],
)
def test_what_cannot_be_sent_is_recorded(monkeypatch: pytest.MonkeyPatch, address: str | None, why: str) -> None:
    if address is None:
        monkeypatch.delenv("TEAM_HOOK", raising=False)
    else:
        monkeypatch.setenv("TEAM_HOOK", address)

    (sent,) = notify(entry("TEAM_HOOK"), ["team"], RUN, DONE)

    assert not sent.sent
    assert sent.why.startswith(why)
    assert sent.why
    assert "hunter2x" not in sent.why


def test_there_must_be_reason(posts: Posts) -> None:
    well = JobWork(Severity.OK, "all is well")
    warned = JobWork(Severity.WARN, "some")

    assert occasions(well, "") == {"always"}
    assert occasions(warned, "") == {"always", "warn"}
    assert occasions(DONE, "") == {"always", "error", "new"}
    assert occasions(JobWork(Severity.UNAVAILABLE, ""), "UniProt is down") == {"always", "failed", "unavailable"}
    assert notify(entry("TEAM_HOOK"), ["team"], RUN, well) == []
    assert notify(entry("TEAM_HOOK", when=("error",)), ["team"], RUN, warned) == []
    assert posts.got == []
    assert len(notify(entry("TEAM_HOOK", when=("always",)), ["team"], RUN, well)) == 1
    assert len(posts.got) == 1


def test_why_a_job_failed_is_in_the_message() -> None:
    title, text = message_of(RUN, JobWork(Severity.UNAVAILABLE, "x"), "UniProt is down")

    assert title == "kgcheck: nightly: failed"
    assert "The job failed: UniProt is down" in text
