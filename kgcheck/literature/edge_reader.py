"""TripleReader: search papers for an edge, judge sentences that name both ends, give evidence."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import quote as quoted

from kgcheck.checks.calibration import Standing
from kgcheck.errors import BudgetExceeded, BudgetSpent, ModelAnswer, ModelContext, ModelUnavailable, UnknownName
from kgcheck.literature.documents import SOURCE, Document, Passage, Passages, Span
from kgcheck.literature.embed import Vectors
from kgcheck.literature.judges import Judges
from kgcheck.literature.names import Names
from kgcheck.literature.pairs import EdgeClaim
from kgcheck.literature.search import LiteratureIndex, SearchCache, SearchHit
from kgcheck.literature.verify import ClaimVerdict, Opinion
from kgcheck.model import INFORMS, SEARCH, Evidence, Reason, Ref, Stance, Tier, Triple, World
from kgcheck.plurals import how_many
from kgcheck.profile.claims import ClaimForm, form_of, load_claim_forms, plain_form
from kgcheck.profile.corpus_files import load_corpus_recipes
from kgcheck.profile.schema import Schema

_FOUND = 20
_READ = 8
_SHOWN = 20
_LONGEST = 1_000
_NAMES = 4
_PAPERS = 256


class TripleReader:
    """Asks the papers of an index about edges."""

    def __init__(self, index: LiteratureIndex, judges: Judges, names: Names, schema: Schema) -> None:
        self._index = index
        self.judges = judges
        self._names = names
        self.schema = schema
        # Many edges may cite one paper.
        self._paper = lru_cache(maxsize=_PAPERS)(self._whole)

    def claim(self, triple: Triple) -> EdgeClaim:
        return claim_of(triple, self._names, self.schema)

    def read(self, triple: Triple) -> tuple[ClaimVerdict, dict[str, Document]]:
        """Judge an edge by papers, and return those that were read."""
        return self._read(triple, self.claim(triple))[:2]

    def _read(
        self, triple: Triple, claim: EdgeClaim, vector: Vectors | None = None, cache: SearchCache | None = None
    ) -> tuple[ClaimVerdict, dict[str, Document], int]:
        found = [hit.document for hit in self._search(claim, vector, cache)]
        # Of a whole paper one paragraph speaks, the best that names both: it counts once.
        best: dict[str, Document] = {}
        for document in found:
            if document.paper_id not in best and any(map(claim.matches, document.passages)):
                best[document.paper_id] = document
        read = {document.id: document for document in list(best.values())[:_READ]}
        return self._judged(triple, claim, read.values()), read, len({d.paper_id for d in found})

    def _judged(self, triple: Triple, claim: EdgeClaim, documents: Iterable[Document]) -> ClaimVerdict:
        return self.judges.read(claim, documents, unlike=triple.head.label != triple.tail.label)

    def passages(self, triple: Triple) -> Passages:
        """The sentences of papers that name both ends of an edge and say such a thing, unread by any verifier."""
        claim = self.claim(triple)
        papers = {hit.document.id: hit.document for hit in self._search(claim)}
        found: list[Passage] = []
        retracted: list[str] = []
        for d in papers.values():
            spans = [(start, end) for start, end in d.spans if claim.matches(d.abstract[start:end])]
            if spans and d.retracted:
                retracted.append(d.paper_id)
                continue
            known = {"document": d.id, "title": d.title[:_LONGEST], "year": d.year, "url": address(d)}
            known |= {"section": d.section, "heading": d.heading}
            for start, end in spans:
                stop = min(end, start + _LONGEST)
                found.append(Passage(**known, start=start, end=stop, quote=d.abstract[start:stop]))
        return Passages(
            claim=claim.claim,
            release=_release(self._index),
            built_at=_built(self._index),
            passages=tuple(found[:_SHOWN]),
            retracted=tuple(dict.fromkeys(retracted)),
        )

    def _search(
        self, claim: EdgeClaim, vector: Vectors | None = None, cache: SearchCache | None = None
    ) -> list[SearchHit]:
        also = (*claim.head[1:_NAMES], *claim.tail[1:_NAMES], claim.words)
        return self._index.search(claim.claim, limit=_FOUND, also=also, every=True, vector=vector, cache=cache)

    def evidence(self, triple: Triple) -> tuple[Evidence, ...]:
        """Collect what papers say of an edge, as evidence of the tier `text` in an open world."""
        return self.evidence_of_many([triple]).get(triple, ())

    def evidence_of_many(
        self, triples: Iterable[Triple], failed: dict[Triple, str] | None = None
    ) -> dict[Triple, tuple[Evidence, ...]]:
        """Collect what papers say of edges, as `evidence` gives it; edges that have no words are left out.

        Those that no judge could be asked about go to `failed`, with why, where it is given, and are left out, too.
        """
        claims = self.claims(triples, plain=False)
        vectors, cache = self._index.embed([claim.claim for claim, _ in claims.values()]), SearchCache()
        found: dict[Triple, tuple[Evidence, ...]] = {}
        stopped = ""
        for (triple, (claim, relations)), vector in zip(claims.items(), vectors, strict=True):
            if failed is not None and stopped:
                failed[triple] = stopped
                continue
            try:
                found[triple] = self._evidence(triple, claim, relations, vector, cache)
            except (ModelAnswer, ModelContext, ModelUnavailable, BudgetExceeded) as error:
                if failed is None:
                    raise
                failed[triple] = error.message
                if isinstance(error, ModelUnavailable | BudgetSpent):
                    stopped = error.message
        return found

    def _evidence(
        self, triple: Triple, claim: EdgeClaim, relations: tuple[str, ...], vector: Vectors | None, cache: SearchCache
    ) -> tuple[Evidence, ...]:
        judged, read, looked = self._read(triple, claim, vector, cache)
        if spoken := sure_opinions(judged):
            return tuple(
                paper_evidence(self._index, o, read[o.document], self.judges.standing(o, relations)) for o in spoken
            )
        papers = how_many(self._index.manifest.papers, "paper")
        none = f"{len(read):,} of them on both, none says so clearly" if read else "none speaks of both"
        value = f"{looked:,} of {papers} looked at: {none}"
        return (self._silent(record=judged.claim, about=SEARCH, value=value),)

    def claims(
        self, triples: Iterable[Triple], *, plain: bool = True
    ) -> dict[Triple, tuple[EdgeClaim, tuple[str, ...]]]:
        """Edges in words, and the names of their relations in calibrations; without those whose ends have no name.

        A relation for which the profile has no words is worded by its name if ``plain``, else left out.
        """
        forms = {triple: form_of(triple, self.schema) or (plain_form(triple) if plain else None) for triple in triples}
        names = self._names.of_many(ref for triple in forms for ref in (triple.head, triple.tail))
        found: dict[Triple, tuple[EdgeClaim, tuple[str, ...]]] = {}
        for triple, form in forms.items():
            with suppress(UnknownName):
                if form:
                    found[triple] = _claim(triple, form, names), relation_names(triple, form)
        return found

    def retracted(self, papers: Iterable[str]) -> dict[str, Evidence]:
        """Evidence of each of some papers that the index knows to be retracted."""
        wanted = set(papers)
        marked = {paper for paper in wanted if (document := self._paper(paper)) and document.retracted}
        gone = marked | self._index.store.retracted(wanted)
        return {paper: self._silent(record=paper, value="a retracted publication") for paper in gone}

    def ids_of(self, paper: str) -> tuple[str, ...]:
        """All ids of a paper that the index knows."""
        document = self._paper(paper)
        return document.ids if document else ()

    def citation(self, triple: Triple, claim: EdgeClaim, relations: tuple[str, ...], paper: str) -> Evidence | None:
        """Judge an edge by one paper that it cites; None where the index does not have it."""
        document = self._paper(paper)
        if document is None:
            return None
        # A model is not paid for a paper that has no such sentence.
        if any(map(claim.matches, document.passages)):
            for opinion in sure_opinions(self._judged(triple, claim, [document])):
                weight = self.judges.standing(opinion, relations)
                found = paper_evidence(self._index, opinion, document, weight)
                if opinion.stance is Stance.CONTRADICTS:
                    return found.model_copy(update={"reason": Reason.CITATION_DENIES})
                return found if weight.decides else found.model_copy(update={"reason": Reason.CITATION_UNPROVEN})
        unnamed = claim.unnamed_in(document.text)
        lacking = f"; it does not name {' nor '.join(unnamed)}" if unnamed else ""
        at_hand = "" if document.paragraph else "; its abstract alone is at hand"
        return self._silent(
            record=document.id,
            value=f"{document.title[:_LONGEST]}{lacking}{at_hand}",
            url=address(document),
            reason=Reason.CITATION_OFF_TOPIC if unnamed else Reason.CITATION_SILENT,
        )

    def _whole(self, paper: str) -> Document | None:
        """A paper as one document, its paragraphs with it where they are at hand; numbered as the last of them is."""
        parts = self._index.parts(paper)
        if len(parts) < 2:
            return next(iter(parts), None)
        spans, text = list[Span](), ""
        for part in parts:
            spans += [(len(text) + start, len(text) + end) for start, end in part.spans]
            text += f"{part.abstract}\n\n"
        whole = {"abstract": text, "paragraph": parts[-1].paragraph}
        return Document(**parts[0].model_dump() | whole).with_spans(tuple(spans))

    def _silent(self, **fields: Any) -> Evidence:
        return Evidence(
            source=SOURCE,
            release=_release(self._index),
            retrieved_at=_built(self._index),
            stance=Stance.SILENT,
            world=World.OPEN,
            tier=Tier.TEXT,
            **fields,
        )


def claim_of(triple: Triple, names: Names, schema: Schema) -> EdgeClaim:
    """An edge in words; UnknownName where none are known for it, or for one of its ends."""
    form = form_of(triple, schema)
    if form is None:
        known = [f"{f.head} {f.relation} {f.tail}" for f in load_claim_forms(schema.address) if f.for_papers]
        pattern = f"{triple.head.label} {triple.relation} {triple.tail.label}"
        raise UnknownName("claim", pattern, known, f"papers can be asked about: {'; '.join(known)}")
    return _claim(triple, form, names.of_many((triple.head, triple.tail)))


def _claim(triple: Triple, form: ClaimForm, names: Mapping[Ref, tuple[str, ...]]) -> EdgeClaim:
    head, tail = names.get(triple.head, ()), names.get(triple.tail, ())
    for ref, known in ((triple.head, head), (triple.tail, tail)):
        if not known:
            raise UnknownName("name", str(ref), [], "neither the graph nor the snapshot knows what it is called")
    claim = form.claim.format(head=head[0], tail=tail[0])
    return EdgeClaim(claim, head, tail, form.words, form.cues + form.wider_cues)


def sure_opinions(judged: ClaimVerdict) -> list[Opinion]:
    """Opinions on an edge that take a side."""
    return [o for o in judged.opinions if o.stance is not Stance.SILENT]


def address(document: Document) -> str:
    """Return the address at which a paper can be read, or nothing."""
    for recipe in load_corpus_recipes():
        if recipe.url_template and document.paper_id.startswith(recipe.prefix or "\0"):
            return recipe.url_template.replace("{id}", quoted(document.paper_id.removeprefix(recipe.prefix), safe=""))
    return ""


def relation_names(triple: Triple, form: ClaimForm) -> tuple[str, ...]:
    """Names of an edge's relation in calibrations, the narrowest first."""
    pattern = f"{triple.head.label} {triple.relation} {triple.tail.label}"
    return (pattern, form.kind) if form.kind else (pattern,)


def paper_evidence(
    index: LiteratureIndex, opinion: Opinion, document: Document, weight: Standing | None = None
) -> Evidence:
    """Return an opinion on a paper as evidence; one that only informs decides nothing."""
    return Evidence(
        source=SOURCE,
        release=_release(index),
        record=document.id,
        url=address(document),
        retrieved_at=_built(index),
        stance=opinion.stance,
        world=World.OPEN,
        tier=Tier.TEXT,
        value=document.title or None,
        quote=opinion.quotes[0].text if opinion.quotes else None,
        score=round(opinion.probability, 3),
        about="fact" if weight is None or weight.decides else INFORMS,
        weight=str(weight or ""),
    )


def _built(index: LiteratureIndex) -> datetime:

    return datetime.fromisoformat(index.manifest.built_at).astimezone(UTC)


def _release(index: LiteratureIndex) -> str:
    return f"index of {index.manifest.papers} documents, {index.manifest.built_at[:10]}"
