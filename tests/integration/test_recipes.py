"""Sources as recipes: made files of the documented forms, what is read of them, and files that are none of these."""

import gzip
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kgcheck.errors import KgcheckError
from kgcheck.model import Outcome, Reason
from kgcheck.profile.reference_files import load_reference_recipes, shared_recipes
from kgcheck.providers.http import Http
from kgcheck.reference.build import build_snapshot
from kgcheck.reference.download import fetch_references
from kgcheck.settings import Settings
from tests.support.facts import SCHEMA, SETTINGS, triple, verdicts_on

Row = tuple[object, ...]


def _table(*rows: tuple[str, ...], by: str = "\t") -> str:
    return "".join(by.join(row) + "\n" for row in rows)


def _gtf(feature: str, *named: str) -> tuple[str, ...]:
    pairs = " ".join(f'{key} "{value}";' for key, value in (pair.split("=") for pair in named))
    return ("1", "havana", feature, "1", "2", ".", "+", ".", pairs)


def _atom(rxcui: str, sab: str, tty: str, name: str, suppress: str) -> tuple[str, ...]:
    return (rxcui, "ENG", *[""] * 5, f"9{rxcui}", *[""] * 3, sab, tty, rxcui, name, "", suppress, "", "")


def _archived(rxcui: str, now: str) -> tuple[str, ...]:
    return (f"8{rxcui}", "", "old", "a", "b", "c", rxcui, "", "ENG", "2010", "", "x", rxcui, "RXNORM", "IN", now, "")


def _hpoa(disease: str, qualifier: str, term: str, reference: str, frequency: str, aspect: str) -> tuple[str, ...]:
    return (disease, "a name", qualifier, term, reference, "TAS", "", frequency, "", "", aspect, "HPO:x[2020-01-01]")


def _mitab(a: str, b: str, taxon: str, score: str, negative: str, paper: str) -> tuple[str, ...]:
    method, kind = 'psi-mi:"MI:0018"(two hybrid)', 'psi-mi:"MI:0915"(physical association)'
    left = (f"uniprotkb:{a}", f"uniprotkb:{b}", *["-"] * 4, method, "-", f"pubmed:{paper}|imex:IM-1")
    taxa = ("taxid:9606(human)|taxid:9606(Homo sapiens)", f"taxid:{taxon}(x)|taxid:{taxon}(y)")
    scored = ("-", "intact:EBI-1", f"author score:high|intact-miscore:{score}")
    return (*left, *taxa, kind, *scored, *["-"] * 20, negative, *["-"] * 6)


_CLINGEN = [("S", "HGNC:1", "l, x", "MONDO:0000001", "AD", "SOP1", "Definitive", "x", "2020", "p")]
_CLINGEN.append((*_CLINGEN[0][:4], "AR", "SOP1", "Refuted", "x", "2020", "p"))
_CLINGEN.append(("S", "HGNC:2", "m", "MONDO:0000002", "AR", "SOP1", "Refuted", "x", "2020", "p"))
_CLINGEN.append(("S", "HGNC:3", "n", "MONDO:0000003", "AR", "SOP1", "Disputed", "x", "2020", "p"))
_CLINGEN_HEAD = [
    (title, *[""] * 9) for title in ("CLINGEN GENE DISEASE VALIDITY CURATIONS", "FILE CREATED: 2026-06-17")
]
_CLINGEN_HEAD += [("+++++",) * 10, ("GENE SYMBOL", "GENE ID (HGNC)", *"abcdefgh"), ("+++++",) * 10]

HGNC = _table(
    tuple("hgnc_id symbol name status alias_symbol prev_symbol prev_name uniprot_ids alias_name entrez_id".split()),
    *[(f"HGNC:{n}", f"SYM{n}", f"gene {n}", "Approved", "", "", "", f"P1000{n}", "", f"{n}") for n in range(1, 4)],
)
BASE = {"hgnc_complete_set_2026-01-31.txt": HGNC}
"""What the recipes of CKG need of other sources."""

