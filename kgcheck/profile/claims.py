"""ClaimForm: wording of a profile's edges as claims for papers, from `claims.toml`."""

import re
from functools import cache
from string import Formatter

from pydantic import AliasChoices, Field, field_validator

from kgcheck.model import Triple, Value
from kgcheck.profile.folder import part, profile_dir
from kgcheck.profile.schema import Schema
from kgcheck.profile.toml_files import read_value

_LONGEST = 1_000


class ClaimForm(Value):
    """Wording of the edges of one pattern."""

    relation: str
    head: str
    tail: str
    kind: str = Field(default="", description="kind of statement by which calibrations count, as disease-gene")
    claim: str = Field(max_length=_LONGEST)
    words: str = Field(default="", max_length=_LONGEST)
    # As the key was called in version 0.1.
    cues: tuple[str, ...] = Field(default=(), validation_alias=AliasChoices("cues", "says"))
    wider_cues: tuple[str, ...] = ()
    """Beginnings of further words that state the relation in a clause of the two; read in papers alone."""
    for_papers: bool = True

    @field_validator("claim")
    @classmethod
    def _names_both_ends(cls, claim: str) -> str:
        places = [part[1:] for part in Formatter().parse(claim) if part[1] is not None]
        # No form, and nothing of a name but itself: a claim may be somebody else's.
        if sorted(places, key=str) != [("head", "", None), ("tail", "", None)]:
            raise ValueError("a claim holds {head} and {tail}, once each, and no other place")
        return claim


class _Claims(Value):
    claims: tuple[ClaimForm, ...]


@cache
def load_claim_forms(profile: str) -> tuple[ClaimForm, ...]:
    """The claims of a profile."""
    path = part(profile_dir(profile), "claims.toml")
    return read_value(path, _Claims).claims if path.is_file() else ()


def plain_form(triple: Triple) -> ClaimForm:
    """Word an edge by the name of its relation alone, where a profile has no words for it.

    >>> from kgcheck.model import Ref
    >>> ends = {"head": Ref(label="Gene", id="a"), "tail": Ref(label="Disease", id="b")}
    >>> plain_form(Triple(**ends, relation="biolink:gene_associated_with_condition")).claim
    '{head} gene associated with condition {tail}.'
    """
    name = triple.relation.rpartition(":")[2]
    words = " ".join(re.sub(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z0-9]+", " ", name).split()).lower() or "relates to"
    ends = {"relation": triple.relation, "head": triple.head.label, "tail": triple.tail.label}
    return ClaimForm(**ends, claim=f"{{head}} {words[: _LONGEST // 2]} {{tail}}.", words=words[:_LONGEST])


def form_of(triple: Triple, schema: Schema) -> ClaimForm | None:
    """Return the wording of an edge, or None where papers are not searched for such edges."""
    wanted = (triple.head.label, triple.relation, triple.tail.label)
    forms = (form for form in load_claim_forms(schema.address) if form.for_papers)
    return next((form for form in forms if (form.head, form.relation, form.tail) == wanted), None)
