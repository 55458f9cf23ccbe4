"""The usual order of steps on BioProBench's shuffled lists (ORD), by rules alone.

Run as ``python -m benchmarks.protocol_checks --shared ../shared/data``. The items are for evaluation only: nothing was
trained on them. A third, drawn by a seed, was looked at while the rules were written; the rest is reported apart.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import click

from kgcheck.inputs import parse_json, read_whole
from kgcheck.protocols.checking.order import likely_order

SEED = 18
ORDERS: dict[str, Callable[[Sequence[str]], list[int]]] = {
    "as given, shuffled": lambda steps: list(range(len(steps))),
    "rules": likely_order,
}


class OrderScore(NamedTuple):
    """How an order agrees with the right one."""

    tau: float
    exact: bool


def looked_at(items: Sequence[dict[str, Any]]) -> set[str]:
    """Ids of the items that may have been seen: a third by the seed."""
    drawn = random.Random(SEED).sample(range(len(items)), len(items) // 3)  # noqa: S311  # a draw
    return {str(items[place]["id"]) for place in drawn}


def order_score(steps: Sequence[str], right: Sequence[str]) -> OrderScore:
    """Kendall's tau of an order, and whether it is the right one; steps of the same words may stand for each other.

    Args:
        steps: In the order that is scored.
        right: In the right one.

    Returns:
        From -1 to 1, and whether they are the same.

    >>> order_score(["b", "a", "c"], ["a", "b", "c"])
    OrderScore(tau=0.3333333333333333, exact=False)
    """
    places: dict[str, list[int]] = {}
    for place, step in enumerate(right):
        places.setdefault(step, []).append(place)
    found = [places[step].pop(0) for step in steps]
    count = len(found)
    agree = sum(1 if found[i] < found[j] else -1 for i in range(count) for j in range(i + 1, count))
    pairs = count * (count - 1) / 2
    return OrderScore(agree / pairs if pairs else 1.0, found == sorted(found))


def order_rows(items: Sequence[dict[str, Any]]) -> list[str]:
    """A row of Markdown for each way of ordering, over all items and by their type."""
    rows = []
    for name, order in ORDERS.items():
        scored = {
            item["id"]: order_score([item["wrong_steps"][n] for n in order(item["wrong_steps"])], item["correct_steps"])
            for item in items
        }
        cells = []
        for kind in ("", "top", "child"):
            some = [scored[item["id"]] for item in items if kind in ("", item["type"])]
            cells += [f"{fmean(s.tau for s in some):.3f}", f"{fmean(s.exact for s in some):.1%}"]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return rows


@click.command()
@click.option("--shared", type=click.Path(path_type=Path), default=Path("../shared/data"), show_default=True)
def main(shared: Path) -> None:
    """Print the tables of benchmarks/README.md."""
    orders = parse_json(read_whole(shared / "protocols" / "ORD.json"))
    seen = looked_at(orders)
    for part in ("unseen", "looked at"):
        some = [item for item in orders if (item["id"] in seen) == (part == "looked at")]
        click.echo(f"\n{part}: {len(some)} items\n")
        click.echo("| order | tau | exact | tau, headings | exact | tau, steps | exact |")
        click.echo("| --- | --- | --- | --- | --- | --- | --- |")
        click.echo("\n".join(order_rows(some)))


if __name__ == "__main__":
    main()
