"""Papers over the command line: indexes, search, claims, edges, audits and batches."""

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from kgcheck.audit.papers import Papers
from kgcheck.audit.run import Audit
from kgcheck.bench.metrics import measure, ndcg
from kgcheck.bench.scv import ClaimItem, ClaimWork, load_claim_recipes, read_items
from kgcheck.errors import InputFormat, InputMissing, UnknownName, UsageError
from kgcheck.graph.open import open_store
from kgcheck.ledger.ledger import Ledger
from kgcheck.literature.documents import Document
from kgcheck.literature.edge_reader import TripleReader, address
from kgcheck.literature.names import AllNames, StoreNames, good_names, naming
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.trained_verifier import TrainedVerifier
from kgcheck.model import CheckType, Ref, Stance, Tier, Triple, World
from kgcheck.options import AuditOptions
from kgcheck.profile.claims import load_claim_forms
from kgcheck.profile.schema import load_schema
from kgcheck.reference.build import build_snapshot
from kgcheck.reference.names import SnapshotNames
from kgcheck.settings import Settings
from tests.support import ROOT
from tests.support.audits import MemoryStore, Said, kgcheck
from tests.support.audits import demo as loaded_demo
from tests.support.literature import build_index, judges, paper, papers, remove_papers

DEMO = ROOT / "loaders" / "ckg" / "demo"
NOTES = ROOT / "corpus" / "demo" / "notes.jsonl"
SOD1_ALS = Triple(
    head=Ref(label="Protein", id="P00441"), relation="ASSOCIATED_WITH", tail=Ref(label="Disease", id="DOID:332")
)


def lines(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(r)}\n" for r in records), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the demo makes before it audits: graph, snapshot and index of notes."""
    folder = tmp_path_factory.mktemp("graph")
    shutil.copy(loaded_demo().store, folder / "graph.lbdb")
    shutil.copy(loaded_demo().reference, folder / "reference.duckdb")
    assert kgcheck("corpus", "add", NOTES, "--index", folder / "literature").code == 0
    return folder


