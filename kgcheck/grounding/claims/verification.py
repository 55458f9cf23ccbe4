"""Verify a claim or an edge by the papers of a Context, or map the claims of its papers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgcheck.agents.request import resolve_request
from kgcheck.context import Context, noting, open_verifier
from kgcheck.errors import UsageError
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.paper_claims import ClaimTable
from kgcheck.literature.judges import Judges, judge_of
from kgcheck.literature.search import to_read
from kgcheck.literature.verify import ClaimVerdict, verify
from kgcheck.llm.budget import Limits, spent_note, total_meter
from kgcheck.model import Triple
from kgcheck.options import VerifyOptions
from kgcheck.questions.resolver import Taken

if TYPE_CHECKING:
    from kgcheck.grounding.claims.claim_map import ClaimMap


@dataclass(frozen=True)
class VerifyResult:
    """Verdict of papers on a claim, with every opinion."""

    verdict: ClaimVerdict
    notes: tuple[str, ...] = ()
    taken: tuple[Taken, ...] = ()
    """Names of the edge that were taken for nodes."""


@dataclass(frozen=True)
class MapResult:
    """Claims of papers, and how they stand together."""

    map: "ClaimMap"
    notes: tuple[str, ...] = ()


def verify_claim(
    context: Context, claim: str = "", *, triple: str | Triple | None = None, options: VerifyOptions | None = None
) -> VerifyResult:
    """Verify a claim, or an edge instead, by papers, with exact quotes."""
    wanted = options or VerifyOptions()
    if bool(claim) == bool(triple):
        raise UsageError(
            "name a claim or an edge", 'kgcheck verify "..." or kgcheck verify --triple "HEAD RELATION TAIL"'
        )
    edge, taken = _edge_of(context, triple) if triple else (None, ())
    settings = context.settings.model_copy(update={"inference": None}) if edge else context.settings
    spent = total_meter(settings)
    with noting() as notes:
        index = context.index(notes)
        with open_verifier(wanted.verifier, index.embedder, settings, Limits.of(wanted), spent, notes) as reader:
            try:
                if edge:
                    judges = Judges([judge_of(wanted.verifier, reader)])
                    verdict = context.edge_reader(index, judges).read(edge)[0]
                else:
                    papers = to_read(claim, index, top=wanted.top, ids=wanted.documents)
                    verdict = verify(claim, papers, reader, strict=not wanted.paraphrases)
            finally:
                notes += spent_note(spent)
    return VerifyResult(verdict, tuple(notes), taken)


def map_papers(context: Context, papers: Sequence[str] = ()) -> MapResult:
    """Map the claims of all papers, kept in the ledger, which is made; show only what concerns some of them, by id."""
    # Only this needs what ranks papers.
    from kgcheck.grounding.claims.claim_map import map_claims

    with noting() as notes:
        index = context.index(notes)
        wanted = [document.paper_id for document in index.documents(papers)]
        heads = {document.id for document in index.documents(wanted)}
        with Ledger(context.ledger) as ledger:
            found = map_claims(index, ClaimTable(ledger.database), context.progress)
    return MapResult(found.for_papers(heads), tuple(notes))


def _edge_of(context: Context, edge: str | Triple) -> tuple[Triple, tuple[Taken, ...]]:
    """The edge that is meant, and the names in it that were taken for nodes."""
    if isinstance(edge, Triple):
        return edge, ()
    request = resolve_request([edge], context.resolver())
    if not request.relation or request.attribute:
        raise UsageError(f"{edge!r} is no edge", f"HEAD RELATION TAIL, for example {context.schema.edge_example}")
    task = request.task
    return Triple(head=task.subject, relation=request.relation, tail=task.object or task.subject), request.taken