SIGNOR = tuple("ENTITYA IDA DATABASEA IDB DATABASEB EFFECT MECHANISM RESIDUE TAX_ID SENTENCE SIGNOR_ID".split())
_SIGNOR_ROW = ("A", "P10001", "UNIPROT", "P10002", "UNIPROT", "up-regulates", "phosphorylation", "Ser364", "9606")
_JENSEN = ("ENSP1", "SYM1", "GO:0000011", "nucleus")

FILES: dict[str, str] = {
    "some.sssom.tsv": "#mapping_set_version: 2026-02-01\n#see: http://x/#!/y\n"
    + _table(
        ("subject_id", "predicate_id", "predicate_modifier", "object_id", "note"),
        ("A:1", "skos:exactMatch", "", "B:1", "number #1"),
        ("A:2", "skos:exactMatch", "Not", "B:2", ""),
        ("A:3", "skos:broadMatch", "", "B:3", ""),
        ("A:4", "other:thing", "", "B:4", ""),
        ("A:5", "skos:exactMatch", "", "sssom:NoTermFound", ""),
    ),
    "phenotype.hpoa": "#description: x\n#version: 2026-02-16\n"
    + _table(
        ("database_id", "disease_name", *"qhreofsmab"),
        _hpoa("OMIM:1", "", "HP:0000001", "PMID:1;PMID:2", "3/7", "P"),
        _hpoa("OMIM:1", "NOT", "HP:0000002", "PMID:1", "", "P"),
        _hpoa("OMIM:1", "", "HP:0000003", "PMID:1", "0/12", "P"),
        _hpoa("OMIM:1", "", "HP:0000006", "OMIM:1", "", "I"),
    ),
    "ClinGen-Gene-Disease-Summary-2026-06-17.csv": _table(
        *(tuple(f'"{cell}"' for cell in row) for row in (*_CLINGEN_HEAD, *_CLINGEN)), by=","
    ),
    "d2026.bin": "*NEWRECORD\nRECTYPE = D\nMH = Alpha Things\nENTRY = Alphas|T109|x\nMN = D03\nMN = C01.100\n"
    "UI = D900001\n\n*NEWRECORD\nRECTYPE = D\nMH = Beta Things\nMN = C01\nMS = a note = with a sign\nUI = D900002\n\n",
    "c2026.bin": "*NEWRECORD\nRECTYPE = C\nNM = gamma thing\nSY = gammas|EQV\nUI = C900001\n\n",
    "chembl_36_id_lookup.tsv": _table(
        ("chembl_id", "entity_type", "status"),
        ("CHEMBL9000001", "COMPOUND", "ACTIVE"),
        ("CHEMBL9000002", "COMPOUND", "OBS"),
        ("CHEMBL9000003", "TARGET", "ACTIVE"),
    ),
    "RXNCONSO.RRF": _table(
        _atom("1", "RXNORM", "IN", "alpha", "N"),
        _atom("1", "MSH", "SY", 'Al"phol', "N"),
        _atom("2", "RXNORM", "IN", "beta", "O"),
        by="|",
    ),
    "RXNATOMARCHIVE.RRF": _table(
        _archived("1", "1"), _archived("1", "2"), _archived("4", "1"), _archived("5", ""), by="|"
    ),
    "Homo_sapiens.GRCh38.115.chr_patch_hapl_scaff.gtf": "#!genome-build x\n"
    + _table(
        _gtf("gene", "gene_id=ENSG90000000001", "gene_version=4", "gene_name=AAA"),
        _gtf("CDS", "gene_id=ENSG90000000001", "protein_id=ENSP90000000001", "protein_version=1"),
    ),
    "stable_id_event.txt": _table(
        ("ENSG90000000009", "1", "ENSG90000000001", "2", "1", "gene", "0.9"),
        ("ENSG90000000008", "1", "\\N", "0", "2", "gene", "0"),
        ("ENSG90000000001", "3", "\\N", "0", "2", "gene", "0"),
        ("ENSG90000000007", "1", "\\N", "0", "1", "gene", "0"),
        ("ENSG90000000007", "1", "ENSG90000000007", "2", "3", "gene", "0.9"),
    ),
    "signor_all_data.tsv": _table(
        SIGNOR,
        (*_SIGNOR_ROW, '"They say ""so""\tand on"', "SIGNOR-1"),
        (*_SIGNOR_ROW[:6], "binding", "", "9606", "x", "SIGNOR-2"),
        (*_SIGNOR_ROW[:8], "10090", "x", "SIGNOR-3"),
        (*_SIGNOR_ROW[:1], "SIGNOR-C15", "SIGNOR", *_SIGNOR_ROW[3:7], "Thr18", "9606", "x", "SIGNOR-4"),
    ),
    "smpdb_pathways.csv": _table(
        ("SMPDB ID", "PW ID", "Name", "Subject", "Description"),
        ("SMP9000001", "PW1", '"Alpha, and beta"', "Metabolic", '"Two\nlines"'),
        by=",",
    ),
    "smpdb_proteins.csv": 2
    * _table(
        ("SMPDB ID", "Pathway Name", "Pathway Subject", "Uniprot ID", *"phdbgl"),
        ("SMP9000001", "Alpha", "Metabolic", "P10001", '"a, b"', *[""] * 5),
        ("SMP9000001", "Alpha", "Metabolic", "Unknown", "c", *[""] * 5),
        by=",",
    ),
    "mapa_geneid_4_uniprot_crossref.tsv": _table(("UniProtKB", "GENEID"), ("P10001", "1"), ("P10002", "1")),
    "disease_mappings.tsv": _table(
        ("diseaseId", "name", "vocabulary", "code", "vocabularyName"),
        ("C1", "x", "DO", "4", "y"),
        ("C1", "x", "MSH", "D1", "y"),
    ),
    "curated_gene_disease_associations.tsv": _table(
        ("geneId", "geneSymbol", "diseaseId", "score", "NofPmids", "source"), ("1", "A", "C1", "0.3", "2", "CTD_human")
    ),
    "intact.txt": _table(
        ("#ID(s) interactor A", "ID(s) interactor B", "x"),
        _mitab("P10001-2", "P10002", "9606", "0.56", "false", "11"),
        _mitab("P10001", "P10003", "9606", "0.2", "true", "12"),
        _mitab("P10001", "P10003", "10090", "0.9", "false", "13"),
    ),
    "human_compartment_knowledge_full.tsv": _table((*_JENSEN, "UniProtKB", "IDA", "5")),
    "human_compartment_textmining_full.tsv": _table((*_JENSEN, "4.1", "2.05", "http://x")),
    "human_compartment_predictions_full.tsv": _table((*_JENSEN, "WoLF PSORT", "9.0", "2.0")),
    "human_compartment_integrated_full.tsv": _table((*_JENSEN, "4.2")),
    "human_tissue_integrated_full.tsv": _table(("ENSP1", "SYM1", "BTO:0000142", "brain", "4.2")),
    "human_disease_integrated_full.tsv": _table(("ENSP1", "SYM1", "DOID:4", "disease", "1.5")),
}
PARTNERS = {
    "RXNATOMARCHIVE.RRF": ("RXNCONSO.RRF",),
    "stable_id_event.txt": ("Homo_sapiens.GRCh38.115.chr_patch_hapl_scaff.gtf",),
    "curated_gene_disease_associations.tsv": ("mapa_geneid_4_uniprot_crossref.tsv", "disease_mappings.tsv"),
}
"""Files that say nothing without others."""