def store_options(graph: Path) -> list[object]:
    return ["--store", graph / "graph.lbdb", "--reference", graph / "reference.duckdb"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_index(tmp_path_factory.mktemp("index") / "index", papers())


# Indexes


def test_an_index_is_made_listed_and_changed(tmp_path: Path) -> None:
    one = lines(tmp_path / "one.jsonl", {"id": "a", "abstract": "Mice sleep."}, {"id": "b"})
    two = lines(tmp_path / "two.jsonl", {"id": "c", "abstract": "Bones grow."}, {"id": "a", "abstract": "Other."})
    folder = tmp_path / "index"

    said = kgcheck("corpus", "add", one, two, "--index", folder, "--model", "none")
    assert said.code == 0, said.err
    assert "1 conflict, 2 new, 1 no abstract" in said.err
    assert "2 quarantined" in said.err
    assert said.out == ""

    listed = json.loads(kgcheck("corpus", "list", "--index", folder, "--ids", "--format", "json").out)
    assert [row["id"] for row in listed] == ["a", "c"]
    assert kgcheck("corpus", "remove", "a", "--index", folder).code == 0
    whole = json.loads(kgcheck("corpus", "list", "--index", folder, "--format", "json").out)
    assert whole["index"]["documents"] == 1
    assert kgcheck("corpus", "remove", "a", "--index", folder).code == 2
    assert "jsonl" in kgcheck("corpus", "list", "--index", folder).out


def test_retracted_papers_are_found_and_do_not_count(tmp_path: Path) -> None:
    file = lines(tmp_path / "a.jsonl", {"id": "pmid:7", "abstract": "Vitamin D increases bone density in adults."})
    (tmp_path / "gone.txt").write_text("7\n")
    options = ("--index", tmp_path / "index")

    said = kgcheck("corpus", "add", file, *options, "--model", "none", "--retractions", tmp_path / "gone.txt")
    assert "1 document is retracted" in said.err
    (hit,) = json.loads(kgcheck("search", "bone density", *options, "--format", "json").out)
    assert hit["retracted"] is True
    judged = json.loads(kgcheck("verify", "Vitamin D increases bone density.", *options, "--format", "json").out)
    assert (judged["stance"], judged["retracted"], judged["opinions"]) == ("silent", ["pmid:7"], [])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("corpus", "list", "--index", "nowhere"), "there is no index"),
        (("search", "x", "--index", "nowhere"), "there is no index"),
        (("corpus", "add", "nowhere.csv", "--index", "{new}", "--model", "none"), "there is no file"),
        (("corpus", "add", "nowhere.csv", "--index", "{new}", "--recipe", "scifct"), "did you mean scifact"),
        (("verify", "--index", "{index}"), "name a claim or an edge"),
        (("verify", "a claim", "--document", "zz", "--index", "{index}"), "no document 'zz'"),
        (("batch", "scv", "nowhere.csv", "--out", "{new}"), "there is no file"),
        (("corpus", "build", "--index", "{index}", "--model", "nowhere", "--anew"), "no model folder"),
    ],
)
def test_what_is_wrong_is_told(index: Path, tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    said = kgcheck(*(a.format(index=index, new=tmp_path / "new") for a in arguments))

    assert said.code == 2
    assert told in said.err
    assert said.out == ""


# Search and claims


def test_a_search_and_a_claim_are_quoted_exactly(index: Path, tmp_path: Path) -> None:
    whole = json.loads(kgcheck("search", "kinase", "--index", index, "--format", "json").out)
    assert {hit["id"] for hit in whole} == {"p1", "p2"}
    one = kgcheck("search", "kinase", "--index", index, "--document", "p2")
    assert ("p2" in one.out, "p1" in one.out) == (True, False)
    assert "nothing was found" in kgcheck("search", "xylophone", "--index", index).err
    claim = ("verify", "Does vitamin D increase bone density?", "--index")
    judged = json.loads(kgcheck(*claim, index, "--format", "json").out)
    assert judged["stance"] == "supports"
    quotes = [(hit["id"], hit["passage"]) for hit in whole]
    quotes += [(o["document"], q) for o in judged["opinions"] for q in o["quotes"]]
    assert len(quotes) > len(whole)
    assert all(paper(name).abstract[q["start"] : q["end"]] == q["text"] for name, q in quotes)

    text = "Vitamin D did not increase bone density. There was no effect of vitamin D on bone density in older adults."
    said = kgcheck(*claim, build_index(tmp_path / "index", [Document(ids=("p9",), abstract=text)]))
    assert (said.code, "contradicts" in said.out) == (1, True)


# Names and edges


def test_names_are_no_cross_references_and_symbols_are_found_by_their_case() -> None:
    raw = ["TP53", "tp53", "ENSG00000141510", "HGNC:11998", "P53_HUMAN", "", None, "p", "tumor protein p53", "7157"]
    assert good_names(raw) == ("TP53", "tumor protein p53")
    pattern = naming(("CAT", "catalase"))
    assert pattern
    found = [bool(pattern.search(text)) for text in ("the CAT gene", "Catalase was low", "a cat", "CAT-1", "CATALYST")]
    assert found == [True, True, False, False, False]
    assert naming(()) is None


@pytest.mark.slow
def test_names_come_from_graph_and_snapshot(tmp_path: Path) -> None:
    store = MemoryStore(
        nodes={
            "Protein": [{"id": "P00441", "name": "SOD1", "synonyms": ["ALS1"], "description": "Superoxide dismutase"}],
            "Disease": [{"id": "DOID:332", "name": "amyotrophic lateral sclerosis"}],
        },
        edges={},
    )
    known = StoreNames(store)
    sod1, unknown = Ref(label="Protein", id="P00441"), Ref(label="Protein", id="P99999")
    assert known.of_many([sod1, unknown]) == {sod1: ("SOD1", "Superoxide dismutase", "ALS1")}
    assert known.mentioned("what does SOD1 do?") == ("Superoxide dismutase", "ALS1")

    snapshot = tmp_path / "reference.duckdb"
    build_snapshot(DEMO / "reference", snapshot, load_schema(), Settings())
    names, cancer = SnapshotNames(snapshot, load_schema()), Ref(label="Disease", id="DOID:4467")
    try:
        assert "renal clear cell carcinoma" in names.of_many([cancer])[cancer]
        assert "renal clear cell carcinoma" in names.mentioned("clear cell renal cell carcinoma in rats")
        both = AllNames([known, names])
        assert both.of_many([sod1])[sod1][0] == "SOD1"
        assert "ALS1" in both.mentioned("SOD1")
        refs = [Ref(label="Disease", id="DOID:332"), cancer, Ref(label="Gene", id="SOD1")]
        assert AllNames([known, names]).of_many(refs) == {ref: both.of_many([ref])[ref] for ref in refs}
    finally:
        names.close()


def test_every_claim_form_is_of_the_schema() -> None:
    schema = load_schema()
    for form in load_claim_forms("ckg"):
        schema.pattern(form.head, form.relation, form.tail)
        assert form.claim.format(head="A", tail="B").count("A") == 1
        assert form.cues


def reader(index: LiteratureIndex) -> TripleReader:
    store = MemoryStore(
        nodes={
            "Protein": [
                {"id": "P00441", "name": "SOD1"},
                {"id": "P00001", "name": "KA", "synonyms": ["kinase A"]},
                {"id": "P00002", "name": "KB", "synonyms": ["kinase B"]},
            ],
            "Disease": [{"id": "DOID:332", "name": "amyotrophic lateral sclerosis"}],
        },
        edges={},
    )
    return TripleReader(index, judges(), StoreNames(store), load_schema())


def test_papers_are_evidence_of_the_lowest_tier_in_an_open_world(tmp_path: Path) -> None:
    text = (
        "SOD1 is associated with amyotrophic lateral sclerosis. Mutations of SOD1 cause amyotrophic lateral sclerosis."
    )
    gone = "SOD1 mutations were associated with amyotrophic lateral sclerosis in many families."
    folder = build_index(
        tmp_path / "index",
        [
            Document(ids=("pmid:1",), title="T", abstract=text),
            Document(ids=("pmid:2",), abstract=gone, retracted=True),
            Document(ids=("pmid:3",), abstract="SOD1 was measured. Another group had amyotrophic lateral sclerosis."),
        ],
    )
    with LiteratureIndex(folder) as index:
        (found,) = reader(index).evidence(SOD1_ALS)

    assert (found.source, found.record, found.stance) == ("literature", "pmid:1", Stance.SUPPORTS)
    assert (found.tier, found.world) == (Tier.TEXT, World.OPEN)
    assert found.quote
    assert found.quote in text
    assert found.url == "https://pubmed.ncbi.nlm.nih.gov/1/"
    assert "index of 3 documents" in found.release


def test_no_paper_is_silence_and_what_papers_cannot_say_is_nothing(index: Path) -> None:
    with LiteratureIndex(index) as opened:
        (silent,) = reader(opened).evidence(SOD1_ALS)
        unsaid = SOD1_ALS.model_copy(update={"relation": "HAS_STRUCTURE"})
        assert reader(opened).evidence(unsaid) == ()
        unnamed = SOD1_ALS.model_copy(update={"tail": Ref(label="Disease", id="DOID:1")})
        assert reader(opened).evidence(unnamed) == ()
        with pytest.raises(UnknownName, match=r"there is no claim"):
            reader(opened).claim(unsaid)

    assert (silent.stance, silent.world) == (Stance.SILENT, World.OPEN)
    assert address(paper("p1")) == ""


@pytest.mark.slow
def test_an_edge_is_verified_by_ids_and_names(graph: Path) -> None:
    arguments = ("verify", "--triple", "P00441 ASSOCIATED_WITH DOID:332", "--index", graph / "literature")
    judged = json.loads(kgcheck(*arguments, *store_options(graph), "--format", "json").out)

    assert judged["claim"] == "SOD1 is associated with amyotrophic lateral sclerosis."
    assert (judged["stance"], judged["opinions"][0]["document"]) == ("supports", "pmid:12442272")
    no = kgcheck(
        "verify", "--triple", "existence Protein P00441", "--index", graph / "literature", *store_options(graph)
    )
    assert (no.code, "is no edge" in no.err) == (2, True)


def test_an_audit_asks_about_so_many_edges(graph: Path, tmp_path: Path) -> None:
    settings, schema = Settings(home=tmp_path), load_schema()
    with (
        Ledger(tmp_path / "l.sqlite") as ledger,
        open_store(str(graph / "graph.lbdb"), schema, settings) as store,
        LiteratureIndex(graph / "literature") as index,
    ):
        papers_of = TripleReader(index, judges(), StoreNames(store), schema)
        asked = Papers(papers_of, limit=0)
        Audit(store, graph / "reference.duckdb", ledger, settings, papers=asked).start(
            AuditOptions(types=(CheckType.TRIPLE,), ids=("P00441",))
        )

    assert asked.found == []


def plain(text: str) -> str:
    """A text in lower case, letters and digits alone, with single spaces."""
    return " ".join(re.sub(r"[^a-z0-9]", " ", text.lower()).split())


def packed(text: str) -> list[str]:
    """The words of a text, each without its signs: IL-10 is il10."""
    return [re.sub(r"[^a-z0-9]", "", word.lower()) for word in text.split()]


def papers_in_shared_data(shared_data: Path) -> dict[str, str]:
    """The title and abstract of every PMID that a note may be about."""
    told = json.loads((shared_data / "pubmedqa" / "pqal_train.json").read_text(encoding="utf-8"))
    found = {k: " ".join([v["QUESTION"], *v["CONTEXTS"], v["LONG_ANSWER"]]) for k, v in told.items()}
    for name in ("BioRED_Train.PubTator", "CDR_TrainingSet.PubTator.txt"):
        for line in (shared_data / "literature" / name).read_text(encoding="utf-8").splitlines():
            pmid, kind, text = (*line.split("|", 2), "", "")[:3]
            if kind in ("t", "a"):
                found[pmid] = f"{found[pmid]} {text}" if kind == "a" else text
    return found


def test_notes_are_short_and_say_what_their_papers_say(shared_data: Path) -> None:
    notes = [json.loads(line) for line in NOTES.read_text(encoding="utf-8").splitlines()]
    known = papers_in_shared_data(shared_data)
    retracted = set((shared_data / "literature" / "pubmed_retractions.tsv").read_text(encoding="utf-8").split())

    assert len({note["id"] for note in notes}) == len(notes) >= 40
    for note in notes:
        assert set(note) == {"id", "title", "abstract"}
        pmid = note["id"].removeprefix("pmid:")
        assert pmid in known
        assert pmid not in retracted, f"{pmid} is retracted"
        assert len(note["abstract"]) < 400
        # In our own words: no run of eight words is the paper's.
        said, words = f" {plain(known[pmid])} ", plain(note["abstract"]).split()
        runs = [" ".join(words[i : i + 8]) for i in range(len(words) - 7)]
        assert [run for run in runs if f" {run} " in said] == [], pmid
        # No number, variant or gene with a digit that the paper does not have.
        figures = [w for w in packed(f"{note['title']} {note['abstract']}") if any(c.isdigit() for c in w)]
        assert [f for f in figures if not any(f in word for word in packed(known[pmid]))] == [], pmid


# Batches


def scifact_files(folder: Path) -> tuple[Path, Path]:
    corpus, claims = folder / "corpus.csv", folder / "claims.csv"
    with corpus.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["doc_id", "title", "abstract", "structured"])
        writer.writerow(["1", "Kinases", "['Kinase A binds kinase B.' 'Growth was normal.']", "False"])
        writer.writerow(["2", "Sleep", "['Light had no effect on sleep.' 'Mice ate.']", "False"])
    with claims.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        columns = ["id", "claim", "evidence_doc_id", "evidence_label", "evidence_sentences", "cited_doc_ids"]
        writer.writerow(columns)
        writer.writerow([0, "Kinase A binds kinase B.", "1", "SUPPORT", "[0]", "[1]"])
        writer.writerow([1, "Zebrafish are blue at night.", "", "", "[]", "[ 1 2]"])
    return corpus, claims


