"""Dev and test parts of a set: nobody who tunes on the one has seen what the other asks about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.bench.make import dev_and_test
from kgcheck.errors import UsageError


@given(st.lists(st.sets(st.integers(0, 400), min_size=1, max_size=2), min_size=1, max_size=60), st.integers(0, 5))
def test_no_entity_is_in_both_parts_and_no_item_is_lost(items: list[set[int]], seed: int) -> None:
    numbered = list(enumerate(items))
    try:
        dev, test = dev_and_test(numbered, lambda item: map(str, item[1]), seed=seed)
    except UsageError:
        return
    assert sorted([*dev, *test]) == numbered
    assert 1 <= len(dev) <= max(round(len(items) / 11), 1)
    assert not {e for _, names in dev for e in names} & {e for _, names in test for e in names}


def test_a_tenth_of_items_that_share_nothing_is_the_dev_part() -> None:
    dev, test = dev_and_test(list(range(698)), lambda n: [f"P{n}"])

    assert (len(dev), len(test)) == (63, 635)
    assert dev_and_test(list(range(698)), lambda n: [f"P{n}"]) == (dev, test)
    assert dev_and_test(list(range(698)), lambda n: [f"P{n}"], seed=1)[0] != dev


def test_items_that_all_share_an_entity_have_no_dev_part() -> None:
    with pytest.raises(UsageError, match="no dev part"):
        dev_and_test(list(range(50)), lambda n: ["P04637"])