def _write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def _build(folder: Path, files: Mapping[str, str | bytes], notes: list[str] | None = None) -> Path:
    out = folder / "reference.duckdb"
    build_snapshot(_write(folder / "in", files), out, SCHEMA, SETTINGS, notes=notes)
    return out


def _rows(snapshot: Path) -> set[Row]:
    """What a snapshot states of ids and links, without the release that states it and without names."""
    with duckdb.connect(str(snapshot), read_only=True) as db:
        entities = db.execute("SELECT source, id, state, successors::VARCHAR, candidates::VARCHAR FROM entity")
        found: set[Row] = set(entities.fetchall())
        found |= set(db.execute("SELECT source, relation, head, tail, score, negated, record FROM link").fetchall())
    return found


def _links(snapshot: Path, source: str) -> list[Row]:
    with duckdb.connect(str(snapshot), read_only=True) as db:
        select = "SELECT relation, head, tail, score, negated, record FROM link WHERE source = ? ORDER BY ALL"
        return db.execute(select, [source]).fetchall()


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(tmp_path_factory.mktemp("recipes"), BASE | FILES)


SITE = "P10002_S364-p"
LINKS: dict[str, list[Row]] = {
    "sssom": [
        ("broad_match", "A:3", "B:3", None, False, "A:3 B:3"),
        ("exact_match", "A:1", "B:1", None, False, "A:1 B:1"),
        ("exact_match", "A:2", "B:2", None, True, "A:2 B:2"),
    ],
    "hpoa": [
        ("inheritance", "OMIM:1", "HP:0000006", None, False, "OMIM:1"),
        ("phenotype", "OMIM:1", "HP:0000001", None, False, "PMID:1"),
        ("phenotype", "OMIM:1", "HP:0000001", None, False, "PMID:2"),
        ("phenotype", "OMIM:1", "HP:0000002", None, True, "PMID:1"),
    ],
    "clingen": [
        ("gene_disease", "HGNC:1", "MONDO:0000001", None, False, "HGNC:1"),
        ("gene_disease", "HGNC:2", "MONDO:0000002", None, True, "HGNC:2"),
    ],
    "mesh": [("parent", "MESH:D900001", "MESH:D900002", None, False, "MESH:D900001")],
    "signor": [
        ("modification", "P10002_S364-p", "MOD:00696", None, False, "SIGNOR-1"),
        ("modification", "P10002_T18-p", "MOD:00696", None, False, "SIGNOR-4"),
        ("modified_site", "P10002", "P10002_S364-p", None, False, "SIGNOR-1"),
        ("modified_site", "P10002", "P10002_T18-p", None, False, "SIGNOR-4"),
        ("substrate", "P10002_S364-p", "P10001", None, False, "SIGNOR-1"),
    ],
    "smpdb": [("pathway", "P10001", "SMP9000001", None, False, "SMP9000001")],
    "disgenet": [
        ("disease", "P10001", "DOID:4", 0.3, False, "1 C1"),
        ("disease", "P10002", "DOID:4", 0.3, False, "1 C1"),
        ("exact_match", "C1", "DOID:4", None, False, "C1"),
        ("gene_product", "1", "P10001", None, False, "1"),
        ("gene_product", "1", "P10002", None, False, "1"),
    ],
    "intact": [
        ("interaction", "P10001", "P10002", 0.56, False, "PMID:11"),
        ("interaction", "P10001", "P10003", 0.2, True, "PMID:12"),
    ],
    "compartments": [
        ("compartment", "P10001", "GO:0000011", 2.0, False, "ENSP1 predictions (WoLF PSORT)"),
        ("compartment", "P10001", "GO:0000011", 2.05, False, "ENSP1 text mining"),
        ("compartment", "P10001", "GO:0000011", 4.2, False, "ENSP1 integrated"),
        ("compartment", "P10001", "GO:0000011", 5.0, False, "ENSP1 knowledge (UniProtKB)"),
    ],
    "tissues": [("tissue", "P10001", "BTO:0000142", 4.2, False, "ENSP1 integrated")],
    "diseases": [("disease", "P10001", "DOID:4", 1.5, False, "ENSP1 integrated")],
}


