"""Metrics of the service (Prometheus): requests, the latest run and tasks."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Histogram, disable_created_metrics, generate_latest
from prometheus_client import Counter as Counted
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgcheck.errors import KgcheckError
from kgcheck.service.middleware import HttpMiddleware
from kgcheck.service.telemetry import route_of

if TYPE_CHECKING:
    from kgcheck.service.state import Service

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
_NO_PATH = "(no such path)"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics(Collector):
    """The metrics of one service; those of its ledger, which is read at every scrape, are collected by itself."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        # When each series began is of no use to anybody, and doubles what is sent.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry(auto_describe=False)
        self._requests = Counted(
            "kgcheck_http_requests", "Requests by what they were answered with.", ("method", "route", "status"),
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "kgcheck_http_request_duration_seconds", "From a request to the end of its answer.", ("method", "route"),
            buckets=_BUCKETS, registry=self._registry,
        )  # fmt: skip
        self._registry.register(self)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        shown = method if method in _METHODS else "other"
        self._requests.labels(shown, route, status).inc()
        self._seconds.labels(shown, route).observe(seconds)

    def text(self) -> bytes:
        """All of it, in the text format of Prometheus."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        yield from self._outcomes()
        yield from self._tasks()

    def _outcomes(self) -> Iterator[Metric]:
        outcomes = GaugeMetricFamily(
            "kgcheck_latest_run_tasks", "Tasks of the latest audit by what they ended with.", labels=["outcome"]
        )
        reached = GaugeMetricFamily("kgcheck_ledger_up", "Whether the ledger could be read just now.")
        try:
            with self._service.reading() as workspace:
                run = workspace.run()
                tallies = [] if run.is_check else workspace.tallies(run)
        except KgcheckError:
            reached.add_metric([], 0)
        else:
            reached.add_metric([], 1)
            counts = Counter[str]()
            for tally in tallies:
                counts[tally.mark.value] += tally.count
            for outcome, count in sorted(counts.items()):
                outcomes.add_metric([outcome], count)
            yield outcomes
        yield reached

    def _tasks(self) -> Iterator[Metric]:
        states = GaugeMetricFamily("kgcheck_service_tasks", "Tasks that are not over, by state.", labels=["state"])
        counts = Counter({"waiting": 0, "running": 0})
        try:
            for task in self._service.tasks.list(500):
                if not task.state.is_over:
                    counts[task.state.value] += 1
        except KgcheckError:
            return
        for state, count in sorted(counts.items()):
            states.add_metric([state], count)
        yield states


class Measured(HttpMiddleware):
    """Counts what goes through an application."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        super().__init__(app)
        self._metrics = metrics

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun, status = time.perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._metrics.count(scope["method"], route_of(scope, _NO_PATH), status, time.perf_counter() - begun)
