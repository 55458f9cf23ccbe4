"""Values that are kept are not looked up again, and the others all at once."""

from kgcheck.caching import BatchCache


def test_what_is_not_kept_is_looked_up_at_once() -> None:
    asked: list[list[int]] = []

    def look_up(keys: list[int]) -> dict[int, str]:
        asked.append(keys)
        return {key: str(key) for key in keys if key > 0}

    cache = BatchCache[int, str](2)
    assert cache.get_many([1, 2, 1], look_up) == {1: "1", 2: "2"}
    assert cache.get_many([2, 3, -1], look_up) == {2: "2", 3: "3"}
    # A cache that is too small for one batch still gives all of it.
    assert cache.get_many([4, 5, 6], look_up) == {4: "4", 5: "5", 6: "6"}
    assert asked == [[1, 2], [3, -1], [4, 5, 6]]
    # The last two are kept; neither what they took the place of, nor that a key had no value.
    assert cache.get_many([6, 5, 4, -1], look_up) == {4: "4", 5: "5", 6: "6"}
    assert asked[3:] == [[4, -1]]
    # Of those, the one that was asked for longest ago has made room.
    assert cache.get_many([4, 5, 6], look_up) == {4: "4", 5: "5", 6: "6"}
    assert asked[4:] == [[6]]