@pytest.mark.parametrize("source", LINKS)
def test_links_that_a_file_states_and_denies(source: str, snapshot: Path) -> None:
    assert _links(snapshot, source) == LINKS[source]


IDS: dict[str, tuple[str, list[str], list[str]]] = {
    "CHEMBL.COMPOUND:CHEMBL9000001": ("current", [], []),
    "CHEMBL.COMPOUND:CHEMBL9000002": ("obsolete", [], []),
    "CHEMBL.TARGET:CHEMBL9000003": ("current", [], []),
    "RXCUI:1": ("current", [], []),
    "RXCUI:2": ("obsolete", [], []),
    "RXCUI:4": ("merged", ["RXCUI:1"], []),
    "RXCUI:5": ("retired", [], []),
    "ENSEMBL:ENSG90000000001": ("current", [], []),
    "ENSEMBL:ENSG90000000001.4": ("current", [], []),
    "ENSEMBL:ENSP90000000001.1": ("current", [], []),
    "ENSEMBL:ENSG90000000009": ("merged", ["ENSEMBL:ENSG90000000001"], []),
    "ENSEMBL:ENSG90000000008": ("retired", [], []),
    "MESH:C900001": ("current", [], []),
    "SMP9000001": ("current", [], []),
}


def test_what_became_of_ids(snapshot: Path) -> None:
    with duckdb.connect(str(snapshot), read_only=True) as db:
        rows = db.execute("SELECT id, state, successors, candidates FROM lifecycle").fetchall()
    found = {name: (state, now, perhaps) for name, state, now, perhaps in rows}

    assert {name: found.get(name) for name in IDS} == IDS
    assert "ENSEMBL:ENSG90000000007" not in found


