"""What a small language model makes of the three tasks: ``python -m benchmarks.models``.

KGQA dev, KGCheck items over the demo, and SciFact claims with the abstracts that they cite, each part for so many
seconds: what was not reached is not counted, and the table says how many were, and the machine's load meanwhile. Needs
``make setup-models`` and ../shared/data.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

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
from kgcheck.llm.client import ChatClient
from kgcheck.loading.load import load_directory
from kgcheck.model import Stance
from kgcheck.profile.schema import load_schema, profile_dir
from kgcheck.reference.build import build_snapshot
from kgcheck.settings import Settings
from tests.support.real_model import MODELS, served

T = TypeVar("T")
SEED = 12


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--model", choices=MODELS, default=MODELS[0])
    parser.add_argument("--seconds", type=float, default=600, help="of each part")
    parser.add_argument("--item-seconds", type=float, default=60)
    parser.add_argument("--predict", type=int, default=96, help="most tokens of an answer")
    parser.add_argument("--threads", type=int, default=2, help="of the model")
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        served(asked.model, Path(folder), asked.predict, 0, asked.threads) as server,
    ):
        settings = Settings(llm_base_url=server.url, llm_model=asked.model, llm_timeout_s=300, llm_retries=0)
        with ChatClient(settings) as client:
            sys.stdout.write("| what | items reached | right | answers | more | load |\n|" + " --- |" * 6 + "\n")
            for part in (_claims, _questions, _checks):
                part(client, asked, Path(folder))


def _claims(client: ChatClient, asked: argparse.Namespace, folder: Path) -> None:
    # No secret depends on this draw.
    raw = [r for r in training._scifact(asked.data) if r.asked]
    chosen = random.Random(SEED).sample(raw, 100)  # noqa: S311
    verifier = LlmVerifier(client, Limits(seconds=asked.item_seconds))

    def one(r: training._Raw) -> tuple[str, bool, str]:
        (opinion,) = verify(r.claim, [r.document], verifier).opinions
        name = opinion.stance.value
        right = name == training.CLASSES[r.label]
        return (
            name,
            right,
            "dropped" if opinion.dropped else "speaks" if opinion.stance is not Stance.SILENT else "quiet",
        )

    _told("SciFact claims", chosen, one, asked.seconds)


def _questions(client: ChatClient, asked: argparse.Namespace, folder: Path) -> None:
    schema = load_schema()
    with EmbeddedStore(folder / "graph.lbdb", schema, create=True) as store:
        load_directory(asked.data / "ckg_import", store, Settings(), quarantine=folder / "q.jsonl")
    with EmbeddedStore(folder / "graph.lbdb", schema) as store:
        agent = ReactAgent(store, client, Limits(seconds=asked.item_seconds))

        def one(question: Question) -> tuple[str, bool, str]:
            answer = agent.ask(question.question)
            scored = score(question, answer)
            return answer.status.value, scored.exact, f"F1 {scored.f1:.1f}"

        dev = read_questions(asked.data / "biokgbench" / "kgqa_dev.json")
        _told("KGQA dev questions", dev, one, asked.seconds)


def _checks(client: ChatClient, asked: argparse.Namespace, folder: Path) -> None:
    schema, settings = load_schema(), Settings()
    source = profile_dir(schema.profile.name) / "demo"
    store, snapshot = folder / "demo.lbdb", folder / "demo.duckdb"
    with EmbeddedStore(store, schema, create=True) as opened:
        load_directory(source / "import", opened, settings, quarantine=folder / "dq.jsonl")
    build_snapshot(source / "reference", snapshot, schema, settings)
    items = random.Random(SEED).sample(read_items(source / "kgcheck_bench.jsonl", schema), 60)  # noqa: S311
    with EmbeddedStore(store, schema) as opened, SnapshotSource(snapshot, schema, settings) as reference:
        limits = Limits(seconds=asked.item_seconds)
        checker = Checker(opened, reference, lambda _: LlmBrain(client, limits), Limits(seconds=asked.item_seconds))

        def one(item: Item) -> tuple[str, bool, str]:
            result = checker.work(item)
            scored = result["score"]
            return str(result["answer"]), bool(scored["exact"]), "concluded" if scored["executable"] else "not"

        _told("KGCheck items", items, one, asked.seconds)


def _told(name: str, items: Iterable[T], one: Callable[[T], tuple[str, bool, str]], seconds: float) -> None:
    """Do items until the seconds are over, and print what came of them."""
    started, said, more, right, count = time.monotonic(), Counter[str](), Counter[str](), 0, 0
    of = list(items)
    for item in of:
        if time.monotonic() - started > seconds:
            break
        count += 1
        try:
            what, good, detail = one(item)
        except KgcheckError as error:
            what, good, detail = f"error: {type(error).__name__}", False, ""
        said[what] += 1
        more[detail] += 1
        right += good
    took = time.monotonic() - started
    parts = ", ".join(f"{what} {n}" for what, n in said.most_common())
    details = ", ".join(f"{what} {n}" for what, n in more.most_common() if what)
    load = os.getloadavg()[0]
    row = f"| {name} | {count} of {len(of)} in {took:.0f} s | {right} | {parts} | {details} | {load:.1f} |\n"
    sys.stdout.write(row)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
