"""Look-ups of one UniProt entry, id lifecycle or STRING pair, in snapshot or live, for display.

They go through the same source as checks, so that what is shown is what a verdict would rest on. A source that cannot
be looked at is `not_available`, never `nothing_found`.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from kgcheck.evidence.source import SnapshotSource, Stated
from kgcheck.model import CheckTask, CheckType, Evidence, Gap, Reason, Ref, Stance, Value
from kgcheck.profile.catalogue import STATE_REASONS
from kgcheck.profile.reference_files import NETWORKS, UNIPROT, NetworkType
from kgcheck.profile.schema import Pattern, Schema

if TYPE_CHECKING:
    from kgcheck.providers.uniprot_entry import UniProtEntry
    from kgcheck.reference.live import LiveReference

Status = Literal["found", "nothing_found", "not_available"]

MOST_LISTED = 50
"""Ids of one kind that an entry shows."""

_MOST_TEXT = 1_000

_STATES = {reason: state.value for state, reason in STATE_REASONS.items() if state.value != "dropped"}

_WHY = {
    Reason.REFERENCE_MISSING: "no source that holds it was given: name a snapshot, or ask live",
    Reason.NOT_COVERED: "the snapshot does not cover it, so that its silence says nothing",
    Reason.SOURCE_UNAVAILABLE: "the service could not be asked",
    Reason.SOURCE_REFUSED: "the service does not take the question",
    Reason.UNMAPPED_IDENTIFIER: "the source does not map an id, so that its silence says nothing",
    Reason.MALFORMED_ID: "an id of this form cannot exist",
}


class LookupResult(Value):
    """Result of a look-up, and its source. ``nothing_found`` is only said where the source was looked at."""

    status: Status
    reason: Reason | None = Field(default=None, description="why nothing is shown")
    why: str = ""
    source: str = ""
    release: str = ""
    url: str = ""
    retrieved_at: datetime | None = None


class LifecycleResult(LookupResult):
    """Lifecycle of an accession: its state and its replacements."""

    accession: str
    state: str | None = None
    detail: str | None = None
    replacements: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()


class LinkedIds(Value):
    """Ids that an entry is linked with, and how many there are."""

    ids: tuple[str, ...]
    count: int


class Involved(Value):
    """A disease as an entry names it."""

    name: str
    pubmed_ids: tuple[str, ...] = ()


class EntryResult(LookupResult):
    """UniProt's entry of a protein. Diseases, tissues and papers are there live only."""

    accession: str
    state: str | None = None
    replacements: tuple[str, ...] = ()
    values: dict[str, tuple[str, ...]] = Field(default={}, description="current values by attribute")
    other_names: tuple[str, ...] = Field(default=(), description="synonyms and former values")
    links: dict[str, LinkedIds] = Field(default={}, description="ids by relation")
    organism: str | None = None
    diseases: tuple[Involved, ...] = ()
    tissues: tuple[str, ...] = ()
    pubmed_ids: tuple[str, ...] = ()


class PairResult(LookupResult):
    """STRING's link between two proteins, if any. The channels are there live only."""

    one: str
    other: str
    network: NetworkType
    score: float | None = None
    threshold: float | None = Field(default=None, description="what a check takes for a link")
    record: str = ""
    channels: dict[str, float] = {}