def scv(*arguments: object) -> Said:
    return kgcheck("batch", "scv", *arguments)


@pytest.mark.parametrize("scope", ["corpus", "documents"])
def test_a_batch_of_claims(tmp_path: Path, scope: str) -> None:
    corpus, claims = scifact_files(tmp_path)
    folder, out = tmp_path / "index", tmp_path / "out"
    assert kgcheck("corpus", "add", corpus, "--index", folder, "--model", "none").code == 0

    said = scv(claims, "--index", folder, "--scope", scope, "--out", out, "--workers", "2", "--format", "json")
    metrics = json.loads(said.out)

    assert said.code == 0, said.err
    assert (metrics["claims"], metrics["labelled"], metrics["errors"]) == (2, 2, 0)
    assert metrics["confusion"]["supports"]["supports"] == 1
    assert metrics["accuracy"] == 1.0
    assert metrics["right_quotes"] == 1.0
    assert metrics["ndcg_at_10"] == (0.5 if scope == "corpus" else None)
    results = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert {r["id"] for r in results} == {"0", "1"}
    report = (out / "report.md").read_text()
    assert "| supports | 1 | 0 | 0 | 0 |" in report
    assert "<circle" in (out / "reliability.svg").read_text()

    again = scv(claims, "--index", folder, "--scope", scope, "--out", out)
    assert "0 done now, 2 before" in again.err
    assert "accuracy" in again.out
    other = scv(claims, "--index", folder, "--scope", scope, "--out", out, "--top", "7")
    assert (other.code, "other options: top" in other.err) == (2, True)


