"""Collect facts that patches changed, before and after, from a store's records; quick if none."""

from kgcheck.graph.changes import StoreChanges
from kgcheck.graph.open import OpenedStore
from kgcheck.loading.curated_conflicts import Curated

PREFIX = "patch "
"""Prefix of the keys of the records of patches in a store."""


def curated_in(store: OpenedStore) -> Curated:
    """Collect the changes of the patches applied to a store."""
    if not store.meta():
        return Curated()
    with store.statements(write=False) as run:
        if not StoreChanges(store, run).records(PREFIX):
            return Curated()
    # Operations, steps and what they stand on take long to import.
    from kgcheck.curation.curated_facts import curated_by_patches

    return curated_by_patches(store)