class SourceLookups:
    """Look-ups in a snapshot, and in the services over it where there are any."""

    def __init__(self, source: SnapshotSource, schema: Schema, live: "LiveReference | None" = None) -> None:
        self._source = source
        self._live = live
        issued = [x for x in schema.labels if x.authority.source == UNIPROT and not x.site]
        self._protein = issued[0] if issued else None
        self._patterns: dict[str, Pattern] = {
            check.source: p for p in reversed(schema.relations) for check in p.checks if check.source in NETWORKS
        }

    def lifecycle(self, accession: str) -> LifecycleResult:
        if refused := self._refused(accession):
            return LifecycleResult(accession=accession, **refused)
        task = CheckTask(type=CheckType.EXISTENCE, subject=self._ref(accession))
        evidence, gaps = self._source.observe(task)
        observed = next((e for e in evidence if e.source == UNIPROT), None)
        if observed is None:
            return LifecycleResult(accession=accession, **self._gap(UNIPROT, gaps))
        state = _STATES.get(observed.reason or Reason.CONFIRMED)
        if observed.stance is Stance.SILENT or state is None:
            lacking = {"status": "nothing_found", "reason": observed.reason or Reason.UNKNOWN_ID}
            return LifecycleResult(accession=accession, **lacking, **_place(observed))
        return LifecycleResult(
            accession=accession,
            status="found",
            state=state,
            detail=observed.value[:_MOST_TEXT] if observed.value else None,
            replacements=observed.replacements,
            candidates=observed.candidates,
            **_place(observed),
        )

    def entry(self, accession: str) -> EntryResult:
        # What the services brought for an entry is there until the next look-up.
        with self._source.turn:
            life = self.lifecycle(accession)
            known = life.model_dump(exclude={"detail", "candidates"})
            if life.reason is Reason.MALFORMED_ID or life.state not in (None, "current") or self._protein is None:
                return EntryResult(**known)
            stated = self._source.stated(UNIPROT, self._protein.base_id(accession))
            if not stated.values and not stated.links:
                if life.state is None:
                    return EntryResult(**known)
                missing = {"status": "not_available", "reason": Reason.NOT_COVERED, "why": _WHY[Reason.NOT_COVERED]}
                return EntryResult(**(known | missing))
            if life.state is None:
                where = {"source": UNIPROT, "release": stated.release, "url": stated.url, "retrieved_at": stated.at}
                known |= {"status": "found", "reason": None, "why": "", **where}
            entry = self._live.entry_of(accession) if self._live else None
            return EntryResult(**known, **_shown(stated), **(_only_live(entry) if entry else {}))

    def pair(self, one: str, other: str, network: NetworkType = "functional") -> PairResult:
        with self._source.turn:
            source = next(name for name, kind in NETWORKS.items() if kind == network)
            pattern = self._patterns.get(source)
            request: dict[str, Any] = {"one": one, "other": other, "network": network}
            for accession in (one, other):
                if refused := self._refused(accession):
                    return PairResult(**request, **refused)
            if pattern is None:
                return PairResult(**request, **self._gap(source, ()))
            check = next(c for c in pattern.checks if c.source == source)
            head, tail = self._ref(one), self._ref(other)
            task = CheckTask(type=CheckType.TRIPLE, subject=head, relation=pattern.type, object=tail)
            evidence, gaps = self._source.observe(task)
            observed = next((e for e in evidence if e.source == source and e.about == "fact"), None)
            if observed is None:
                return PairResult(**request, **self._gap(source, gaps))
            if observed.reason is Reason.UNMAPPED_IDENTIFIER:
                why = observed.value or _WHY[Reason.UNMAPPED_IDENTIFIER]
                lacking = {"status": "not_available", "reason": observed.reason, "why": why}
                return PairResult(**request, **lacking, **_place(observed))
            shown = {**request, **_place(observed), "threshold": check.threshold, "record": observed.record}
            if observed.score is None:
                return PairResult(**shown, status="nothing_found")
            channels = self._live.channels(observed.record, network) if self._live else {}
            return PairResult(**shown, status="found", score=observed.score, channels=channels)

    def _ref(self, accession: str) -> Ref:
        return Ref(label=self._protein.name if self._protein else "", id=accession)

    def _refused(self, accession: str) -> dict[str, Any]:
        if self._protein is None:
            return self._gap(UNIPROT, ())
        if not self._protein.matches(accession):
            why = f"an accession looks like {self._protein.id_example}"
            return {"status": "nothing_found", "reason": Reason.MALFORMED_ID, "why": why}
        return {}

    def _gap(self, source: str, gaps: tuple[Gap, ...]) -> dict[str, Any]:
        reason = next((gap.cause for gap in gaps if gap.source == source), Reason.REFERENCE_MISSING)
        why = _WHY.get(reason, "")
        if self._live and reason in (Reason.SOURCE_UNAVAILABLE, Reason.SOURCE_REFUSED):
            why = (self._live.refusals if reason is Reason.SOURCE_REFUSED else self._live.failures).get(source, why)
        return {"status": "not_available", "reason": reason, "why": why, "source": source}


def _place(observed: Evidence) -> dict[str, Any]:
    return {name: getattr(observed, name) for name in ("source", "release", "url", "retrieved_at")}


def _shown(stated: Stated) -> dict[str, Any]:
    values: dict[str, list[str]] = {}
    others: dict[str, None] = {}
    for attribute, value, status in stated.values:
        # Residues say nothing to a reader, and have thousands of characters.
        if attribute == "sequence":
            continue
        if status == "current":
            values.setdefault(attribute, []).append(value[:_MOST_TEXT])
        else:
            others.setdefault(value[:_MOST_TEXT])
    links: dict[str, list[str]] = {}
    for relation, identifier in stated.links:
        links.setdefault(relation, []).append(identifier)
    return {
        "values": {name: known[:MOST_LISTED] for name, known in values.items()},
        "other_names": list(others)[:MOST_LISTED],
        "links": {name: {"ids": ids[:MOST_LISTED], "count": len(ids)} for name, ids in links.items()},
    }


def _only_live(entry: "UniProtEntry") -> dict[str, Any]:
    # Not at the top: a check without live sources has no use for what reads entries.
    from kgcheck.providers.uniprot_entry import pubmed_ids

    diseases = [c.disease for c in entry.comments_of("DISEASE") if c.disease]
    tissues = [t.value for c in entry.comments_of("TISSUE SPECIFICITY") for t in c.texts]
    return {
        "organism": entry.organism.scientific_name if entry.organism else None,
        "diseases": [
            {"name": d.disease_id[:_MOST_TEXT], "pubmed_ids": pubmed_ids(d.evidences)[:MOST_LISTED]}
            for d in diseases[:MOST_LISTED]
        ],
        "tissues": [t[:_MOST_TEXT] for t in tissues[:MOST_LISTED]],
        "pubmed_ids": entry.pubmed_ids[:MOST_LISTED],
    }