def test_a_batch_is_measured_without_a_paper_that_is_removed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, claims = scifact_files(tmp_path)
    folder, out = tmp_path / "index", tmp_path / "out"
    kgcheck("corpus", "add", corpus, "--index", folder, "--model", "none")
    first = scv(claims, "--index", folder, "--out", out, "--format", "json")
    assert json.loads(first.out)["right_quotes"] == 1.0
    remove_papers(monkeypatch, "s2:1", "s2:2")
    said = scv(claims, "--index", folder, "--out", out, "--format", "json")

    assert said.code == 0, said.err
    assert json.loads(said.out)["right_quotes"] == 0.0


def test_a_batch_of_passages_needs_no_index(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,claim,evidence,label\n1,Aspirin cures pain.,Aspirin cures pain in adults.,Supports\n")
    said = scv(file, "--scope", "passages", "--out", tmp_path / "out", "--format", "json")

    assert json.loads(said.out)["confusion"]["supports"]["supports"] == 1


def test_claims_that_cannot_be_verified_are_errors(tmp_path: Path, index: Path) -> None:
    file = lines(tmp_path / "a.jsonl", {"claim": "x", "label": "yes"}, {"claim": "y", "documents": ["zz"]})
    said = scv(file, "--index", index, "--scope", "documents", "--out", tmp_path / "out", "--format", "json")

    assert said.code == 3
    metrics = json.loads(said.out)
    assert (metrics["errors"], metrics["error_rate"], metrics["accuracy"]) == (2, 1.0, 0.0)
    no_index = scv(file, "--scope", "corpus", "--out", tmp_path / "other")
    assert no_index.code == 3


def test_every_recipe_reads_its_form(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(
        json.dumps({"9": {"QUESTION": "Is it?", "final_decision": "maybe", "LONG_ANSWER": "Unclear.", "CONTEXTS": []}})
    )
    (asked,) = read_items(tmp_path / "q.json")
    assert (asked.id, asked.label, asked.documents, asked.gold[0].words) == (
        "9",
        Stance.SILENT,
        ("pmid:9",),
        "Unclear.",
    )
    (tmp_path / "b.json").write_text(json.dumps([{"id": 3, "claim": "It is.", "label": "Refutes"}]))
    (told,) = read_items(tmp_path / "b.json")
    assert (told.id, told.label) == ("3", Stance.CONTRADICTS)
    file = lines(tmp_path / "a.jsonl", {"claim": "a &lt; b", "passages": ["one", "two"]}, {"claim": "no label"})
    first, second = read_items(file)
    assert (first.claim, first.passages, first.label, second.id) == ("a < b", ("one", "two"), None, "2")
    edge = {"head": "A", "tail": ["B", "b"], "relation": "gene-gene", "passages": ["A binds b."], "label": "supports"}
    (told,) = read_items(lines(tmp_path / "e.jsonl", edge))
    assert (told.head, told.tail, told.relation, told.claim) == (("A",), ("B", "b"), "gene-gene", "")
    read = {"type": "Complex", "statement": "Complex(A(), B())", "a_text": "A", "b_text": "B", "sentence": "A and B."}
    first, second = read_items(lines(tmp_path / "i.jsonl", read | {"correct": 1}, read | {"correct": 0}))
    assert (first.claim, first.relation, first.passages) == ("A binds to B.", "gene-gene", ("A and B.",))
    assert (first.label, second.label) == (Stance.SUPPORTS, Stance.SILENT)
    shown = {"id": "s", "sentence": "A may bind B.", "e1": "A", "e2": "B", "relation": "interacts_with"}
    (told,) = read_items(lines(tmp_path / "s.jsonl", shown | {"label": "not_support"}))
    assert (told.label, told.claim, told.relation) == (Stance.SILENT, "A interacts with B.", "gene-gene")
    item = {"statement": "A causes B", "snippet": "A caused B.", "subject": "A", "object": "B", "relation": "causes"}
    first, second = read_items(
        lines(tmp_path / "d.jsonl", item | {"supports": "REFUTE"}, item | {"supports": "PARTIAL"})
    )
    assert (first.label, second.label) == (Stance.CONTRADICTS, None)
    of_edges = {"dismech", "edges", "indra", "sentences"}
    of_claims = {"biokgbench", "healthver", "json", "jsonl", "pubmedqa", "scifact"}
    assert {r.name for r in load_claim_recipes()} == of_claims | of_edges


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"claim": "x"}\n{"cla'),
        ("a.jsonl", "[1]\n"),
        ("a.jsonl", '{"claim": "x", "label": "perhaps"}\n'),
        ("a.jsonl", '{"claim": "x"}\n{"claim": ""}\n'),
        ("a.json", "{"),
        ("a.csv", "a,b\n1,2\n"),
        ("a.txt", "x"),
    ],
)
def test_broken_claim_files_are_told(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)

    with pytest.raises(InputFormat):
        read_items(tmp_path / name)
    with pytest.raises(InputMissing):
        read_items(tmp_path / "none.csv")
    with pytest.raises(UnknownName):
        read_items(tmp_path / name, "scifct")


