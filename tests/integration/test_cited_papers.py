"""Papers that edges cite: read one by one, and each way in which one does not bear its edge has a reason of its own."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.audit.papers import Papers
from kgcheck.audit.plan import Unit
from kgcheck.audit.run import Audit
from kgcheck.curation.compare import diff_of
from kgcheck.graph.citations import citations_sql
from kgcheck.ledger.ledger import Ledger
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.documents import Document
from kgcheck.literature.edge_reader import TripleReader
from kgcheck.literature.judges import Judges
from kgcheck.literature.names import StoreNames
from kgcheck.literature.pairs import EdgeClaim
from kgcheck.literature.papers import Paragraph, Section, WholePaper
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.verify import ClaimVerdict
from kgcheck.model import CheckType, Finding, Outcome, Reason, Triple
from kgcheck.options import ALL_TYPES, AuditOptions, AuditScope
from kgcheck.profile.schema import Pattern, load_schema
from kgcheck.settings import Settings
from tests.support.audits import MemoryStore, core_demo, kgcheck
from tests.support.literature import build_index, judges

STATES = "Mutations of ABC1 cause grey fever. We found that ABC1 is associated with grey fever in all families."
DENIES = "ABC1 is not associated with grey fever. There was no association of ABC1 with grey fever at all."
PAPERS = {
    "pmid:1": STATES,
    "pmid:2": DENIES,
    "pmid:3": "ABC1 was measured in mice. Their sleep was good. Patients with grey fever slept well, too.",
    "pmid:4": "Bones of mice grow at night, and nothing else was seen.",
    "pmid:5": STATES,
    "pmc:PMC77": STATES,
    "pmid:8": STATES,
}
GONE = ("pmid:5",)
EDGES = "Protein ASSOCIATED_WITH Disease"


def graph(*cited: tuple[str, str], name: str = "memory") -> MemoryStore:
    """Proteins of one name each, and edges to one disease, with what they cite as their source."""
    heads = sorted({head for head, _ in cited})
    proteins = [{"id": head, "name": "ABC1 protein", "synonyms": ["ABC1"]} for head in heads]
    rows = [{"head": head, "tail": "DOID:1", "source": source, "score": 1.0} for head, source in cited]
    return MemoryStore(
        {"Protein": proteins, "Disease": [{"id": "DOID:1", "name": "grey fever"}]}, {EDGES: rows}, (), name
    )


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    documents = [
        Document(ids=(name,), title=f"On {name}", abstract=text, retracted=name in GONE)
        for name, text in PAPERS.items()
    ]
    return build_index(tmp_path_factory.mktemp("papers"), documents)


def read(
    index: Path, ledger: Path, *graphs: MemoryStore, reference: Path | None = None, **options: Any
) -> Iterator[list[Finding]]:
    with Ledger(ledger) as kept, LiteratureIndex(index) as opened:
        for store in graphs:
            reader = TripleReader(opened, judges(), StoreNames(store), store.schema)
            wanted = AuditOptions(types=(CheckType.EVIDENCE,), **options)
            run = Audit(store, reference, kept, Settings(), papers=Papers(reader)).start(wanted)
            yield list(kept.findings(run))


def reasons(found: Sequence[Finding]) -> dict[str, tuple[Outcome, Reason]]:
    return {str(f.task.attribute): (f.verdict.outcome, f.verdict.reason) for f in found}


def test_each_cited_paper_is_judged_by_itself(index: Path, tmp_path: Path) -> None:
    store = graph(("P10001", "PMID:1|PMID:2|PMID:3|PMID:4|PMID:5|PMID:77|PMID:404 doi:10.1000/x1."))

    (found,) = read(index, tmp_path / "l.sqlite", store, keep_all=True)

    assert reasons(found) == {
        "pmid:1": (Outcome.SUPPORTED, Reason.CONFIRMED),
        # No calibration has contradictions: they inform.
        "pmid:2": (Outcome.INSUFFICIENT, Reason.CITATION_DENIES),
        "pmid:3": (Outcome.INSUFFICIENT, Reason.CITATION_SILENT),
        "pmid:4": (Outcome.INSUFFICIENT, Reason.CITATION_OFF_TOPIC),
        "pmid:5": (Outcome.INSUFFICIENT, Reason.CITATION_RETRACTED),
        "pmid:77": (Outcome.INSUFFICIENT, Reason.CITATION_MISTAKEN),
        "pmid:404": (Outcome.UNAVAILABLE, Reason.NOT_COVERED),
        "doi:10.1000/x1": (Outcome.UNAVAILABLE, Reason.NOT_COVERED),
    }
    by_paper = {f.task.attribute: f for f in found}
    assert all(f.fingerprint == f.task.fingerprint for f in found)
    quotes = [str(by_paper[name].verdict.evidence[0].quote) for name in ("pmid:1", "pmid:2")]
    assert quotes[0] in STATES
    assert quotes[1] in DENIES
    assert by_paper["pmid:77"].verdict.evidence[0].candidates == ("pmc:PMC77",)
    assert "does not name ABC1 protein nor grey fever" in str(by_paper["pmid:4"].verdict.evidence[0].value)
    assert all(e.release and e.record for f in found for e in f.verdict.evidence)


def test_an_edge_that_rests_on_retracted_papers_alone_says_so(index: Path, tmp_path: Path) -> None:
    store = graph(("P10001", "PMID:5"), ("P10002", "PMID:5; PMID:1"))

    (found,) = read(index, tmp_path / "l.sqlite", store)

    assert {f.task.subject.id: f.verdict.reason for f in found} == {
        "P10001": Reason.RETRACTED_EVIDENCE,
        "P10002": Reason.CITATION_RETRACTED,
    }


def test_a_whole_paper_is_read_whole(tmp_path: Path) -> None:
    bones = "Bones of mice grow at night, and nothing else was seen."
    said = [("pmid:1", STATES), ("pmid:2", DENIES), ("pmid:3", PAPERS["pmid:3"]), ("pmid:4", bones)]
    folder = build_index(tmp_path / "index", [])
    with Corpus(folder) as corpus:
        with corpus.store.writing():
            for name, text in said:
                abstract = Section(
                    kind="abstract", paragraphs=(Paragraph(text=f"Many genes of {name} were measured."),)
                )
                results = Section(kind="results", paragraphs=(Paragraph(text=bones), Paragraph(text=text)))
                corpus.store.add_paper(WholePaper(ids=(name,), title=f"On {name}", sections=(abstract, results)))
        corpus.build(None)

    (found,) = read(folder, tmp_path / "l.sqlite", graph(("P1", "PMID:1 PMID:2 PMID:3 PMID:4")), keep_all=True)

    assert {name: reason for name, (_, reason) in reasons(found).items()} == {
        "pmid:1": Reason.CONFIRMED,
        "pmid:2": Reason.CITATION_DENIES,
        "pmid:3": Reason.CITATION_SILENT,
        "pmid:4": Reason.CITATION_OFF_TOPIC,
    }
    first, *_, last = sorted(found, key=lambda f: str(f.task.attribute))
    assert str(first.verdict.evidence[0].quote) in STATES
    assert "abstract alone" not in str(last.verdict.evidence[0].value)


def test_a_model_is_not_asked_about_a_paper_that_does_not_name_both_ends(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()
    judge = Judges.read

    def counted(self: Judges, claim: EdgeClaim, documents: Iterable[Document], *, unlike: bool) -> ClaimVerdict:
        some = list(documents)
        asked.extend(document.id for document in some)
        return judge(self, claim, some, unlike=unlike)

    monkeypatch.setattr(Judges, "read", counted)
    next(read(index, tmp_path / "l.sqlite", graph(("P10001", "PMID:1|PMID:3|PMID:4|PMID:5"))))
    assert asked == ["pmid:1"]


def test_edges_are_found_by_the_paper_that_they_cite(index: Path, tmp_path: Path) -> None:
    next(read(index, tmp_path / "l.sqlite", graph(("P10001", "PMID:3 PMID:4"), ("P10002", "PMID:4"))))

    for text, findings in (("pmid:4", 2), ("PMID:3", 1), ("pmid:5", 0)):
        listed = kgcheck("findings", "--text", text, "--ledger", tmp_path / "l.sqlite", "--format", "json")
        assert len(json.loads(listed.out)["findings"]) == findings, listed.out


def retractions(folder: Path) -> Path:
    """A snapshot that lists one retracted paper."""
    (folder / "reference").mkdir()
    (folder / "reference" / "retracted-publications.txt").write_text("! a list\n! of one\nPMID:5\n")
    assert kgcheck("reference", "build", folder / "reference", "--out", folder / "r.duckdb").code in (0, 1)
    return folder / "r.duckdb"


def test_a_paper_that_is_listed_by_its_pmid_is_retracted_by_its_doi_too(tmp_path: Path) -> None:
    document = Document(ids=("doi:10.1000/five", "pmid:5"), title="Five", abstract=STATES)
    folder = build_index(tmp_path / "index", [document])
    store = graph(("P10001", "doi:10.1000/FIVE"), ("P10002", "doi:10.1000/five; PMID:5"))

    (found,) = read(folder, tmp_path / "l.sqlite", store, reference=retractions(tmp_path), keep_all=True)

    assert [f.verdict.reason for f in found] == [Reason.RETRACTED_EVIDENCE] * 3


def test_a_list_of_retractions_needs_no_index(tmp_path: Path) -> None:
    retractions(tmp_path)
    with Ledger(tmp_path / "l.sqlite") as kept:
        options = AuditOptions(types=(CheckType.EVIDENCE,), keep_all=True)
        run = Audit(graph(("P10001", "PMID:5 PMID:1")), tmp_path / "r.duckdb", kept, Settings()).start(options)
        found = list(kept.findings(run))

    assert reasons(found) == {
        "pmid:5": (Outcome.INSUFFICIENT, Reason.CITATION_RETRACTED),
        "pmid:1": (Outcome.UNAVAILABLE, Reason.NOT_COVERED),
    }
    (evidence,) = next(f for f in found if f.task.attribute == "pmid:5").verdict.evidence
    assert (evidence.source, evidence.record) == ("pubmed", "PMID:5")


def test_what_became_of_a_paper_is_told_in_the_next_run(index: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "l.sqlite"
    before = graph(("P10001", "PMID:3"), ("P10002", "PMID:3"), ("P10003", "PMID:3"), ("P10004", "PMID:3"))
    after = graph(("P10001", "PMID:3"), ("P10002", "PMID:1"), ("P10004", "PMID:3|PMID:4"))

    first, second = read(index, ledger, before, after)
    states = next(f for f in first if f.task.subject.id == "P10001")
    stating = build_index(tmp_path / "other", [Document(ids=("pmid:3",), title="Another", abstract=STATES)])
    # Another paper that is not at hand is no reason to say nothing of this one.
    (third,) = read(stating, ledger, graph(("P10001", "PMID:3"), ("P10004", "PMID:4 PMID:3")))

    assert (len(first), len(second), len(third)) == (4, 3, 0)
    with Ledger(ledger) as kept:
        runs = [run.id for run in kept.runs()]
        of_graph = {str(one.finding.task): one for one in diff_of(kept, runs[2], runs[1]).findings() if one.finding}
        of_paper = {str(one.finding.task): one for one in diff_of(kept, runs[1], runs[0]).findings() if one.finding}
    assert {name: str(one.state) for name, one in of_graph.items()} == {
        "P10001 ASSOCIATED_WITH DOID:1 by pmid:3": "still",
        "P10002 ASSOCIATED_WITH DOID:1 by pmid:3": "gone",
        "P10003 ASSOCIATED_WITH DOID:1 by pmid:3": "gone",
        "P10004 ASSOCIATED_WITH DOID:1 by pmid:3": "still",
        "P10004 ASSOCIATED_WITH DOID:1 by pmid:4": "new",
    }
    assert str(of_paper[str(states.task)].state) == "fixed"
    assert str(of_paper["P10004 ASSOCIATED_WITH DOID:1 by pmid:4"].state) == "unchecked"
    assert of_paper["P10004 ASSOCIATED_WITH DOID:1 by pmid:4"].why == "not covered"


class CutOffError(Exception):
    """Ends an audit in its middle."""


def test_a_run_that_was_cut_off_reads_no_paper_twice(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = graph(*((f"P{n:05}", "PMID:3 PMID:4") for n in range(150)))
    (whole,) = read(index, tmp_path / "whole.sqlite", store)
    asked, most = list[str](), 400
    judge = TripleReader.citation

    def counted(reader: TripleReader, triple: Triple, *rest: Any) -> Any:
        asked.append(f"{triple} {rest[-1]}")
        if len(asked) == most:
            raise CutOffError
        return judge(reader, triple, *rest)

    monkeypatch.setattr(TripleReader, "citation", counted)
    with pytest.raises(CutOffError):
        list(read(index, tmp_path / "l.sqlite", store))
    first, most, asked[:] = {name for name in asked if name.split()[0] < "P00100"}, 0, []
    with Ledger(tmp_path / "l.sqlite") as kept, LiteratureIndex(index) as opened:
        reader = TripleReader(opened, judges(), StoreNames(store), store.schema)
        (run,) = kept.runs()
        ended = Audit(store, None, kept, Settings(), papers=Papers(reader)).resume(run)
        found = list(kept.findings(ended))

    assert first
    assert asked
    assert not first & set(asked)
    assert {f.fingerprint: f.verdict.reason for f in found} == {f.fingerprint: f.verdict.reason for f in whole}
    assert len(found) == 300


def test_edges_that_nothing_else_supports_come_first(index: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(core_demo().reference), read_only=True) as db:
        of_source = "relation = 'disease' AND source = 'diseases' AND NOT negated"
        stated = db.execute(f"SELECT head, tail FROM link WHERE {of_source} ORDER BY ALL LIMIT 1").fetchone()
    assert stated
    store = graph(("P00001", "PMID:3"), (stated[0], "PMID:3"), ("Q99999", "PMID:3"))
    for row in store._edges[EDGES]:
        row["tail"] = stated[1]  # type: ignore[index]
    store._nodes["Disease"][0]["id"] = stated[1]  # type: ignore[index]

    (found,) = read(index, tmp_path / "l.sqlite", store, reference=core_demo().reference)

    assert [f.task.subject.id for f in found] == ["P00001", "Q99999", stated[0]]


def test_it_is_read_only_where_somebody_asks_for_it(tmp_path: Path) -> None:
    assert CheckType.EVIDENCE not in AuditScope().types
    assert AuditScope(types=["all"]).types == ALL_TYPES
    assert AuditScope(types=["all", "evidence"]).types == (*ALL_TYPES, CheckType.EVIDENCE)
    (tmp_path / "nodes.tsv").write_text(
        "id\tcategory\tname\nHGNC:5\tbiolink:Gene\tABC1\nMONDO:1\tbiolink:Disease\tgrey fever\n"
    )
    (tmp_path / "edges.tsv").write_text(
        "subject\tpredicate\tobject\tpublications\nHGNC:5\tbiolink:contributes_to\tMONDO:1\tPMID:1|PMID:9\n"
    )

    refused = kgcheck("audit", "nodes.tsv", "edges.tsv", "--type", "evidence", cwd=tmp_path)

    assert refused.refuses("the papers that edges cite are read in an index, and none is named")


def test_a_graph_that_cites_nothing_is_not_called_clean_without_a_word(index: Path, tmp_path: Path) -> None:
    (tmp_path / "nodes.tsv").write_text("id\tcategory\tname\nHGNC:5\tbiolink:Gene\tA\nMONDO:1\tbiolink:Disease\tB\n")
    (tmp_path / "edges.tsv").write_text("subject\tpredicate\tobject\tnote\nHGNC:5\tbiolink:r\tMONDO:1\tseen\n")

    ended = kgcheck("audit", "nodes.tsv", "edges.tsv", "--type", "evidence", "--literature", index, cwd=tmp_path)

    assert "no edge that was looked at cites a paper by PMID, PMCID or DOI" in ended.err
    assert "papers were asked about" not in ended.err
    assert "only the structure of the graph can be checked" not in ended.err


def test_papers_are_searched_about_edges_alone() -> None:
    schema = load_schema()
    pattern = schema.pattern("Protein", "ASSOCIATED_WITH", "Disease")
    papers = Papers(cast("TripleReader", SimpleNamespace(schema=schema)))

    # A run that goes on counts those that were read, and no tasks of another kind.
    kinds = [kind for kind in CheckType if papers.reads(Unit(type=kind, pattern=pattern))]
    assert kinds == [CheckType.EXISTENCE, CheckType.ATTRIBUTE, CheckType.TRIPLE, CheckType.POTENTIAL]


def test_a_graph_without_a_profile_is_read_by_the_words_of_its_relations(index: Path, tmp_path: Path) -> None:
    test_it_is_read_only_where_somebody_asks_for_it(tmp_path)

    ended = kgcheck(
        *(
            "audit",
            "nodes.tsv",
            "edges.tsv",
            "--type",
            "evidence",
            "--literature",
            index,
            "--keep-all",
            "--format",
            "json",
        ),
        cwd=tmp_path,
    )

    assert ended.code == 3, ended.err
    rows = json.loads(ended.out)["findings"]
    assert {row["attribute"]: row["reason"] for row in rows} == {"pmid:1": "citation_unproven", "pmid:9": "not_covered"}


SICI = "10.1002/(SICI)1097-0258(19980815/30)17:15/16<1661::AID-SIM968>3.0.CO;2-2"


@pytest.mark.parametrize(
    ("kind", "name", "value", "cited"),
    [
        ("string", "pmid", "1|2|3", "pmid:1 pmid:2 pmid:3"),
        ("string", "pmids", "[1, 02, 3.0]", "pmid:1 pmid:2 pmid:3"),
        ("strings", "pubmed_ids", ["1", "2", "3"], "pmid:1 pmid:2 pmid:3"),
        ("integer", "pmid", 31000000, "pmid:31000000"),
        ("number", "pmid", 31000000.0, "pmid:31000000"),
        *[("number", "pmid", number, "") for number in (0.85, 85.5, -85.0, 1e20)],
        *[
            ("integer", name, 5, "")
            for name in ("num_pmids", "n_pubmed", "number_of_pubmed_ids", "number_publications")
        ],
        ("string", "text", "PMID:123456789, in PubMed 2019", ""),
        ("string", "note", "https://europepmc.org/article/MED/12; PMIDs: 13; pubmed: 14", "pmid:12 pmid:13 pmid:14"),
        ("string", "publications", f"{SICI}|(10.1016/0092-8674(90)90012-X)", f"{SICI} 10.1016/0092-8674(90)90012-x"),
        ("string", "publications", "https://doi.org/10.1016%2FJ.X%28a%29b 100% %FF", ""),
        ("string", "publications", "https://doi.org/10.1016%2FJ.X%28a%29b 100%", "10.1016/j.x(a)b"),
        # The digits of a DOI are no other id.
        ("string", "publications", "PMID:10.1038/pmc77; doi:10.1038/pubmed/78.", "10.1038/pmc77 10.1038/pubmed/78"),
    ],
)
def test_what_is_no_id_of_a_paper_cites_none(kind: str, name: str, value: object, cited: str) -> None:
    column = {"string": "VARCHAR", "strings": "VARCHAR[]", "integer": "BIGINT", "number": "DOUBLE"}[kind]
    pattern = Pattern(type="R", head="A", tail="B", properties={name: {"type": kind}})

    with duckdb.connect() as db:
        select = f"SELECT 'a' AS head, 'b' AS tail, $value::{column} AS {name}"
        db.execute(f"CREATE TABLE edges AS {select}", {"value": value})
        sql = citations_sql(pattern, "edges")
        found = {paper for *_, paper in db.execute(sql).fetchall()} if sql else set()

    assert found == {one if one.startswith("pmid:") else f"doi:{one.lower()}" for one in cited.split()}


ids = st.one_of(
    st.integers(1, 10**8 - 1).map(lambda n: (f"PMID:{n}", f"pmid:{n}")),
    st.integers(1, 10**8 - 1).map(lambda n: (f"https://pubmed.ncbi.nlm.nih.gov/{n}/", f"pmid:{n}")),
    st.integers(1, 10**9 - 1).map(lambda n: (f"PMC{n}", f"pmc:PMC{n}")),
    st.from_regex(r"10\.[0-9]{4,9}/[a-z0-9]([a-z0-9./()-]*[a-z0-9])?", fullmatch=True).map(
        lambda d: (f"DOI:{d}", f"doi:{d}")
    ),
)


@given(st.lists(ids, max_size=5), st.sampled_from(("|", "; ", " ", ", ")))
def test_papers_are_found_in_whatever_list_they_stand(cited: list[tuple[str, str]], separator: str) -> None:
    store = graph(("P1", separator.join(written for written, _ in cited)))
    pattern = store.schema.pattern("Protein", "ASSOCIATED_WITH", "Disease")
    (scanned,) = store.scan_edges(pattern)

    with duckdb.connect() as db:
        db.register("scanned", scanned)
        found = db.execute(str(citations_sql(pattern, "scanned"))).fetchall()

    assert {paper for *_, paper in found} == {name for _, name in cited}
