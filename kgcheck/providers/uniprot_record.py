"""What became of an accession, as an entry or what is left of it tells."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from kgcheck.errors import SourceAnswer
from kgcheck.providers.uniprot_entry import UniProtEntry


class Life(StrEnum):
    """What became of an accession."""

    ACTIVE = "active"
    MERGED = "merged"
    DEMERGED = "demerged"
    DELETED = "deleted"
    UNKNOWN = "unknown"
    MALFORMED = "malformed"


class Record(NamedTuple):
    """What UniProt says of one accession.

    ``entry`` is there for an active one. ``successors`` are the entries that a merged one went into, or that a demerged
    one was split into.
    """

    accession: str
    life: Life
    release: str
    url: str
    retrieved_at: datetime
    entry: UniProtEntry | None = None
    successors: tuple[str, ...] = ()
    reason: str = ""
    uniparc: str = ""


def record_of_entry(entry: UniProtEntry, release: str, url: str, retrieved_at: datetime) -> Record:
    """What an entry says of its own accession.

    Args:
        entry: Active or not.
        release: The release that it is of.
        url: Where it was found.
        retrieved_at: When.

    Returns:
        The record.

    Raises:
        SourceAnswer: It does not say what became of it.
    """
    accession, reason = entry.primary_accession, entry.inactive_reason
    uniparc = entry.extra_attributes.uni_parc_id
    told = Record(accession, Life.ACTIVE, release, url, retrieved_at, entry, uniparc=uniparc)
    if reason is None:
        if entry.entry_type == "Inactive":
            raise SourceAnswer(f"{url} does not say why {accession} is inactive")
        return told
    gone = told._replace(entry=None, successors=reason.merge_demerge_to, reason=reason.deleted_reason)
    match reason.inactive_reason_type:
        case "MERGED" if len(reason.merge_demerge_to) == 1:
            return gone._replace(life=Life.MERGED)
        case "DEMERGED" | "MERGED" if reason.merge_demerge_to:
            return gone._replace(life=Life.DEMERGED)
        case "DELETED":
            return gone._replace(life=Life.DELETED, successors=())
        case other:
            raise SourceAnswer(f"{url} says that {accession} is inactive for an unknown reason: {other!r}")
