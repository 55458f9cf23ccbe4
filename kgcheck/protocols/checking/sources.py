"""The papers and data sets of a protocol again: retracted, misquoted, not there, or of something else."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from kgcheck.model import Value
from kgcheck.protocols.checking.remarks import StudyRemark, StudyRemarked, check_rules, remarked
from kgcheck.protocols.objective import Objective
from kgcheck.protocols.protocol import DataSetState, StudyDataSet, StudyPassage, StudyProtocol


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


DataSetLookup = Callable[[Sequence[str]], Iterable[StudyDataSet]]
"""The record of each of some ids; what could not be looked up is ``not_looked``, never ``missing``."""


def paper_remarks(protocol: StudyProtocol, world: PaperWorld | None) -> list[StudyRemarked]:
    """What became of the papers of a protocol."""
    standing = world.look(list(dict.fromkeys(p.paper for p in protocol.passages))) if world else {}
    resting = protocol.steps_by_ground()
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
    """Whether the data sets of a protocol exist, and fit its objective."""
    looked = {d.id: d for d in lookup([d.id for d in protocol.data_sets])} if lookup and protocol.data_sets else None
    resting = protocol.steps_by_ground()
    found = []
    for data_set in protocol.data_sets:
        now = data_set
        if looked is not None:
            now = looked.get(data_set.id) or StudyDataSet(id=data_set.id)
            if now.state == "not_looked":
                now = data_set.model_copy(
                    update={"state": now.state, "remark": now.remark or "it could not be looked up"}
                )
        steps = resting.get(data_set.id) or ("",)
        for remark in _of_data_set(now, data_set.state, protocol.objective, looked=looked is not None):
            found += [remark.model_copy(update={"step": step}) for step in steps]
    return found


def _of_data_set(
    now: StudyDataSet, before: DataSetState, objective: Objective, *, looked: bool
) -> Iterable[StudyRemarked]:
    common = {"about": now.id, "rests_on": " ".join(filter(None, (now.source, str(now.at or ""))))}
    where = now.repository or "its repository"
    match now.state:
        case "not_looked":
            note = f"{now.id}: {now.remark or 'nobody has looked it up'}"
            yield remarked(StudyRemark.DATA_SET_NOT_LOOKED, note, unavailable=looked, **common)
        case "not_shown":
            yield remarked(StudyRemark.DATA_SET_NOT_SHOWN, f"{now.id}: {where} shows none", **common)
            return
        case "missing":
            kind = StudyRemark.DATA_SET_GONE if before == "found" else StudyRemark.DATA_SET_MISSING
            yield remarked(kind, f"{now.id}: {now.remark or f'{where} has none'}", **common)
            return
        case "found":
            yield remarked(StudyRemark.DATA_SET_FOUND, f"{now.id}: {now.remark or now.title or 'found'}", **common)
    species = {s.casefold() for s in now.species}
    if species and objective.species.casefold() not in species:
        shown = ", ".join(now.species)
        yield remarked(StudyRemark.DATA_SET_OTHER_SPECIES, f"{now.id}: {shown}, and not {objective.species}", **common)
    has, wanted = _assays([now.assay]), _assays(objective.assays)
    if has and wanted and not has & wanted:
        shown = ", ".join(objective.assays)
        yield remarked(StudyRemark.DATA_SET_OTHER_ASSAY, f"{now.id}: {now.assay}, and not {shown}", **common)


def _assays(texts: Iterable[str]) -> set[str]:
    """Kinds of data that texts name, with those that they may stand for; none where no kind is known."""
    rules = check_rules()
    folded = [text.casefold() for text in texts]
    found = {kind for kind, words in rules.assays.items() for word in words for text in folded if word in text}
    return found | {other for kind in found for other in rules.assays_within.get(kind, ())}
