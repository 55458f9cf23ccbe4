"""SQL for the stance of a snapshot's link on an edge, and for the links that count.

The verdict on an edge looks at the links that count (kgcheck.evidence.edges). What tells many edges at once
(kgcheck.evidence.plain_support) asks for pairs all of whose links say the same, so that it matters to none which count.
"""

from kgcheck.model import Stance
from kgcheck.profile.catalogue import EdgeCheck

MAX_RECORDS_SHOWN = 3
"""Records of one source kept for one task and stance, the best first; signatures count no more."""


def stance(check: EdgeCheck) -> str:
    """SQL for what a link says, over its columns retracted, negated and score.

    One that rests on retracted papers is silent, also where it denies. A score just at the cut-off is enough, and so is
    no score at all.
    """
    weak = f"WHEN score < {check.threshold} THEN '{Stance.SILENT.value}' " if check.threshold is not None else ""
    return f"""CASE WHEN retracted THEN '{Stance.SILENT.value}' WHEN negated THEN '{Stance.CONTRADICTS.value}'
               {weak}ELSE '{Stance.SUPPORTS.value}' END"""


def counting(check: EdgeCheck, links: str) -> str:
    """A select of the links that count, out of all links of some tasks, each with its stance.

    A record that several releases state counts once, as the newest has it; and where order means nothing, so does a
    link that is stated in both orders. Of those, the best of each stance are kept.
    """
    best = "way NULLS FIRST, score DESC NULLS LAST, release_id DESC, record, said"
    by_record = f"""
    WITH by_record AS (
        SELECT * FROM ({links}) QUALIFY row_number() OVER (
            PARTITION BY task, negated, record ORDER BY recency DESC, {best}) = 1)"""
    chosen = f"""QUALIFY row_number() OVER (
        PARTITION BY task, stance, retracted ORDER BY {best}) <= {MAX_RECORDS_SHOWN}"""
    if check.match != "either_order":
        return f"{by_record} SELECT *, {stance(check)} AS stance FROM by_record {chosen}"
    return f"""
    {by_record}, placed AS (
        SELECT *, row_number() OVER (PARTITION BY task, negated, retracted, turned ORDER BY {best}) AS place
        FROM by_record
    ), unordered AS (
        SELECT *, {stance(check)} AS stance FROM placed QUALIFY row_number() OVER (
            PARTITION BY task, negated, retracted, place ORDER BY recency DESC, {best}) = 1
    )
    SELECT * EXCLUDE (place) FROM unordered {chosen}"""
