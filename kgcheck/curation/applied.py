"""Whether patches changed a store, found out with no more than that takes: most loads are of stores without any."""

from kgcheck.graph.changes import StoreChanges
from kgcheck.graph.open import OpenedStore
from kgcheck.loading.curated import Curated

PREFIX = "patch "
"""How the keys of what a store says of patches begin."""


def curated_in(store: OpenedStore) -> Curated:
    """What the patches that are applied to a store changed in it."""
    if not store.meta():
        return Curated()
    with store.statements(write=False) as run:
        if not StoreChanges(store, run).records(PREFIX):
            return Curated()
    # Operations, steps and what they stand on take long to import.
    from kgcheck.curation.reload import curated_by_patches

    return curated_by_patches(store)
