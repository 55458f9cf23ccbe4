"""Render a grounded or scored manuscript, and a map of papers' claims: tables, JSON, Markdown and HTML."""

from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from kgcheck.grounding.remarks import Remark, Remarked, SentenceState, state_of
from kgcheck.literature.documents import place_of as place_in_paper
from kgcheck.plurals import how_many
from kgcheck.report.documents import page
from kgcheck.report.safe_console import RowTable, cell
from kgcheck.visible import as_json, visible

if TYPE_CHECKING:
    from kgcheck.grounding.claims.claim_map import ClaimMap
    from kgcheck.grounding.ground import Grounded
    from kgcheck.grounding.score import ScoreCard

# Every state in plain words, in the order of reports.
STATES: dict[SentenceState, str] = {
    SentenceState.CONTRADICTED: "The graph, papers, the results or the reference itself say otherwise.",
    SentenceState.UNSUPPORTED: "It was looked, and nothing says so.",
    SentenceState.SUPPORTED: "Papers say so, or the text's own results.",
    SentenceState.VERIFIED: "The audited graph or the canonical results hold it.",
    SentenceState.NOT_CHECKABLE: "It states nothing that could be looked up.",
}
_MARKS = {SentenceState.CONTRADICTED: "red", SentenceState.UNSUPPORTED: "yellow"}


def rendered(found: "Grounded", form: str) -> str:
    """Render what was found."""
    if form == "json":
        return as_json(found.as_row(), indent=2) + "\n"
    text, at = found.manuscript, found.remarks_at
    blocks: list[dict[str, Any]] = [{"block": block, "sentences": []} for block in text.blocks]
    for sentence in text.sentences:
        remarks = at.get(sentence.number, [])
        row = {"sentence": sentence, "state": state_of(remarks), "remarks": remarks}
        blocks[sentence.block]["sentences"].append(row)
    entries: dict[int | str, int] = {r.key: place for place, r in enumerate(text.references, 1)}
    content = {
        "found": found,
        "text": text,
        "blocks": blocks,
        "references": [
            {"work": r, "state": state_of(at.get(r.key, ())), "remarks": at.get(r.key, [])} for r in text.references
        ],
        "alarms": [
            {"remarked": r, "place": place_of(found, r), "words": _words(found, r), "entry": entries.get(r.place, 0)}
            for r in alarms(found)
        ],
        "summary": _summary(found),
        "states": STATES,
    }
    return page("ground", form, own="ground", **content)


def alarms(found: "Grounded") -> list[Remarked]:
    """The remarks that somebody should look at, what is contradicted first; then in the order of the text."""
    # That an index has no paper about something is worth no alarm.
    shown = [r for r in found.remarks if (r.state in _MARKS and r.remark is not Remark.PAPERS_SILENT) or r.unavailable]
    return sorted(shown, key=lambda r: (r.state is not SentenceState.CONTRADICTED, r.unavailable))


def place_of(found: "Grounded", remarked: Remarked) -> str:
    """Name the place of a remark, for people."""
    if remarked.sentence is None:
        return f"reference {remarked.reference}"
    sentence = found.manuscript.sentences[remarked.sentence - 1]
    line = found.manuscript.blocks[sentence.block].line
    return f"line {line}" if line else f"{sentence.section}, sentence {remarked.sentence}"


def ground_table(found: "Grounded") -> RenderableType:
    """States, measures, and every remark that somebody should look at, for the terminal."""
    rows = []
    for remarked in alarms(found):
        state = "could not look" if remarked.unavailable else remarked.state.value.replace("_", " ")
        shown = cell(state, _MARKS.get(remarked.state, ""))
        rows.append((place_of(found, remarked), shown, remarked.words, _words(found, remarked)))
    table = RowTable(("where", "state", "what", "words"), rows, keys=("where", "state"))
    return Group(*(Text(line) for line in _summary(found)), *((table,) if rows else ()))


def score_table(card: "ScoreCard") -> RenderableType:
    """A score by dimension and tier, for the terminal; what is missing is a dash."""
    figures = ("judge", "corpus", "counted", "of what is there", "score")
    rows = []
    for name, d in card.dimensions.items():
        values = ("-" if f is None else f"{f:.1f}" for f in (d.judged, d.corpus, d.surface, d.partial, d.score))
        rows.append((name.replace("_", " "), *values, d.judgement.advice if d.judgement else ""))
    table = RowTable(("dimension", *figures, "advice"), rows, keys=("dimension",), numbers=figures)
    overall = "none" if card.overall is None else f"{card.overall:.1f}, grade {card.grade}"
    penalty = "none" if card.penalty is None else f"{card.penalty:.2f}"
    return Group(table, Text(f"overall {overall}; penalty {penalty}"))


def _summary(found: "Grounded") -> list[str]:
    text = found.manuscript
    there = [state for state in STATES if found.states[state]]
    states = ", ".join(f"{found.states[state]:,} {state.value.replace('_', ' ')}" for state in there)
    measures = {
        "citations out of range": found.citations.out_of_range,
        "citation coverage": found.citations.coverage,
        "hallucination penalty": found.penalty,
    }
    known = [f"{name} {value:.2f}" for name, value in measures.items() if value is not None]
    return [
        f"{visible(text.title or text.name)}: {how_many(len(text.sentences), 'sentence')}"
        f"{f' ({states})' if states else ''}, {how_many(len(text.references), 'reference')}",
        *([", ".join(known)] if known else []),
    ]


def _words(found: "Grounded", remarked: Remarked) -> str:
    """The words that a remark is about, or the beginning of its sentence or reference."""
    whole = found.text_of(remarked)
    words = whole[remarked.start : remarked.end] or whole
    return words if len(words) <= 80 else f"{words[:80]}..."


def claims_table(mapped: "ClaimMap") -> RenderableType:
    """The papers by PageRank with their claims."""
    rows: list[tuple[str, ...]] = []
    for paper in mapped.papers:
        title = f"{'RETRACTED ' * paper.retracted}{paper.id} {paper.title}"
        about = (title, str(paper.year or ""), f"{paper.rank.pagerank:.4f}", str(paper.rank.cited))
        for number, claim in enumerate(paper.claims):
            begins = about if number == 0 else ("", "", "", "")
            rows.append((*begins, place_in_paper(claim.section, claim.heading), claim.quote))
        if not paper.claims:
            rows.append((*about, "", ""))
    columns = ("paper", "year", "PageRank", "cited", "section", "claim")
    return RowTable(columns, rows, keys=("year",), numbers=("PageRank", "cited"))


def agreement_table(mapped: "ClaimMap") -> RenderableType:
    """Consensus and disagreement, with the quotes of all sides."""
    rows = []
    for number, group in enumerate(mapped.groups, 1):
        for at, key in enumerate(group.claims):
            claim = mapped.claims[key]
            begins = (str(number), group.kind) if at == 0 else ("", "")
            rows.append((*begins, claim.paper, claim.quote))
    return RowTable(("group", "kind", "paper", "claim"), rows, keys=("group", "kind", "paper"))
