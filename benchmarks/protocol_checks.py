"""The checks of protocols on BioProBench: the order of steps (ORD) and corrupted steps (ERR), by rules alone.

Run as ``python -m benchmarks.protocol_checks --shared ../shared/data``. The items are for evaluation only: nothing was
trained on them. A third of each set, drawn by a seed, was looked at while the rules were written (of ERR also sixteen
items that were printed before the draw); the rest is reported apart and was never shown.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import click

from kgcheck.inputs import parse_json, read_whole
from kgcheck.protocols.checking.order import likely_order
from kgcheck.protocols.checking.remarks import odd_values, odd_words

SEED = 18
MARKS_ALONE = frozenset(("late", "early", "last", "ordinal"))
"""The weights of words that say by themselves where a step stands."""

ORDERS: dict[str, Callable[[Sequence[str]], list[int]]] = {
    "as given, shuffled": lambda steps: list(range(len(steps))),
    "marks of order alone (baseline)": lambda steps: likely_order(steps, MARKS_ALONE),
    "rules": likely_order,
}


class OrderScore(NamedTuple):
    """How an order agrees with the right one."""

    tau: float
    exact: bool


def looked_at(items: Sequence[dict[str, Any]], before: set[str]) -> set[str]:
    """Ids of the items that may have been seen: a third by the seed, and those that were seen before the draw."""
    drawn = random.Random(SEED).sample(range(len(items)), len(items) // 3)  # noqa: S311  # a draw
    return {str(items[place]["id"]) for place in drawn} | before


def seen_before(items: Sequence[dict[str, Any]]) -> set[str]:
    """Ids of the items of ERR that were printed before anything was drawn."""
    wrong = [item for item in items if not item["is_correct"]]
    drawn = random.Random(0).sample(wrong, 14)  # noqa: S311  # a draw
    return {str(item["id"]) for item in (*drawn, *items[:2])}


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


def error_rows(items: Sequence[dict[str, Any]]) -> list[str]:
    """Rows of Markdown: what the rules remark of corrupted steps, and of those that are right."""
    found = {item["id"]: _kinds(item) for item in items}
    corrupt = [item for item in items if not item["is_correct"]]
    clean = [item for item in items if item["is_correct"]]
    right = [item for item in corrupt if found[item["id"]]]
    wrong = [item for item in clean if found[item["id"]]]
    kinds = [item for item in right if item["type"] in found[item["id"]]]
    correct = len(right) + len(clean) - len(wrong)
    by_kind = [
        f"{kind} {sum(bool(found[i['id']]) for i in corrupt if i['type'] == kind)} of "
        f"{sum(i['type'] == kind for i in corrupt)}"
        for kind in ("parameter", "reagent", "operation")
    ]
    return [
        f"| corrupted steps that are remarked (right) | {len(right)} of {len(corrupt)}: {', '.join(by_kind)} |",
        f"| of these, with the right kind | {len(kinds)} |",
        f"| corrupted steps of which nothing is remarked (silent) | {len(corrupt) - len(right)} |",
        f"| steps without an error that are remarked (WRONG) | {len(wrong)} of {len(clean)} |",
        f"| accuracy, silence taken for no error | {correct / len(items):.1%} |",
        f"| accuracy of the majority | {max(len(corrupt), len(clean)) / len(items):.1%} |",
    ]


def _kinds(item: dict[str, Any]) -> set[str]:
    text = item["corrected_text"] if item["is_correct"] else item["corrupted_text"]
    kinds: set[str] = {odd.usual.kind for odd in odd_values(text)}
    if odd_words(text, item["context"]["purpose"]):
        kinds |= {"reagent", "operation"}
    return kinds


def _is_unchanged(item: dict[str, Any]) -> bool:
    """Whether an item of ERR is called corrupted, and its text is the right one: there is nothing to find."""
    return item.get("is_correct") is False and item["corrupted_text"] == item["corrected_text"]


@click.command()
@click.option("--shared", type=click.Path(path_type=Path), default=Path("../shared/data"), show_default=True)
def main(shared: Path) -> None:
    """Print the tables of benchmarks/README.md."""
    orders, errors = (parse_json(read_whole(shared / "protocols" / f"{name}.json")) for name in ("ORD", "ERR"))
    sets = (("ORD", orders, looked_at(orders, set())), ("ERR", errors, looked_at(errors, seen_before(errors))))
    for part in ("unseen", "looked at"):
        for name, items, seen in sets:
            some = [item for item in items if (item["id"] in seen) == (part == "looked at") and not _is_unchanged(item)]
            click.echo(f"\n{name}, {part}: {len(some)} items\n")
            if name == "ORD":
                click.echo("| order | tau | exact | tau, headings | exact | tau, steps | exact |")
                click.echo("| --- | --- | --- | --- | --- | --- | --- |")
                click.echo("\n".join(order_rows(some)))
            else:
                click.echo("| what | steps |\n| --- | --- |")
                click.echo("\n".join(error_rows(some)))


if __name__ == "__main__":
    main()