def test_names_of_ids(snapshot: Path) -> None:
    with duckdb.connect(str(snapshot), read_only=True) as db:
        rows = db.execute(
            "SELECT id, value, status FROM value WHERE source IN ('mesh', 'rxnorm') ORDER BY ALL"
        ).fetchall()

    assert rows == [
        ("MESH:C900001", "gamma thing", "current"),
        ("MESH:C900001", "gammas", "synonym"),
        ("MESH:D900001", "Alpha Things", "current"),
        ("MESH:D900001", "Alphas", "synonym"),
        ("MESH:D900002", "Beta Things", "current"),
        ("RXCUI:1", 'Al"phol', "synonym"),
        ("RXCUI:1", "alpha", "current"),
        ("RXCUI:2", "beta", "current"),
    ]


def test_releases_that_files_state(snapshot: Path) -> None:
    with duckdb.connect(str(snapshot), read_only=True) as db:
        named = (
            "SELECT source, release, released FROM release WHERE release NOT LIKE 'not stated%' AND source <> 'hgnc'"
        )
        rows = set(db.execute(named).fetchall())

    assert rows == {
        ("sssom", "2026-02-01", "2026-02-01"),
        ("hpoa", "2026-02-16", "2026-02-16"),
        ("clingen", "2026-06-17", "2026-06-17"),
        ("mesh", "2026", "2026"),
        ("chembl", "36", ""),
        ("ensembl", "115", ""),
        ("disgenet", "7.0", "2020"),
        ("hgnc_id", "2026-01-31", "2026-01-31"),
    }


def test_verdicts_that_rest_on_them(snapshot: Path) -> None:
    told = [
        (triple(f"Modified_protein {SITE}", "IS_SUBSTRATE_OF", "Protein P10001"), "supported", "confirmed"),
        (triple(f"Modified_protein {SITE}", "IS_SUBSTRATE_OF", "Protein P10003"), "unavailable", "not_covered"),
        (triple("Protein P10002", "HAS_MODIFIED_SITE", f"Modified_protein {SITE}"), "supported", "confirmed"),
        (triple("Protein P10001", "ANNOTATED_IN_PATHWAY", "Pathway SMP9000001"), "supported", "confirmed"),
        (triple("Protein P10002", "ANNOTATED_IN_PATHWAY", "Pathway SMP9000001"), "unavailable", "reference_missing"),
        (triple("Protein P10001", "ASSOCIATED_WITH", "Cellular_component GO:0000011"), "supported", "confirmed"),
        (triple("Protein P10002", "CURATED_INTERACTS_WITH", "Protein P10001"), "supported", "confirmed"),
        (triple("Protein P10003", "CURATED_INTERACTS_WITH", "Protein P10001"), "refuted", "edge_negated"),
        (triple("Protein P10002", "CURATED_INTERACTS_WITH", "Protein P10003"), "unavailable", "reference_missing"),
    ]
    judged = verdicts_on(snapshot, [task for task, *_ in told])

    assert [(v.outcome, v.reason) for v in judged] == [(Outcome(o), Reason(r)) for _, o, r in told]


