"""Warnings of a load: files that may be cut, those whose emptiness costs edges, and rows that stayed out."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kgcheck.loading.lines import ends_whole
from kgcheck.loading.quarantine import FOREIGN
from kgcheck.loading.staging import Staging
from kgcheck.plurals import how_many
from kgcheck.profile.import_files import NodeFile

if TYPE_CHECKING:
    from kgcheck.loading.load import FileCount

_TENTH = 0.1
_SHOWN = 5


def cut_short(staging: Staging) -> Iterator[str]:
    """Files that may be cut inside their last line."""
    for name, path in staging.files.items():
        if not ends_whole(path):
            yield f"{name}: its last line has no line end: it may be cut inside its last field"


def costly(staging: Staging, files: "Iterable[FileCount]") -> Iterator[str]:
    """Labels of which the files have only headers, while edges that end there could not be loaded."""
    read, lost = Counter[str](), Counter[str]()
    of_label: dict[str, list[str]] = {}
    shared = defaultdict[str, bool](bool)
    counts = {(f.file, f.target): f for f in files}
    for recipe in staging.recipe_files():
        count = counts[recipe.file, recipe.target]
        if isinstance(recipe, NodeFile):
            read[recipe.label] += count.read
            of_label.setdefault(recipe.label, []).append(recipe.file)
            shared[recipe.label] |= recipe.where is not None
        else:
            lost[recipe.head] += count.quarantined.get("unknown_head", 0)
            lost[recipe.tail] += count.quarantined.get("unknown_tail", 0)
    for label, names in of_label.items():
        if not read[label] and lost[label]:
            empty = f"no row is a {label}" if shared[label] else "no row but the header"
            yield f"{', '.join(names)}: {empty}, and {how_many(lost[label], 'edge ends', 'edges end')} at a {label}"


def incomplete(files: "Iterable[FileCount]", limit: str = "") -> str:
    """Say why too many rows stayed out for the graph to be what the files state; empty where they are few.

    Rows of namespaces that the profile does not load are none of them, unless they are all that a file has.
    """
    read, out, nothing = 0, 0, list[str]()
    of_file: dict[str, list[FileCount]] = {}
    for count in files:
        of_file.setdefault(count.file, []).append(count)
    for name, counts in of_file.items():
        rejected = sum((Counter(count.quarantined) for count in counts), Counter[str]())
        read += sum(count.read for count in counts)
        out += rejected.total() - sum(rejected[reason] for reason in FOREIGN)
        if rejected and not sum(count.loaded + count.changed + count.unchanged for count in counts):
            nothing.append(f"none of {how_many(rejected.total(), 'row')} of {name}")
    summary = f"{out:,} of {how_many(read, 'row')} cannot be loaded"
    if limit:
        most = float(limit.removesuffix("%")) / 100 * read if limit.endswith("%") else int(limit)
        return f"{summary}, and --max-quarantined allows {limit}" if out > most else ""
    if len(nothing) > _SHOWN:
        nothing[_SHOWN:] = [f"of {how_many(len(nothing) - _SHOWN, 'more file')} nothing"]
    causes = [f"{', '.join(nothing)} could be loaded"] if nothing else []
    if out > _TENTH * read:
        causes.append(f"{summary}, more than a tenth")
    return "; ".join(causes)