def test_measures() -> None:
    items = [
        ClaimItem(id="1", claim="a", label=Stance.SUPPORTS, documents=("d1", "d2")),
        ClaimItem(id="2", claim="b", label=Stance.SUPPORTS),
        ClaimItem(id="3", claim="c", label=Stance.CONTRADICTS),
        ClaimItem(id="4", claim="d"),
        ClaimItem(id="5", claim="not done", label=Stance.SILENT),
    ]
    results: dict[str, dict[str, Any]] = {
        "1": {"answer": "supports", "probability": 0.9, "retrieved": ["x", "d1"], "opinions": []},
        "2": {"answer": "silent", "probability": 0.6, "opinions": []},
        "3": {"error": "the endpoint is down"},
        "4": {"answer": "supports", "probability": 0.7, "opinions": []},
    }
    metrics = measure(items, results)

    assert (metrics.claims, metrics.labelled, metrics.errors, metrics.error_rate) == (4, 3, 1, 0.25)
    assert (metrics.accuracy, metrics.majority, metrics.abstention) == (0.3333, 0.6667, 0.3333)
    assert metrics.confusion["contradicts"]["error"] == 1
    # F1: supports 2/3, contradicts 0, silent 0.
    assert metrics.macro_f1 == 0.2222
    assert metrics.recall_at_10 == 0.5
    assert metrics.ndcg_at_10 == pytest.approx(0.6309 / 1.6309, abs=1e-3)
    assert [(b.count, b.probability, b.accuracy) for b in metrics.calibration] == [(1, 0.6, 0.0), (1, 0.9, 1.0)]
    assert ndcg([], ["a"]) == 0.0
    assert ndcg(["a"], ["a"]) == 1.0
    nothing = measure([], {})
    assert (nothing.accuracy, nothing.macro_f1, nothing.calibration_error) == (None, None, None)


def test_work_needs_what_its_scope_reads() -> None:
    with pytest.raises(UsageError, match="needs an index"):
        ClaimWork(None, TrainedVerifier(), "corpus", 5)(ClaimItem(id="1", claim="a"))
    with pytest.raises(UsageError, match="no passages"):
        ClaimWork(None, TrainedVerifier(), "passages", 5)(ClaimItem(id="1", claim="a"))