def test_recipes_that_have_met_no_file_are_told(tmp_path: Path) -> None:
    notes: list[str] = []
    _build(tmp_path, {name: FILES[name] for name in ("phenotype.hpoa", "d2026.bin")}, notes)

    assert [note.split(":")[0] for note in notes] == ["mesh"]
    assert "unverified" in notes[0]


def test_archives_alone_retire_nothing(tmp_path: Path) -> None:
    for name in ("RXNATOMARCHIVE.RRF", "stable_id_event.txt"):
        with pytest.raises(KgcheckError, match=f"{name} gives no row"):
            _build(tmp_path / name, {name: FILES[name]})


def test_real_mapping_sets_with_two_kinds_of_line_ends(shared_data: Path, tmp_path: Path) -> None:
    sets = shared_data / "foreign" / "forms" / "sssom_biomappings" / "files"
    snapshot = _build(tmp_path, {path.name: path.read_bytes() for path in sets.iterdir()})
    with duckdb.connect(str(snapshot), read_only=True) as db:
        counted = "SELECT relation, negated, count(*) FROM link WHERE source = 'sssom' GROUP BY ALL ORDER BY ALL"
        rows = db.execute(counted).fetchall()

    # Of the unsure ones, all are proposed.
    assert rows == [
        ("broad_match", False, 8),
        ("exact_match", False, 11018),
        ("exact_match", True, 1576),
        ("narrow_match", False, 18),
        ("narrow_match", True, 2),
        ("proposed_match", False, 105),
        ("related_match", False, 57),
        ("related_match", True, 50),
    ]


def test_real_phenotypes(shared_data: Path, tmp_path: Path) -> None:
    content = (shared_data / "foreign" / "forms" / "hpoa_gaf" / "files" / "test.hpoa.tsv").read_bytes()
    snapshot = _build(tmp_path, {"phenotype.hpoa": content})
    lines = [line.split("\t") for line in content.decode().splitlines()]

    negated = {(row[0], row[3]) for row in lines if row[2] == "NOT"}
    assert {(row[1], row[2]) for row in _links(snapshot, "hpoa") if row[4]} == negated
    assert len(_links(snapshot, "hpoa")) > 1500


def _cut(content: bytes, at: float) -> bytes:
    return content[: int(len(content) * at)]


def _widened(content: bytes, _: float) -> bytes:
    """Another year's form: a column more, at some place of every line."""
    lines = content.decode().splitlines(keepends=True)
    by = max("\t|,", key=content.decode().count)
    return "".join(by.join([*line.split(by)[:1], "x", *line.split(by)[1:]]) for line in lines).encode()


def _renamed(content: bytes, _: float) -> bytes:
    head, end, rest = content.partition(b"\n")
    return head.replace(b"ID", b"Identifier").replace(b"_id", b"_identifier") + end + rest


DAMAGES: dict[str, Callable[[bytes, float], bytes]] = {
    "cut": _cut,
    "a column more": _widened,
    "renamed": _renamed,
    "another species": lambda content, _: content.replace(b"9606", b"10090"),
    "latin-1": lambda content, _: content.replace(b"a", b"\xe4"),
    "halves exchanged": lambda content, at: content[int(len(content) * at) :] + _cut(content, at),
    "html": lambda *_: b"<html><body>moved</body></html>\n",
}


