"""What a small language model makes of the three tasks: ``python -m benchmarks.models``.

SciFact claims with the abstracts that they cite, KGCheck items over the demo, and KGQA dev. Limits are tokens, so that
a busy machine changes how long it takes and not what comes out. Each item is a line of the log as soon as it is done;
run again with the same log, what is in it is not done again. What was not reached is not counted, and the table says
how many were. Needs ``make setup-models`` and ../shared/data.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import train_verifier as training
from kgcheck.agents.asker import ReactAgent
from kgcheck.agents.brains.llm import LlmBrain
from kgcheck.bench.items import Item, read_items
from kgcheck.bench.kgcheck import Checker
from kgcheck.bench.kgqa import Question, read_questions, score
from kgcheck.errors import KgcheckError
from kgcheck.evidence.source import SnapshotSource
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.literature.llm_verifier import LlmVerifier
from kgcheck.literature.verify import verify
from kgcheck.llm.budget import Limits
from kgcheck.llm.client import ChatClient, Reply
from kgcheck.loading.load import load_directory
from kgcheck.model import Stance
from kgcheck.profile.schema import load_schema, profile_dir
from kgcheck.reference.build import build_snapshot
from kgcheck.settings import Settings
from tests.support.real_model import MODELS, served

T = TypeVar("T")
SEED = 12
SECONDS = 86_400.0
"""Of one item: a limit that is never reached, so that tokens alone decide."""


class Counted(ChatClient):
    """A client that counts the tokens of an item and its calls."""

    tokens = calls = 0

    def complete(self, *args: Any, **more: Any) -> Reply:
        """Count a call."""
        reply = super().complete(*args, **more)
        self.tokens += reply.usage.total
        self.calls += 1
        return reply


def main() -> None:
    """Measure, write the log and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--model", choices=MODELS, default=MODELS[0])
    parser.add_argument("--part", choices=list(_PARTS), action="append", help="one of them; all unless given")
    parser.add_argument("--log", type=Path, default=Path("build/models.jsonl"), help="what is in it is not done again")
    parser.add_argument("--item-tokens", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each part; what was begun is ended")
    parser.add_argument("--predict", type=int, default=300, help="most tokens of an answer")
    parser.add_argument("--threads", type=int, default=2, help="of the model")
    parser.add_argument("--nice", type=int, default=0, help="of the model")
    parser.add_argument("--small", action=argparse.BooleanOptionalAction, default=True, help="KGCHECK_LLM_SMALL")
    asked = parser.parse_args()
    asked.log.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        served(asked.model, Path(folder), asked.predict, asked.nice, asked.threads) as server,
    ):
        settings = Settings(
            llm_base_url=server.url, llm_model=asked.model, llm_timeout_s=3600, llm_retries=0, llm_small=asked.small
        )
        with Counted(settings) as client:
            sys.stdout.write("| what | items | right | answers | more | tokens an item | calls an item |\n")
            sys.stdout.write("|" + " --- |" * 7 + "\n")
            for part in asked.part or _PARTS:
                _PARTS[part](client, asked, Path(folder))


def _claims(client: Counted, asked: argparse.Namespace, folder: Path) -> None:
    # No secret depends on this draw.
    raw = [r for r in training._scifact(asked.data) if r.asked]
    chosen = random.Random(SEED).sample(raw, 100)  # noqa: S311
    verifier = LlmVerifier(client, Limits(tokens=asked.item_tokens, seconds=SECONDS))

    def one(r: training._Raw) -> tuple[str, bool, str]:
        (opinion,) = verify(r.claim, [r.document], verifier).opinions
        name = opinion.stance.value
        right = name == training.CLASSES[r.label]
        return (
            name,
            right,
            "dropped" if opinion.dropped else "speaks" if opinion.stance is not Stance.SILENT else "quiet",
        )

    _measure(client, asked, "SciFact claims", chosen, one)


