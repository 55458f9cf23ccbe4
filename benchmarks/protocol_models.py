"""What a small language model makes of BioProBench's order and error items: ``python -m benchmarks.protocol_models``.

A seeded sample of the items, of ORD of those that benchmarks.protocol_checks calls unseen, the same for every model. An
answer that is not of the form, or is no order of the steps, is silence. Needs ``make setup-models`` and ../shared/data.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from benchmarks.protocol_checks import looked_at, order_score
from kgcheck.errors import KgcheckError
from kgcheck.llm.client import ChatClient
from kgcheck.protocols.checking.order import likely_order
from kgcheck.settings import Settings
from tests.support.real_model import MODELS, served

A = TypeVar("A", bound=BaseModel)


class OrderAnswer(BaseModel):
    """Numbers of the steps in the right order."""

    order: list[int]


class ErrorAnswer(BaseModel):
    """Whether a step is corrupted."""

    corrupted: bool
    kind: Literal["parameter", "reagent", "operation", "none"]


def main() -> None:
    """Ask, and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--model", choices=MODELS, default=MODELS[1])
    parser.add_argument("--items", type=int, default=60, help="of each set")
    parser.add_argument("--seconds", type=float, default=300.0, help="of each set; what is not reached is not counted")
    asked = parser.parse_args()
    orders, errors = (
        json.loads((asked.data / "protocols" / f"{name}.json").read_text(encoding="utf-8")) for name in ("ORD", "ERR")
    )
    draw = random.Random(18)  # noqa: S311  # a draw
    unseen = [i for i in orders if i["id"] not in looked_at(orders)]
    errors = [i for i in errors if i["corrupted_text"] != i["corrected_text"]]
    with tempfile.TemporaryDirectory() as folder, served(asked.model, Path(folder), 200, 0, 2) as server:
        settings = Settings(llm_base_url=server.url, llm_model=asked.model, llm_timeout_s=600, llm_retries=0)
        with ChatClient(settings) as client:
            sys.stdout.write(ordered(client, draw.sample(unseen, asked.items), asked.seconds))
            sys.stdout.write(judged(client, draw.sample(errors, asked.items), asked.seconds))


def ordered(client: ChatClient, items: list[dict[str, Any]], seconds: float) -> str:
    """Rows of ORD: the model, and the rules on the same items."""
    until, model, rules, silent = time.monotonic() + seconds, [], [], 0
    for item in items:
        if time.monotonic() > until:
            break
        steps = item["wrong_steps"]
        listed = "\n".join(f"{number}. {step[:300]}" for number, step in enumerate(steps, 1))
        question = (
            f'{item["question"]}\n\n{listed}\n\nAnswer with JSON alone: {{"order": [numbers in the right order]}}.'
        )
        answer = _answer(client, question, OrderAnswer)
        given = [n - 1 for n in answer.order] if answer else []
        if sorted(given) != list(range(len(steps))):
            silent += 1
            given = list(range(len(steps)))
        model.append(order_score([steps[n] for n in given], item["correct_steps"]))
        rules.append(order_score([steps[n] for n in likely_order(steps)], item["correct_steps"]))
    rows = []
    for name, found in ((f"{client.model}, {silent} silent", model), ("rules", rules)):
        tau, exact = fmean(s.tau for s in found), fmean(s.exact for s in found)
        rows.append(f"| ORD, {name} | {len(found)} | tau {tau:.3f}, exact {exact:.1%} |")
    return "\n".join(("| what | items | |", "| --- | --- | --- |", *rows, ""))


def judged(client: ChatClient, items: list[dict[str, Any]], seconds: float) -> str:
    """A row of ERR."""
    until, right, wrong, silent, count = time.monotonic() + seconds, 0, 0, 0, 0
    for item in items:
        if time.monotonic() > until:
            break
        count += 1
        text = item["corrected_text"] if item["is_correct"] else item["corrupted_text"]
        question = (
            f"Purpose: {item['context']['purpose']}\nStep before: {item['context']['prior_step']}\nStep: {text}\n"
            f"Step after: {item['context']['next_step']}\n\nIs the step wrong? Answer with JSON alone: "
            '{"corrupted": true or false, "kind": "parameter", "reagent", "operation" or "none"}.'
        )
        answer = _answer(client, question, ErrorAnswer)
        if answer is None:
            silent += 1
        elif answer.corrupted is not item["is_correct"]:
            right += 1
        else:
            wrong += 1
    corrupted = sum(not item["is_correct"] for item in items[:count])
    majority = max(corrupted, count - corrupted)
    return f"| ERR, {client.model} | {count} | right {right}, silent {silent}, WRONG {wrong}; majority {majority} |\n"


def _answer(client: ChatClient, question: str, form: type[A]) -> A | None:
    try:
        return client.answer([{"role": "user", "content": question}], form, tries=1)[0]
    except KgcheckError:
        return None


if __name__ == "__main__":
    main()