@cache
def _stated(name: str) -> frozenset[Row]:
    with TemporaryDirectory() as place:
        return frozenset(_rows(_build(Path(place), BASE | _beside(name) | {name: FILES[name]})))


def _beside(name: str) -> dict[str, str]:
    return {other: FILES[other] for other in PARTNERS.get(name, ())}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(st.sampled_from(sorted(FILES)), st.sampled_from(sorted(DAMAGES)), st.floats(0.02, 0.98), st.booleans())
@pytest.mark.slow
def test_damaged_files_are_refused_in_one_line_or_state_nothing_new(
    name: str, damage: str, at: float, packed: bool
) -> None:
    content = FILES[name].encode()
    if packed:
        whole = gzip.compress(content if damage == "cut" else DAMAGES[damage](content, at))
        content = _cut(whole, at) if damage == "cut" else whole
    else:
        content = DAMAGES[damage](content, at)
    refused, found = "", set[Row]()
    with TemporaryDirectory() as place:
        damaged = f"{name}.gz" if packed else name
        try:
            found = _rows(_build(Path(place), BASE | _beside(name) | {damaged: content}))
        except KgcheckError as error:
            refused = error.message

    assert found <= _stated(name)
    assert found or (name in refused and "\n" not in refused)


@pytest.mark.parametrize("name", sorted(FILES))
def test_files_packed_twice_are_told(name: str, tmp_path: Path) -> None:
    if not any(
        Path(f"{name}.gz").match(f.glob) for r in (*load_reference_recipes(SCHEMA), *shared_recipes()) for f in r.files
    ):
        pytest.skip("its recipe takes no packed file")
    twice = gzip.compress(gzip.compress(FILES[name].encode()))
    with pytest.raises(KgcheckError, match=rf"{name}\.gz is packed twice"):
        _build(tmp_path, BASE | {f"{name}.gz": twice})


def test_of_two_releases_the_newer_decides(tmp_path: Path) -> None:
    older = FILES["d2026.bin"].replace("Beta Things", "Betas of old")
    snapshot = _build(tmp_path, {"d2025.bin": older, "d2026.bin": FILES["d2026.bin"]})
    with duckdb.connect(str(snapshot), read_only=True) as db:
        rows = db.execute("SELECT value, status FROM value WHERE id = 'MESH:D900002' ORDER BY ALL").fetchall()
        named = db.execute("SELECT name, state FROM lifecycle WHERE id = 'MESH:D900002'").fetchall()

    assert rows == [("Beta Things", "current"), ("Betas of old", "former")]
    assert named == [("Beta Things", "current")]


@pytest.mark.parametrize("source", ["drugbank", "rxnorm", "signor", "smpdb", "disgenet"])
def test_of_files_that_a_licence_keeps_the_licence_and_the_way_are_told(source: str, tmp_path: Path) -> None:
    with Http(Settings(cache_dir=tmp_path, offline=True)) as http:
        (lacking,) = fetch_references(tmp_path / "in", SCHEMA, http, sources=(source,))
        recipe = next(r for r in (*load_reference_recipes(SCHEMA), *shared_recipes()) if r.source == source)
        (tmp_path / "in" / recipe.files[0].glob.replace("*", "").replace("[Ss][Ii][Gg][Nn][Oo][Rr]", "signor")).touch()
        (there,) = fetch_references(tmp_path / "in", SCHEMA, http, sources=(source,))

    assert recipe.licence in lacking.failure
    assert recipe.obtain in lacking.failure
    assert (there.failure, there.unchanged) == ("", True)


def test_sources_that_can_be_fetched_by_name() -> None:
    recipes = {r.source: r for r in (*load_reference_recipes(SCHEMA), *shared_recipes())}
    named = ("sssom", "mesh", "chembl", "rxnorm", "ensembl", "ncbi_gene", "uniprot", "drugbank", "clingen", "hpoa")

    for name in named:
        assert recipes[name].licence
        assert recipes[name].obtain or any(file.url for file in recipes[name].files), name
