"""The papers and data sets of a protocol again: retracted, misquoted, not there, or of something else."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from kgcheck.errors import SourceError
from kgcheck.model import Value
from kgcheck.protocols.checking.remarks import StudyRemark, StudyRemarked, check_rules, remarked, steps_by_ground
from kgcheck.protocols.objective import Objective
from kgcheck.protocols.protocol import StudyDataSet, StudyPassage, StudyProtocol


class PaperStanding(Value):
    """What is known of a paper; ``text`` is empty where only its retraction could be looked up."""

    known: bool = False
    retracted: bool = False
    where: str = ""
    text: str = ""
    unavailable: str = ""


class PaperWorld(Protocol):
    """Where papers are looked up."""

    def look(self, papers: Sequence[str]) -> Mapping[str, PaperStanding]:
        """What is known of each paper, by the id as it was given."""


class DataSetLookup(Protocol):
    """Where data sets are looked up."""

    def look_up(self, ids: Sequence[str]) -> tuple[StudyDataSet, ...]:
        """The record of each id; what could not be looked up is ``not_looked``, never ``missing``."""


def paper_remarks(protocol: StudyProtocol, world: PaperWorld | None) -> list[StudyRemarked]:
    """What became of the papers of a protocol.

    Args:
        protocol: The protocol.
        world: Where they are looked up; without one, only what the protocol itself has of them is taken.

    Returns:
        A remark for each passage and step that rests on it; for a passage that no step names, one of its own.
    """
    standing = world.look(list(dict.fromkeys(p.paper for p in protocol.passages))) if world else {}
    resting = steps_by_ground(protocol)
    found = []
    for passage in protocol.passages:
        if world is None and not passage.retracted:
            continue
        for remark in _of_passage(passage, standing.get(passage.paper, PaperStanding())):
            found += [remark.model_copy(update={"step": step}) for step in resting.get(passage.id) or ("",)]
    return found


def _of_passage(passage: StudyPassage, paper: PaperStanding) -> Iterable[StudyRemarked]:
    named = f"{passage.id} of {passage.paper}"
    common = {"about": passage.id, "rests_on": paper.where}
    if paper.retracted or passage.retracted:
        yield remarked(StudyRemark.PAPER_RETRACTED, f"{named}: retracted", **common)
    elif paper.unavailable:
        yield remarked(StudyRemark.PAPER_UNAVAILABLE, f"{named}: {paper.unavailable}", unavailable=True, **common)
    elif not paper.known:
        yield remarked(StudyRemark.PAPER_UNKNOWN, f"{named}: not found", **common)
    else:
        yield remarked(StudyRemark.PAPER_STANDS, f"{named}: not retracted", **common)
    if paper.text and passage.quote not in paper.text:
        yield remarked(StudyRemark.QUOTE_DIFFERS, f"{named}: {passage.quote[:80]!r} is not in the paper", **common)


def data_set_remarks(protocol: StudyProtocol, lookup: DataSetLookup | None) -> list[StudyRemarked]:
    """Whether the data sets of a protocol exist, and fit its objective.

    Args:
        protocol: The protocol.
        lookup: Where they are looked up again; without one, what the protocol has of them is taken.

    Returns:
        A remark for each data set and step that names it.
    """
    now = {d.id: d for d in protocol.data_sets}
    failed = ""
    if lookup and now:
        try:
            # What comes back under another id was not asked for.
            now |= {d.id: d for d in lookup.look_up(list(now)) if d.id in now}
        except SourceError as error:
            failed = error.message
    resting = steps_by_ground(protocol)
    found = []
    for data_set in now.values():
        steps = resting.get(data_set.id) or ("",)
        for remark in _of_data_set(data_set, protocol.objective, failed, looked=lookup is not None):
            found += [remark.model_copy(update={"step": step}) for step in steps]
    return found


def _of_data_set(data_set: StudyDataSet, objective: Objective, failed: str, *, looked: bool) -> Iterable[StudyRemarked]:
    common = {"about": data_set.id, "rests_on": " ".join(filter(None, (data_set.source, str(data_set.at or ""))))}
    if failed or data_set.state == "not_looked":
        why = failed or data_set.remark or ("it could not be looked up" if looked else "nobody has looked it up")
        yield remarked(StudyRemark.DATA_SET_NOT_LOOKED, f"{data_set.id}: {why}", unavailable=looked, **common)
    elif data_set.state == "missing":
        yield remarked(
            StudyRemark.DATA_SET_MISSING, f"{data_set.id}: {data_set.repository or 'its repository'} has none", **common
        )
        return
    else:
        yield remarked(
            StudyRemark.DATA_SET_FOUND, f"{data_set.id}: {data_set.remark or data_set.title or 'found'}", **common
        )
    species = {s.casefold() for s in data_set.species}
    if species and objective.species.casefold() not in species:
        shown = ", ".join(data_set.species)
        yield remarked(
            StudyRemark.DATA_SET_OTHER_SPECIES, f"{data_set.id}: {shown}, and not {objective.species}", **common
        )
    has, wanted = _assays([data_set.assay]), _assays(objective.assays)
    if has and wanted and not has & wanted:
        shown = ", ".join(objective.assays)
        yield remarked(StudyRemark.DATA_SET_OTHER_ASSAY, f"{data_set.id}: {data_set.assay}, and not {shown}", **common)


def _assays(texts: Iterable[str]) -> set[str]:
    """Kinds of data that texts name, with those that they may stand for; none where no kind is known."""
    rules = check_rules()
    folded = [text.casefold() for text in texts]
    found = {kind for kind, words in rules.assays.items() for word in words for text in folded if word in text}
    return found | {other for kind in found for other in rules.assays_within.get(kind, ())}
