"""What a load warns of: files that may be cut, and those whose emptiness costs edges."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kgcheck.loading.lines import ends_whole
from kgcheck.loading.staging import Staging
from kgcheck.profile.import_files import NodeFile

if TYPE_CHECKING:
    from kgcheck.loading.load import FileCount


def cut_short(staging: Staging) -> Iterator[str]:
    """Files that may be cut inside their last line."""
    for name, path in staging.files.items():
        if not ends_whole(path):
            yield f"{name}: its last line has no line end: it may be cut inside its last field"


def costly(staging: Staging, files: "Iterable[FileCount]") -> Iterator[str]:
    """Labels of which the files have only headers, while edges that end there could not be loaded."""
    read, lost = Counter[str](), Counter[str]()
    of_label: dict[str, list[str]] = {}
    counts = {(f.file, f.target): f for f in files}
    for recipe in staging.recipe_files():
        count = counts[recipe.file, recipe.target]
        if isinstance(recipe, NodeFile):
            read[recipe.label] += count.read
            of_label.setdefault(recipe.label, []).append(recipe.file)
        else:
            lost[recipe.head] += count.quarantined.get("unknown_head", 0)
            lost[recipe.tail] += count.quarantined.get("unknown_tail", 0)
    for label, names in of_label.items():
        if not read[label] and lost[label]:
            yield f"{', '.join(names)}: no row but the header, and {lost[label]:,} edges end at a {label}"
