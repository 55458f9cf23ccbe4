"""Made-up curators for locust: they page through findings, look at some, count, and now and then decide.

Run by `benchmarks.service`, by a Python of its own; it imports nothing of kgcheck.
"""

import os
from random import Random
from typing import Any

from locust import HttpUser, between, task

DRAW = Random(0)  # noqa: S311
WITH_GRAPH = os.environ.get("KGCHECK_BENCH_GRAPH") == "1"
FILTERS = [
    dict(pair.split("=") for pair in one.split("&") if pair) for one in os.environ["KGCHECK_BENCH_FILTERS"].split()
]


class Curator(HttpUser):
    """Somebody who reads quickly: half a second to one and a half between two requests."""

    wait_time = between(0.5, 1.5)

    def on_start(self) -> None:
        self.client.headers["Authorization"] = f"Bearer {os.environ['KGCHECK_START_TOKEN']}"
        self.rows: list[dict[str, Any]] = []
        self.cursor: str | None = None
        self.first_page()

    @task(10)
    def first_page(self) -> None:
        chosen = DRAW.choice([{}, *FILTERS])
        with self.client.get("/v1/findings", params=chosen, name="findings, first page", catch_response=True) as answer:
            self._keep(answer)

    @task(10)
    def next_page(self) -> None:
        if not self.cursor:
            return
        wanted = {"cursor": self.cursor}
        with self.client.get("/v1/findings", params=wanted, name="findings, next page", catch_response=True) as answer:
            self._keep(answer)

    @task(5)
    def triage_page(self) -> None:
        chosen = {"q" if name == "text" else name: value for name, value in DRAW.choice([{}, *FILTERS]).items()}
        self.client.get("/findings", params=chosen, headers={"accept": "text/html"}, name="the page of findings")

    @task(2)
    def facets(self) -> None:
        self.client.get("/v1/findings/facets", params=DRAW.choice([{}, *FILTERS]), name="facets")

    @task(12)
    def look(self) -> None:
        if self.rows:
            self.client.get(f"/v1/findings/{DRAW.choice(self.rows)['fingerprint']}", name="one finding")

    @task(4)
    def history(self) -> None:
        if self.rows:
            name = DRAW.choice(self.rows)["fingerprint"]
            self.client.get(f"/v1/findings/{name}/history", name="history of a finding")

    @task(4)
    def neighbours(self) -> None:
        if self.rows and WITH_GRAPH:
            name = DRAW.choice(self.rows)["fingerprint"]
            self.client.get(f"/v1/findings/{name}/neighbours", name="neighbours of a finding")

    @task(1)
    def runs(self) -> None:
        self.client.get("/v1/runs", name="runs")

    @task(2)
    def decide(self) -> None:
        if not self.rows:
            return
        row = DRAW.choice(self.rows)
        body = {
            "findings": [{"fingerprint": row["fingerprint"], "seen": row["version"]}],
            "action": DRAW.choice(["reject", "reopen"]),
        }
        with self.client.post("/v1/decisions", json=body, name="a decision", catch_response=True) as answer:
            # That somebody else was quicker is as it should be.
            if answer.status_code == 409:
                answer.request_meta["name"] = "a decision that came too late"
                answer.success()

    def _keep(self, answer: Any) -> None:
        if answer.status_code != 200:
            answer.failure(f"{answer.status_code}: {answer.text[:200]}")
            return
        page = answer.json()
        self.rows, self.cursor = page["findings"], page["next"]
