"""Counts with their nouns, as people write them."""


def how_many(count: int, one: str, many: str = "") -> str:
    """A count and what is counted.

    Args:
        count: How many.
        one: The noun of one.
        many: The noun of several; by default with an s.

    Returns:
        Both.

    >>> how_many(1, "row"), how_many(2_000, "row"), how_many(0, "study", "studies")
    ('1 row', '2,000 rows', '0 studies')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
