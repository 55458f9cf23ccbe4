"""Remarks on a protocol: by step, each with its state and what to do."""

from enum import StrEnum
from functools import cache

from pydantic import Field

from kgcheck.inputs import read_toml
from kgcheck.model import Value
from kgcheck.resources import resource_dir


class StudyState(StrEnum):
    """Severity of a remark, the worst first.

    ``fallen``: what a step rests on held when the protocol was made, and does not now. ``wrong``: the protocol
    contradicts itself, its sources or the world. ``lacking``: something should stand there. ``open``: nobody looked,
    or it could not be looked. ``holds``: it was looked, and it is right.
    """

    FALLEN = "fallen"
    WRONG = "wrong"
    LACKING = "lacking"
    OPEN = "open"
    HOLDS = "holds"


class StudyRemark(StrEnum):
    """Kinds of remarks. The one list; corpus/protocols/checks.toml has the state and the words of each."""

    FACT_REFUTED = "fact_refuted"
    FACT_UNVERIFIED = "fact_unverified"
    FACT_ID_OUTDATED = "fact_id_outdated"
    FACT_GONE = "fact_gone"
    FACT_FALSE = "fact_false"
    FACT_STALE = "fact_stale"
    FACT_UNDECIDED = "fact_undecided"
    FACT_NOT_LOOKED = "fact_not_looked"
    FACT_NOT_LOOKED_SINCE = "fact_not_looked_since"
    FACT_UNAVAILABLE = "fact_unavailable"
    FACT_VERIFIED = "fact_verified"
    FACT_AS_STATED = "fact_as_stated"

    PAPER_RETRACTED = "paper_retracted"
    PAPER_UNKNOWN = "paper_unknown"
    PAPER_UNAVAILABLE = "paper_unavailable"
    PAPER_STANDS = "paper_stands"
    QUOTE_DIFFERS = "quote_differs"

    DATA_SET_GONE = "data_set_gone"
    DATA_SET_MISSING = "data_set_missing"
    DATA_SET_NOT_SHOWN = "data_set_not_shown"
    DATA_SET_OTHER_SPECIES = "data_set_other_species"
    DATA_SET_OTHER_ASSAY = "data_set_other_assay"
    DATA_SET_NOT_LOOKED = "data_set_not_looked"
    DATA_SET_FOUND = "data_set_found"

    MADE_LATER = "made_later"
    IN_A_CIRCLE = "in_a_circle"
    NOT_MADE = "not_made"

    CONTROL_MISSING = "control_missing"
    STATISTICS_MISSING = "statistics_missing"
    CORRECTION_MISSING = "correction_missing"
    VERSION_MISSING = "version_missing"
    VERSION_DIFFERS = "version_differs"
    VERSION_NOT_IN_SOURCE = "version_not_in_source"
    PARAMETER_FAR = "parameter_far"
    PARAMETER_NOT_IN_SOURCE = "parameter_not_in_source"
    VALUE_UNUSUAL = "value_unusual"
    RATIONALE_DIFFERS = "rationale_differs"
    EVIDENCE_MISSING = "evidence_missing"

    FOLLOWS_FALLEN = "follows_fallen"


class RemarkWords(Value):
    """A remark for people: its state, what it means, and what to do."""

    state: StudyState
    means: str = Field(min_length=1)
    repair: str


class CheckRules(Value):
    """corpus/protocols/checks.toml."""

    remarks: dict[StudyRemark, RemarkWords]
    words: dict[str, tuple[str, ...]]
    assays: dict[str, tuple[str, ...]]
    assays_within: dict[str, tuple[str, ...]]
    far: float = Field(gt=1)
    units: dict[str, dict[str, float]]


@cache
def check_rules() -> CheckRules:
    """The rules of checks."""
    raw = read_toml(resource_dir("corpus") / "protocols" / "checks.toml")
    return CheckRules.model_validate(raw | {"far": raw.pop("parameters")["far"]})


class StudyRemarked(Value):
    """One remark. ``step`` is empty where it is about the protocol as a whole, or about what no step names."""

    remark: StudyRemark
    step: str = Field(default="", description="id of the step")
    about: str = Field(default="", description="id of the fact or passage, the accession, or the name it is about")
    note: str = Field(description="for people: what stands there and what was found, in one line")
    repair: str = Field(default="", description="what would put it right")
    finding: str = Field(default="", description="fingerprint of the finding that it rests on")
    rests_on: str = Field(default="", description="source, release and record, or the place where it was looked")
    steps: tuple[str, ...] = Field(default=(), description="other steps that it concerns")
    unavailable: bool = Field(default=False, description="it could not be looked: no verdict on the protocol")

    @property
    def state(self) -> StudyState:
        """Severity of the remark."""
        return check_rules().remarks[self.remark].state


def remarked(remark: StudyRemark, note: str, **more: object) -> StudyRemarked:
    """A remark with the usual repair, unless another one is given."""
    fields = {"repair": check_rules().remarks[remark].repair} | more
    return StudyRemarked.model_validate({"remark": remark, "note": note} | fields)
