"""PaperSupport: check a manuscript's claims against the papers of an index, with quotes.

Only sentences that claim something are looked up: in the abstract, results and discussion, with names, or with a
number and a comparison. The manuscript itself never speaks for itself, whatever index holds it, and a retracted paper
never counts.
"""

import re
from collections.abc import Sequence

from kgcheck.errors import MissingExtra
from kgcheck.grounding.facts.check import may_state
from kgcheck.grounding.facts.named import NameTable, statement_words, without_marks
from kgcheck.grounding.manuscript import Manuscript, Sentence
from kgcheck.grounding.remarks import Remark, Remarked
from kgcheck.literature.arguments import arguments, missing
from kgcheck.literature.documents import Document, fingerprint_text
from kgcheck.literature.edge_reader import paper_evidence
from kgcheck.literature.judges import SURE_ENOUGH
from kgcheck.literature.roles import asks_only
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.verify import Verifier, verify
from kgcheck.model import Stance

try:
    from rapidfuzz import fuzz
except ImportError as error:
    raise MissingExtra("comparing titles", "grounding") from error

MOST_SENTENCES = 40  # sentences of a manuscript that are looked up where no other bound is given
_LOOKED = 20  # texts that are looked at for a sentence
_READ = 3  # papers that are read for a sentence: those that name all that it does
_SAME_TITLE = 95  # from which likeness in per cent on two titles are of one paper
_SECTIONS = ("abstract", "conclusion", "discussion", "results")  # sections that are looked at, the first one first
_WORDS = 6
# Pattern of mentions of figures, not in brackets: such a sentence tells what is to be seen there.
_POINTS = re.compile(r"\b(?:Figs?|Figures?|Tables?|Movie|Video|Text S|Dataset)\b(?![^()]*\))")
_NAMED = ("name", "label")
_NAMES = 2
_NUMBER = re.compile(r"(?<![\w.])\d")
_COMPARES = re.compile(
    r"\b(?:than|versus|vs|compared|increas\w+|decreas\w+|reduc\w+|higher|lower|greater|fewer|significant\w*|ratio)\b"
)
_REMARKS = {
    Stance.SUPPORTS: (Remark.PAPERS_SUPPORT, "support it"),
    Stance.CONTRADICTS: (Remark.PAPERS_CONTRADICT, "say otherwise"),
    Stance.SILENT: (Remark.PAPERS_SILENT, "say so or deny it"),
}


class PaperSupport:
    """Check of what sentences claim against the papers of an index."""

    def __init__(
        self, index: LiteratureIndex, verifier: Verifier, names: NameTable | None = None, most: int = MOST_SENTENCES
    ) -> None:
        self._index, self._verifier, self._names, self._most = index, verifier, names, most

    def remarks(self, manuscript: Manuscript) -> list[Remarked]:
        """Search papers for each sentence that claims something."""
        claiming = sorted(claims_of(manuscript)[: self._most], key=lambda s: s.number)
        things = self._names.things(manuscript) if self._names and claiming else {}
        synonyms = self._names.synonyms(things) if self._names else {}
        return [self._remark(sentence, manuscript, synonyms.get(sentence.number, ())) for sentence in claiming]

    def unsearched(self, manuscript: Manuscript) -> str:
        """Describe how many claiming sentences papers are not searched for; empty if none."""
        count = len(claims_of(manuscript))
        return f"for {count - self._most} of {count} sentences that claim something" if count > self._most else ""

    def _remark(self, sentence: Sentence, manuscript: Manuscript, synonyms: Sequence[tuple[str, ...]]) -> Remarked:
        claim = " ".join(without_marks(sentence.text).split())
        found = [hit.document for hit in self._index.search(claim, limit=_LOOKED, every=True)]
        others = [d for d in found if not d.retracted and not is_itself(manuscript, d)]
        read: dict[str, Document] = {}
        for document in others:
            # What does not name all that the claim is about is silent, whoever reads it.
            is_new = len(read) < _READ and document.paper_id not in read
            if is_new and not missing(claim, [document.abstract], document.abstract, synonyms):
                read[document.paper_id] = document
        judged = verify(claim, read.values(), self._verifier, synonyms)
        papers = {document.id: document for document in read.values()}
        # What a journal puts into every paper, word by word, claims nothing.
        spoken = [
            opinion
            for opinion in judged.opinions
            if opinion.stance is judged.stance is not Stance.SILENT
            and opinion.probability >= SURE_ENOUGH
            and not any(_same_text(quote.text, claim) for quote in opinion.quotes)
        ]
        remark, spoke = _REMARKS[judged.stance if spoken else Stance.SILENT]
        evidence = tuple(paper_evidence(self._index, o, papers[o.document]) for o in spoken)
        looked = len({d.paper_id for d in others})
        return Remarked(
            remark=remark,
            sentence=sentence.number,
            end=len(sentence.text),
            note=f"of {looked} papers that were looked at, {len(evidence) or 'none'} {spoke}",
            stated=claim[:500],
            found=(evidence[0].quote or "")[:500] if evidence else "",
            evidence=evidence,
        )


def claims_of(manuscript: Manuscript) -> list[Sentence]:
    """The sentences that claim something, those of the abstract first."""
    found = [s for s in manuscript.sentences if s.section in _SECTIONS and may_state(manuscript, s) and _claims(s.text)]
    return sorted(found, key=lambda s: (_SECTIONS.index(s.section), s.number))


def _same_text(one: str, other: str) -> bool:
    return fuzz.ratio(fingerprint_text(one), fingerprint_text(other)) >= _SAME_TITLE


def _claims(text: str) -> bool:
    plain = without_marks(text)
    words = re.findall(r"[\w-]+", plain.lower())
    if len(words) < _WORDS or _POINTS.search(plain) or plain.rstrip().endswith("?") or asks_only(plain):
        return False
    if any(statement_words().clouding.match(word) for word in words[:4]):
        return False
    if _NUMBER.search(plain) and _COMPARES.search(plain.lower()):
        return True
    return sum(argument.kind in _NAMED for argument in arguments(plain)) >= _NAMES


def is_itself(manuscript: Manuscript, document: Document) -> bool:
    """Tell whether a document is the manuscript, or a part of it, by one of its ids or by its title."""
    own = {_bare_id(name) for name in manuscript.ids}
    if own & {_bare_id(name) for name in (*document.ids, document.paper_id)}:
        return True
    titles = manuscript.title, document.title
    return all(map(fingerprint_text, titles)) and _same_text(*titles)


def _bare_id(name: str) -> str:
    """An id in one form: without the address, the prefix and the number of a paragraph."""
    return re.sub(r"^(?:https?://(?:dx\.)?doi\.org/|doi:|pmid:|pmcid:)\s*", "", name.casefold().partition("#")[0])