def _questions(client: Counted, asked: argparse.Namespace, folder: Path) -> None:
    schema = load_schema()
    with EmbeddedStore(folder / "graph.lbdb", schema, create=True) as store:
        load_directory(asked.data / "ckg_import", store, Settings(), quarantine=folder / "q.jsonl")
    with EmbeddedStore(folder / "graph.lbdb", schema) as store:
        agent = ReactAgent(store, client, Limits(tokens=asked.item_tokens, seconds=SECONDS))

        def one(question: Question) -> tuple[str, bool, str]:
            answer = agent.ask(question.question)
            scored = score(question, answer)
            return answer.status.value, scored.exact, f"F1 {scored.f1:.1f}"

        dev = read_questions(asked.data / "biokgbench" / "kgqa_dev.json")
        _measure(client, asked, "KGQA dev questions", dev, one)


def _checks(client: Counted, asked: argparse.Namespace, folder: Path) -> None:
    schema, settings = load_schema(), Settings()
    source = profile_dir(schema.profile.name) / "demo"
    store, snapshot = folder / "demo.lbdb", folder / "demo.duckdb"
    with EmbeddedStore(store, schema, create=True) as opened:
        load_directory(source / "import", opened, settings, quarantine=folder / "dq.jsonl")
    build_snapshot(source / "reference", snapshot, schema, settings)
    items = random.Random(SEED).sample(read_items(source / "kgcheck_bench.jsonl", schema), 60)  # noqa: S311
    with EmbeddedStore(store, schema) as opened, SnapshotSource(snapshot, schema, settings) as reference:
        limits = Limits(tokens=asked.item_tokens, seconds=SECONDS)
        checker = Checker(opened, reference, lambda _: LlmBrain(client, limits), Limits(seconds=SECONDS))

        def one(item: Item) -> tuple[str, bool, str]:
            result = checker.work(item)
            scored = result["score"]
            return str(result["answer"]), bool(scored["exact"]), "concluded" if scored["executable"] else "not"

        _measure(client, asked, "KGCheck items", items, one)


def _measure(
    client: Counted, asked: argparse.Namespace, name: str, items: Iterable[T], one: Callable[[T], tuple[str, bool, str]]
) -> None:
    """Do the items that the log lacks, and print what came of all."""
    of, until = list(items), time.monotonic() + asked.seconds
    known = [json.loads(line) for line in asked.log.read_text().splitlines()] if asked.log.exists() else []
    done = {row["item"]: row for row in known if (row["what"], row["model"]) == (name, asked.model)}
    for number, item in enumerate(of):
        if number in done:
            continue
        if time.monotonic() > until:
            break
        started, client.tokens, client.calls = time.monotonic(), 0, 0
        try:
            came, right, detail = one(item)
        except KgcheckError as error:
            came, right, detail = f"error: {type(error).__name__}", False, error.message[:200]
        row = {"what": name, "model": asked.model, "item": number, "came": came, "right": right, "detail": detail}
        row |= {"tokens": client.tokens, "calls": client.calls, "seconds": round(time.monotonic() - started, 1)}
        row |= {"load": os.getloadavg()[0]}
        done[number] = row
        with asked.log.open("a") as log:
            log.write(json.dumps(row) + "\n")
    rows = list(done.values())
    count = max(len(rows), 1)
    came_of = ", ".join(f"{what} {n}" for what, n in Counter(row["came"] for row in rows).most_common())
    details = Counter(row["detail"] for row in rows if row["detail"] and not row["came"].startswith("error"))
    more = ", ".join(f"{what} {n}" for what, n in details.most_common())
    tokens, calls = (sum(row[key] for row in rows) / count for key in ("tokens", "calls"))
    right = sum(row["right"] for row in rows)
    sys.stdout.write(
        f"| {name} | {len(rows)} of {len(of)} | {right} | {came_of} | {more} | {tokens:,.0f} | {calls:.1f} |\n"
    )
    sys.stdout.flush()


_PARTS: dict[str, Callable[[Counted, argparse.Namespace, Path], None]] = {
    "claims": _claims,
    "checks": _checks,
    "questions": _questions,
}


if __name__ == "__main__":
    main()
