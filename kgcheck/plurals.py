"""Format a count with its noun, singular or plural."""


def how_many(count: int, one: str, many: str = "") -> str:
    """A count and what is counted.

    >>> how_many(1, "row"), how_many(2_000, "row"), how_many(0, "study", "studies")
    ('1 row', '2,000 rows', '0 studies')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
