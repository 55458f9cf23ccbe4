"""The HTTP API over the demo: what each route gives, pages, decisions only about what was seen, and problems."""

import json
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from openapi_spec_validator import OpenAPIV31SpecValidator

from kgcheck.errors import KgcheckError
from kgcheck.service import state
from kgcheck.service.problems import MEDIA_TYPE, add_handlers
from kgcheck.workspace import Workspace
from tests.support.api import ledger_of, served
from tests.support.audits import demo


@pytest.fixture
def api(tmp_path: Path) -> Iterator[TestClient]:
    with served(tmp_path) as client:
        yield client


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service for tests that change nothing."""
    with served(tmp_path_factory.mktemp("api")) as client:
        yield client


def got(client: TestClient, path: str, **params: Any) -> Any:
    answer = client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def first(client: TestClient, **params: Any) -> dict[str, Any]:
    found: dict[str, Any] = got(client, "/v1/findings", limit=1, **params)["findings"][0]
    return found


def refused(answer: Any, status: int, kind: str) -> dict[str, Any]:
    problem: dict[str, Any] = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (status, MEDIA_TYPE), answer.text
    assert problem["type"] == f"urn:kgcheck:problem:{kind}"
    assert problem["status"] == status
    return problem


def test_document_is_openapi_3_1_and_every_answer_may_be_a_problem(shared: TestClient) -> None:
    document = got(shared, "/v1/openapi.json")

    OpenAPIV31SpecValidator(document).validate()
    assert document["openapi"].startswith("3.1")
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations) >= 28
    for operation in operations:
        assert operation["description"], operation["operationId"]
        for status in ("404", "422", "500"):
            assert MEDIA_TYPE in operation["responses"][status]["content"], operation["operationId"]
    assert "HTTPValidationError" not in json.dumps(document)


def test_runs_come_in_pages(shared: TestClient) -> None:
    newest, oldest = got(shared, "/v1/runs")["runs"]
    page = got(shared, "/v1/runs", limit=1)
    rest = got(shared, "/v1/runs", cursor=page["next"])

    assert page["runs"] == [newest]
    assert rest == {"runs": [oldest], "next": None}
    assert got(shared, "/v1/runs/latest") == newest
    assert newest["store"] == "graph.lbdb"
    assert got(shared, "/v1/findings/facets")["outcome"]["refuted"] <= newest["outcomes"]["refuted"]


def test_pages_hold_every_finding_once_in_the_order_of_reports(shared: TestClient) -> None:
    found, cursor = [], None
    while True:
        page = got(shared, "/v1/findings", limit=7, **({"cursor": cursor} if cursor else {}))
        found += [row["fingerprint"] for row in page["findings"]]
        if not (cursor := page["next"]):
            break

    with Workspace(ledger=ledger_of(shared)) as workspace:
        wanted = [one.fingerprint for one in workspace.list_findings().page()]
    assert found == wanted
    assert got(shared, "/v1/findings/facets")["total"] == len(found)


@pytest.mark.parametrize(
    "filters",
    [
        {"type": "existence", "outcome": "refuted"},
        {"reason": ["id_previous", "id_merged"]},
        {"label": "Gene"},
        {"text": "PARK2"},
        {"state": "still", "decision": "open"},
        {"relation": "ACTS_ON"},
    ],
)
def test_filters_are_those_of_the_workspace(shared: TestClient, filters: dict[str, Any]) -> None:
    found = [row["fingerprint"] for row in got(shared, "/v1/findings", limit=500, **filters)["findings"]]

    given = {name if name == "text" else f"{name}s": value for name, value in filters.items()}
    lists: dict[str, Any] = {k: v if isinstance(v, list) or k == "text" else [v] for k, v in given.items()}
    with Workspace(ledger=ledger_of(shared)) as workspace:
        assert found == [one.fingerprint for one in workspace.list_findings(**lists).page()]
    assert found
    assert got(shared, "/v1/findings/facets", **filters)["total"] == len(found)


@pytest.mark.parametrize(
    "filters",
    [{}, {"type": "existence", "outcome": "refuted"}, {"text": "PARK2"}, {"decision": "rejected"}, {"state": "still"}],
)
def test_facets_count_what_each_choice_would_leave(api: TestClient, filters: dict[str, Any]) -> None:
    for row in got(api, "/v1/findings", limit=2)["findings"]:
        api.post("/v1/decisions", json={"findings": [{"fingerprint": row["fingerprint"]}], "action": "reject"})

    facets = got(api, "/v1/findings/facets", **filters)

    assert facets["total"] == len(got(api, "/v1/findings", limit=500, **filters)["findings"]) > 0
    kinds = ("decision", "state", "outcome", "graph", "type", "reason", "label", "relation")
    assert set(facets) == {"run", "total", *kinds}
    for kind in kinds:
        for choice, count in facets[kind].items():
            assert len(got(api, "/v1/findings", limit=500, **filters | {kind: choice})["findings"]) == count, (
                kind,
                choice,
            )
    assert filters or facets["decision"]["rejected"] == 2
    refused(api.get("/v1/findings/facets", params={"lable": "Gene"}), 422, "invalid-request")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/audits", {"threshold": False}),
        ("/v1/audits", {"seed": "1"}),
        ("/v1/audits", {"sample": True}),
        ("/v1/audits", {"keep_all": 1}),
        ("/v1/check", {"what": "existence Protein P04637", "turns": True}),
        ("/v1/search", {"query": "APOE", "limit": "3"}),
        ("/v1/patches", {"accepted": "yes"}),
        ("/v1/patches/00000000/apply", {"delete": 1}),
    ],
)
def test_true_is_no_number_and_one_is_not_true(shared: TestClient, path: str, body: dict[str, Any]) -> None:
    answer = shared.post(path, json=body)

    assert answer.status_code == 422, answer.text


def test_finding_has_its_evidence_history_and_neighbours(shared: TestClient) -> None:
    row = first(shared, text="PARK2", type="existence")
    finding = got(shared, f"/v1/findings/{row['fingerprint']}")

    assert finding["evidence"]
    assert {name: finding[name] for name in row} == row
    history = got(shared, f"/v1/findings/{row['fingerprint']}/history")
    assert [one["run"] for one in history["occurrences"]] == [run["id"] for run in got(shared, "/v1/runs")["runs"]]
    near = got(shared, f"/v1/findings/{row['fingerprint']}/neighbours", each=3)
    assert near["nodes"][0]["id"] == row["subject"]["id"]
    ends = {(end["label"], end["id"]) for edge in near["edges"] for end in (edge["head"], edge["tail"])}
    assert ends
    assert ends <= {(node["label"], node["id"]) for node in near["nodes"]}


def test_decision_is_only_about_what_was_seen(api: TestClient) -> None:
    row = first(api)
    seen = {"fingerprint": row["fingerprint"], "seen": row["version"]}

    made = api.post("/v1/decisions", json={"findings": [seen], "action": "reject", "note": "known"})
    again = api.post("/v1/decisions", json={"findings": [seen], "action": "accept"})

    assert made.status_code == 201
    problem = refused(again, 409, "changed-meanwhile")
    present = got(api, f"/v1/findings/{row['fingerprint']}")
    assert problem["present"] == {row["fingerprint"]: present["version"]}
    assert present["decision_state"] == "rejected"
    (decision,) = got(api, "/v1/decisions")["decisions"]
    assert decision["note"] == "known"
    assert decision["by"] == made.json()["decisions"][0]["decision"]["by"] != ""


def test_one_of_many_that_changed_keeps_all_from_being_decided(api: TestClient) -> None:
    rows = got(api, "/v1/findings", limit=3)["findings"]
    seen = [{"fingerprint": row["fingerprint"], "seen": row["version"]} for row in rows]
    api.post("/v1/decisions", json={"findings": [seen[1]], "action": "reject"})

    refused(api.post("/v1/decisions", json={"findings": seen, "action": "accept"}), 409, "changed-meanwhile")

    assert len(got(api, "/v1/decisions")["decisions"]) == 1


def test_of_many_who_decide_at_once_about_what_they_saw_one_does(api: TestClient) -> None:
    row = first(api)
    body = {"findings": [{"fingerprint": row["fingerprint"], "seen": row["version"]}], "action": "reject"}
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: api.post("/v1/decisions", json=body).status_code, range(6)))

    assert sorted(answers) == [201, 409, 409, 409, 409, 409]
    assert len(got(api, "/v1/decisions")["decisions"]) == 1


def test_decision_by_filter_is_about_as_many_as_were_counted(api: TestClient) -> None:
    counted = got(api, "/v1/findings/facets", type="existence", outcome="refuted")
    chosen = {"run": counted["run"], "type": ["existence"], "outcome": ["refuted"]}
    body = {"filter": chosen, "action": "defer", "until": "2999-01-01"}

    wrong = api.post("/v1/decisions/by-filter", json=body | {"expected": counted["total"] - 1})
    latest = api.post(
        "/v1/decisions/by-filter", json=body | {"filter": {"run": "latest"}, "expected": counted["total"]}
    )
    made = api.post("/v1/decisions/by-filter", json=body | {"expected": counted["total"]})

    assert refused(wrong, 409, "changed-meanwhile")["present"] == {"count": str(counted["total"])}
    refused(latest, 400, "usage-error")
    assert made.json()["count"] == counted["total"]
    assert got(api, "/v1/findings/facets", decision="deferred")["total"] == counted["total"]


def test_client_does_not_choose_who_decides(api: TestClient) -> None:
    body = {"findings": [{"fingerprint": first(api)["fingerprint"]}], "action": "reject", "by": "somebody else"}

    problem = refused(api.post("/v1/decisions", json=body), 422, "invalid-request")

    assert problem["errors"] == [{"where": "body.by", "detail": "Extra inputs are not permitted"}]


def test_decisions_come_in_pages(api: TestClient) -> None:
    rows = got(api, "/v1/findings", limit=5)["findings"]
    for row in rows:
        api.post("/v1/decisions", json={"findings": [{"fingerprint": row["fingerprint"]}], "action": "reject"})

    page = got(api, "/v1/decisions", limit=3)
    rest = got(api, "/v1/decisions", limit=3, before=page["next"])

    assert [one["fingerprint"] for one in page["decisions"] + rest["decisions"]] == [
        row["fingerprint"] for row in reversed(rows)
    ]
    assert rest["next"] is None


def test_patch_is_made_shown_and_checked_without_naming_a_file(api: TestClient, tmp_path: Path) -> None:
    row = first(api, text="PARK2", type="existence")
    wanted = {"findings": [{"fingerprint": row["fingerprint"]}]}
    made = api.post("/v1/patches", json=wanted)

    assert made.status_code == 201, made.text
    patch = made.json()["id"]
    shown = got(api, f"/v1/patches/{patch}")
    assert [change["about"] for change in shown["changes"]] == made.json()["operations"]
    assert got(api, "/v1/patches")["patches"][0]["id"] == patch
    assert str(tmp_path) not in api.get(f"/v1/patches/{patch}").text
    checked = api.post(f"/v1/patches/{patch}/check").json()
    assert (checked["done"], checked["conflicts"]) == (1, [])
    # A finding that nobody can repair makes no patch, and what is left out has its reason.
    refused(api.post("/v1/patches", json={}), 422, "invalid-request")
    refused(api.post("/v1/patches/0000000000000000/check"), 404, "unknown-name")


def test_check_ask_and_verified(api: TestClient) -> None:
    checked = api.post("/v1/check", json={"what": "P02649 ACTS_ON P05067"}).json()
    as_edge = {
        "head": {"label": "Protein", "id": "P02649"},
        "relation": "ACTS_ON",
        "tail": {"label": "Protein", "id": "P05067"},
    }
    of_edge = api.post("/v1/check", json={"what": as_edge}).json()
    question = "What diseases are associated with the protein encoded by the gene APOE?"
    answer = api.post("/v1/ask", json={"question": question}).json()
    unread = api.post("/v1/ask", json={"question": "colourless green ideas"}).json()

    assert (checked["outcome"], checked["graph"], checked["reason"]) == ("supported", "lacks_it", "edge_missing")
    assert checked["evidence"]
    assert of_edge["fingerprint"] == checked["fingerprint"]
    assert answer["status"] == "answered"
    assert answer["total"] == len(answer["found"]) > 0
    assert all(one["path"] for one in answer["found"])
    assert (unread["status"], unread["total"]) == ("not understood", 0)
    assert got(api, "/v1/verified", edge="P04637 ACTS_ON Q00987")["verified"] is None
    refused(api.get("/v1/verified", params={"edge": "nothing"}), 400, "usage-error")
    refused(api.post("/v1/check", json={"what": "P02649 NO_SUCH P05067"}), 404, "unknown-name")


def test_references_have_their_releases(shared: TestClient) -> None:
    found = got(shared, "/v1/references")

    assert found["snapshot"] == "reference.duckdb"
    assert all(one["built_at"].endswith("Z") for one in found["releases"])
    assert {one["source"] for one in found["releases"]} >= {"uniprot", "hgnc"}


def test_what_the_service_was_started_without_is_not_there(shared: TestClient) -> None:
    for answer in (shared.post("/v1/search", json={"query": "APOE"}), shared.get("/v1/jobs")):
        assert refused(answer, 404, "not-served")["hint"].startswith("start it with --")


def test_jobs_of_a_project(tmp_path: Path) -> None:
    config = tmp_path / "kgcheck.toml"
    config.write_text(
        f'[stores]\nmain = {{ place = "{demo().store}" }}\n\n'
        '[jobs.nightly]\nkind = "audit"\nstore = "main"\nschedule = "30 2 * * *"\ntypes = ["existence"]\n'
    )
    with served(tmp_path, config=config) as client:
        (job,) = got(client, "/v1/jobs")["jobs"]
        shown = got(client, "/v1/jobs/nightly")

        assert (job["job"], job["store"], job["last"]) == ("nightly", "graph.lbdb", None)
        assert shown["settings"]["types"] == ["existence"]
        assert str(tmp_path) not in json.dumps(shown)
        assert got(client, "/v1/jobs/nightly/history") == {"runs": []}
        refused(client.get("/v1/jobs/hourly"), 404, "unknown-name")


def test_health_says_which_part_is_away(tmp_path: Path) -> None:
    with served(tmp_path, reference=str(tmp_path / "nothing.duckdb")) as client:
        assert got(client, "/v1/health/live")["status"] == "alive"
        answer = client.get("/v1/health/ready")

    assert answer.status_code == 503
    ready = {part["name"]: part["is_ready"] for part in answer.json()["parts"]}
    assert ready == {"ledger": True, "store": True, "reference": False}
    assert "nothing.duckdb" not in answer.text


def test_readiness_is_answered_at_once_while_the_store_is_written_to(api: TestClient) -> None:
    app: Any = api.app
    service = app.state.service
    with service.writing():
        # All threads for requests wait for the store.
        with ThreadPoolExecutor(45) as pool:
            waiting = [pool.submit(api.get, "/v1/runs") for _ in range(45)]
            time.sleep(1)
            assert not any(one.done() for one in waiting)
            begun = time.perf_counter()
            answer = api.get("/v1/health/ready")
            took = time.perf_counter() - begun
            service._writing = False
            with service._free:
                service._free.notify_all()
            assert {one.result(30).status_code for one in waiting} == {200}

    assert answer.status_code == 503
    kinds = {part["name"]: part["kind_of_error"] for part in answer.json()["parts"]}
    assert kinds == {"ledger": "", "store": "StoreLocked", "reference": ""}
    assert took < 20, "as long as a request waits for the store it is not to wait"
    assert got(api, "/v1/health/ready")["status"] == "ready"


@pytest.mark.slow
def test_readiness_does_not_wait_for_what_hangs(api: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    over, looked = threading.Event(), list[str]()

    def hang(*_: object) -> None:
        looked.append("store")
        over.wait(60)

    def kinds() -> dict[str, str]:
        return {part["name"]: part["kind_of_error"] for part in api.get("/v1/health/ready").json()["parts"]}

    well = {"ledger": "", "store": "", "reference": ""}
    assert kinds() == well
    app: Any = api.app
    monkeypatch.setattr(type(app.state.service.shared.graph), "meta", hang)
    assert kinds() == well, "for a while it counts as it was seen last"
    monkeypatch.setattr(state, "PATIENCE_S", 0.1)
    hanging = [kinds() for _ in range(2)]
    over.set()

    assert hanging == [well | {"store": "TookTooLong"}] * 2
    assert looked == ["store"], "one look at a time, however often it is asked"


def test_health_is_answered_while_the_ledger_is_away(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        Path(ledger_of(client)).write_bytes(b"this is no ledger any more" * 100)

        assert client.get("/v1/health/live").status_code == 200
        ready = client.get("/v1/health/ready")
        problem = refused(client.get("/v1/runs"), 503, "ledger-error")

    assert problem["hint"] == "name another ledger with --ledger"
    parts = {part["name"]: part["kind_of_error"] for part in ready.json()["parts"]}
    assert parts == {"ledger": "LedgerError", "store": "", "reference": ""}


def test_what_is_wrong_with_a_request_is_a_problem_that_repeats_nothing_of_it(shared: TestClient) -> None:
    wrong = refused(shared.get("/v1/findings", params={"limit": "secret-4711", "lable": "x"}), 422, "invalid-request")
    missing = refused(shared.get("/v1/such/a/path"), 404, "not-found")
    method = shared.put("/v1/decisions")
    body = shared.post("/v1/check", content=b'{"what": "a\\ud800"', headers={"content-type": "application/json"})

    assert {one["where"] for one in wrong["errors"]} == {"query.limit", "query.lable"}
    assert "4711" not in json.dumps(wrong)
    assert missing["instance"] == "/v1/such/a/path"
    refused(method, 405, "method-not-allowed")
    assert method.headers["allow"] == "GET, POST"
    refused(body, 422, "invalid-request")


def test_fault_is_a_problem_without_a_traceback(shared: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret words of a fault")

    monkeypatch.setattr(Workspace, "patches", fail)
    answer = shared.get("/v1/patches")

    problem = refused(answer, 500, "internal-error")
    assert "secret" not in json.dumps(problem)


def test_a_page_of_an_error_has_headers_of_kgchecks_own_errors_alone() -> None:
    from fastapi import FastAPI, HTTPException
    from fastapi.responses import HTMLResponse

    class Busy(KgcheckError):
        headers = {"retry-after": "60"}

    app = FastAPI()
    app.state.error_page = lambda request, status, error: HTMLResponse("", status)
    add_handlers(app)

    @app.get("/busy")
    def busy() -> None:
        raise Busy("no", "later")

    @app.get("/elsewhere")
    @app.get("/v1/elsewhere")
    def elsewhere() -> None:
        raise HTTPException(404, headers={"set-cookie": "of=another"})

    client = TestClient(app)
    assert client.get("/busy").headers["retry-after"] == "60"
    for path in ("/elsewhere", "/v1/elsewhere"):
        assert "set-cookie" not in client.get(path).headers


def done(client: TestClient, answer: Any) -> dict[str, Any]:
    """A task that was begun, when it is over."""
    assert answer.status_code == 202, answer.text
    until = time.monotonic() + 120
    while (task := got(client, f"/v1/tasks/{answer.json()['id']}"))["ended"] is None:
        assert time.monotonic() < until, task
        time.sleep(0.1)
    found: dict[str, Any] = task
    return found


def test_patch_is_applied_and_undone_as_a_task(tmp_path: Path) -> None:
    shutil.copy(demo().store, tmp_path / "graph.lbdb")
    with Workspace(store=tmp_path / "graph.lbdb", reference=demo().reference, ledger=tmp_path / "own.sqlite") as own:
        own.audit(types=["existence"], ids=["PARK2"])
    places = {"store": str(tmp_path / "graph.lbdb"), "ledger": str(tmp_path / "own.sqlite")}
    with served(tmp_path, **places) as client:
        row = first(client, text="PARK2")
        patch = client.post("/v1/patches", json={"findings": [{"fingerprint": row["fingerprint"]}]}).json()["id"]

        applied = done(client, client.post(f"/v1/patches/{patch}/apply"))
        after = got(client, f"/v1/findings/{row['fingerprint']}/neighbours")["nodes"][0]
        state = got(client, f"/v1/patches/{patch}")["state"]
        undone = done(client, client.post(f"/v1/patches/{patch}/undo"))
        again = got(client, f"/v1/findings/{row['fingerprint']}/neighbours")["nodes"][0]

    assert (applied["state"], applied["result"]["done"], applied["by"]) == ("done", 1, undone["by"])
    assert (state, after["is_there"]) == ("applied", False)
    assert (undone["state"], again["is_there"]) == ("done", True)


def test_cursor_goes_on_in_the_run_of_its_first_page(api: TestClient) -> None:
    page = got(api, "/v1/findings", limit=5)
    with Workspace(store=str(demo().store), reference=demo().reference, ledger=ledger_of(api)) as workspace:
        later = workspace.audit(types=["structure"]).run.id

    assert got(api, "/v1/findings", limit=5)["run"] == later
    assert got(api, "/v1/findings", limit=5, cursor=page["next"])["run"] == page["run"]
    refused(api.get("/v1/findings", params={"run": later, "cursor": page["next"]}), 400, "usage-error")


def test_readiness_has_an_answer_where_a_look_itself_breaks(api: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fault that nobody foresaw")

    app: Any = api.app
    monkeypatch.setattr(type(app.state.service.shared.graph), "meta", broken)
    answer = api.get("/v1/health/ready")

    assert answer.status_code == 503
    kinds = {part["name"]: part["kind_of_error"] for part in answer.json()["parts"]}
    assert kinds == {"ledger": "", "store": "ZeroDivisionError", "reference": ""}
    assert "nobody foresaw" not in answer.text
