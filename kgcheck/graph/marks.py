"""Property names that mark curated nodes and edges: retired, changed, when, and by whom.

Nothing is deleted when a fact is repaired. What is retired stays in the store with its mark, and every reader leaves it
out, with the edges of a retired node.
"""

from typing import Final

RETIRED: Final = "kgcheck_retired"
"""The finding for which a node or edge was retired."""

RETIRED_AT: Final = "kgcheck_retired_at"
"""Time of the retirement: ISO time, UTC."""

CHANGED: Final = "kgcheck_changed"
"""The finding for which a node or edge was changed or made."""

CHANGED_AT: Final = "kgcheck_changed_at"
"""Time of the change: ISO time, UTC."""

CHANGED_BY: Final = "kgcheck_changed_by"
"""By whom."""

MARKS: Final = (RETIRED, RETIRED_AT, CHANGED, CHANGED_AT, CHANGED_BY)
