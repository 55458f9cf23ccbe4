"""The providers' bulk files as recipes read them: small files of the documented forms, and the real ones there are."""

import gzip
import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from kgcheck.errors import InputFormat
from kgcheck.literature.formats import read_retractions
from kgcheck.model import Outcome, Reason
from kgcheck.profile.reference_files import load_reference_recipes
from kgcheck.reference.build import build_snapshot
from tests.support.facts import SCHEMA, SETTINGS, attribute, existence, triple, verdicts_on
from tests.support.services import entry, inactive

TAB = "\t"


def _gaf(
    db: str,
    id_: str,
    qualifier: str,
    term: str,
    paper: str,
    code: str,
    branch: str = "F",
    name: str = "",
    form: str = "",
) -> str:
    ended = ("", "protein", "taxon:9606", "20200101", "UniProt", "", form)
    return TAB.join((db, id_, id_, qualifier, term, paper, code, "", branch, name, *ended)) + "\n"


FILES: dict[str, str] = {
    "sec_ac.txt": """----------------
  UniProt
Description: Secondary accession numbers
Release:     2026_03 of 02-Sep-2026
----------------
Secondary AC          Primary AC
_____________         ___________
Q10001                P10001
Q10002                P10001
Q10002                P10002
---------------------------------
""",
    "delac_sp.txt": """  UniProt
Description: Deleted accession numbers
Release:     2026_03 of 02-Sep-2026
Number of accession numbers: 2

AC
_________
P10008
P10009
---------
""",
    "HUMAN_9606_idmapping.dat": "\n".join(
        TAB.join(row)
        for row in [
            ("P10001", "UniProtKB-ID", "ONE_HUMAN"),
            ("P10001", "Gene_Name", "ONE"),
            ("P10001", "Gene_Synonym", 'O"NE'),
            ("P10001", "NCBI_TaxID", "9606"),
            ("P10001", "PDB", "1TUP"),
            ("P10001-2", "RefSeq", "NP_1.1"),
            ("P10002", "UniProtKB-ID", "TWO_HUMAN"),
        ]
    )
    + "\n",
    "9606.protein.aliases.v12.0.txt": """#string_protein_id\talias\tsource
9606.ENSP1\tP10001\tEnsembl_HGNC_uniprot_ids
9606.ENSP1\tA0A000ABC1\tUniProt_AC
9606.ENSP1\tONE\tEnsembl_HGNC_symbol
9606.ENSP2\tP10002\tUniProt_AC
9606.ENSP3\tP10003\tUniProt_AC
9606.ENSP4\tsay "four\tBLAST_UniProt_GN_Name
""",
    "9606.protein.links.detailed.v12.0.txt": "protein1 protein2 neighborhood fusion cooccurence coexpression "
    "experimental database textmining combined_score\n"
    "9606.ENSP1 9606.ENSP2 0 0 0 45 134 0 81 173\n"
    "9606.ENSP2 9606.ENSP1 0 0 0 45 134 0 81 173\n"
    "9606.ENSP1 9606.ENSP3 0 0 0 0 900 0 0 900\n"
    "9606.ENSP3 9606.ENSP1 0 0 0 0 900 0 0 900\n",
    "9606.protein.physical.links.v12.0.txt": """protein1 protein2 combined_score
9606.ENSP2 9606.ENSP3 601
9606.ENSP3 9606.ENSP2 601
""",
    "goa_human.gaf": "!gaf-version: 2.2\n!date-generated: 2026-08-01 05:12\n"
    + _gaf("UniProtKB", "P10001", "located_in", "GO:0000011", "PMID:1", "IDA", "C", 'a "name')
    + _gaf("UniProtKB", "P10001", "NOT|enables", "GO:0000012", "PMID:2", "IDA", form="UniProtKB:P10001-2")
    + _gaf("UniProtKB", "P10002", "enables", "GO:0003674", "GO_REF:0000015", "ND")
    + _gaf("RNAcentral", "URS1", "enables", "GO:0000013", "PMID:3", "IDA"),
    "hgnc_complete_set_2026-10-06.txt": "hgnc_id\tsymbol\tname\tstatus\talias_symbol\t"
    "prev_symbol\tprev_name\tuniprot_ids\n"
    """HGNC:1\tONE\tgene one\tApproved\t"UNO|EINS"\t"FIRST|SHARED"\tthe first\tP10001
HGNC:2\tTWO\tgene two\tApproved\t\tSHARED\t\t"P10002|P10003"
""",
    "withdrawn.txt": """HGNC_ID\tSTATUS\tWITHDRAWN_SYMBOL\tMERGED_INTO_REPORT(S) (i.e HGNC_ID|SYMBOL|STATUS)
HGNC:8\tEntry Withdrawn\tGONE\t
HGNC:9\tMerged/Split\tMOVED\tHGNC:1|ONE|Approved
""",
    "UniProt2Reactome.txt": "P10001\tR-HSA-2\thttps://x/R-HSA-2\tLower\tTAS\tHomo sapiens\n"
    "P10002-2\tR-HSA-3\thttps://x/R-HSA-3\tOther\tIEA\tHomo sapiens\n",
    "ReactomePathways.txt": "R-HSA-1\tUpper\tHomo sapiens\n"
    "R-HSA-2\tLower\tHomo sapiens\nR-HSA-3\tOther\tHomo sapiens\n",
    "ReactomePathwaysRelation.txt": "R-HSA-1\tR-HSA-2\n",
    "ReactomePathways.gmt": "Upper set\tR-HSA-1\tTWO\tNOSUCH\n",
    "human_disease_textmining_filtered.tsv": "ENSP1\tONE\tDOID:4\tdisease\t5.1\t2.6\thttps://x\n",
    "human_disease_experiments_filtered.tsv": "ENSP1\tONE\tDOID:14\ttumour\tTIGA\tMeanRankScore = 96\t3.1\n",
    "human_tissue_knowledge_filtered.tsv": "ENSP2\tTWO\tBTO:0000142\tBrain\tUniProtKB-RC\tCURATED\t4\n",
    "pdb_entry_type.txt": "1tup\tprot-nuc\tdiffraction\n4hhb\tprot\tdiffraction\n",
    "obsolete.dat": " LIST OF OBSOLETE COORDINATE ENTRIES AND SUCCESSORS\n"
    "OBSLTE    18-JUL-84 1HHB     4HHB\nOBSLTE    31-JUL-94 116L\n",
    "pubmed_retractions.tsv": "993\n160560\n",
    "retracted-publications.txt": "! Downloaded on 2026-06-10\nPMID:994,PMCID:PMC1\nPMID:995\nPMCID:PMC2\n",
}


def _write(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        if name.startswith("9606."):
            # As STRING packs them.
            (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / name).write_text(text, encoding="utf-8")
    lines = [
        entry("P10005", secondaryAccessions=["Q10005"]),
        inactive("P10006", "DELETED", reason="why"),
        inactive("P10007", "DEMERGED", ["P10001", "P10002"]),
    ]
    (folder / "uniprot_some.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("providers")
    built = build_snapshot(_write(folder / "in", FILES), folder / "reference.duckdb", SCHEMA, SETTINGS)
    assert len(built) == len(FILES) + 1
    return folder / "reference.duckdb"


SAYS = [
    (existence("Protein P10001"), "supported", "confirmed"),
    (existence("Protein Q10001"), "refuted", "id_merged"),
    (existence("Protein Q10002"), "refuted", "id_demerged"),
    (existence("Protein P10008"), "refuted", "id_deleted"),
    (existence("Protein P10005"), "supported", "confirmed"),
    (existence("Protein Q10005"), "refuted", "id_merged"),
    (existence("Protein P10006"), "refuted", "id_deleted"),
    (existence("Protein P10007"), "refuted", "id_demerged"),
    (existence("Protein P10999"), "unavailable", "not_covered"),
    (existence("Gene ONE"), "supported", "confirmed"),
    (existence("Gene FIRST"), "refuted", "id_previous"),
    (existence("Gene SHARED"), "refuted", "id_previous"),
    (existence("Gene UNO"), "refuted", "id_alias"),
    (existence("Gene GONE"), "refuted", "id_withdrawn"),
    (existence("Gene MOVED"), "refuted", "id_withdrawn"),
    (existence("Gene NOSUCH1"), "refuted", "unknown_id"),
    (existence("Protein_structure 4HHB"), "supported", "confirmed"),
    (existence("Protein_structure 1HHB"), "refuted", "id_superseded"),
    (existence("Protein_structure 116L"), "refuted", "id_superseded"),
    (existence("Protein_structure 9ZZZ"), "refuted", "unknown_id"),
    (existence("Pathway R-HSA-1"), "supported", "confirmed"),
    (attribute("Pathway R-HSA-1", "name", "Upper"), "supported", "confirmed"),
    (attribute("Pathway R-HSA-1", "name", "Upper set"), "supported", "confirmed"),
    (attribute("Pathway R-HSA-1", "name", "Lower"), "refuted", "value_mismatch"),
    (triple("Gene TWO", "TRANSLATED_INTO", "Protein P10003"), "supported", "confirmed"),
    (triple("Gene TWO", "TRANSLATED_INTO", "Protein P10001"), "refuted", "edge_unsupported"),
    (triple("Protein P10001", "HAS_STRUCTURE", "Protein_structure 1TUP"), "supported", "confirmed"),
    (triple("Protein P10001", "HAS_STRUCTURE", "Protein_structure 4HHB"), "refuted", "edge_unsupported"),
    (triple("Protein P10001", "ACTS_ON", "Protein P10003"), "supported", "confirmed"),
    (triple("Protein P10002", "ACTS_ON", "Protein P10001"), "refuted", "below_threshold"),
    (triple("Protein P10002", "ACTS_ON", "Protein P10003"), "refuted", "edge_unsupported"),
    (triple("Protein P10001", "ACTS_ON", "Protein A0A000ABC1"), "insufficient", "unmapped_identifier"),
    (triple("Protein P10003", "CURATED_INTERACTS_WITH", "Protein P10002"), "supported", "confirmed"),
    (triple("Protein P10001", "ASSOCIATED_WITH", "Cellular_component GO:0000011"), "supported", "confirmed"),
    (triple("Protein P10001", "ASSOCIATED_WITH", "Molecular_function GO:0000012"), "refuted", "edge_negated"),
    (triple("Protein P10002", "ASSOCIATED_WITH", "Molecular_function GO:0003674"), "insufficient", "nothing_found"),
    (triple("Protein P10001", "ASSOCIATED_WITH", "Disease DOID:4"), "supported", "confirmed"),
    (triple("Protein P10001", "ASSOCIATED_WITH", "Disease DOID:14"), "supported", "confirmed"),
    (triple("Protein P10002", "ASSOCIATED_WITH", "Tissue BTO:0000142"), "supported", "confirmed"),
    (triple("Protein P10001", "ANNOTATED_IN_PATHWAY", "Pathway R-HSA-2"), "supported", "confirmed"),
    (triple("Protein P10001", "ANNOTATED_IN_PATHWAY", "Pathway R-HSA-1"), "supported", "confirmed_by_descendant"),
    (triple("Protein P10002", "ANNOTATED_IN_PATHWAY", "Pathway R-HSA-3"), "supported", "confirmed"),
    (triple("Protein P10002", "ANNOTATED_IN_PATHWAY", "Pathway R-HSA-1"), "supported", "confirmed"),
    (triple("Protein P10001", "ANNOTATED_IN_PATHWAY", "Pathway R-HSA-3"), "refuted", "edge_unsupported"),
]


def test_what_the_bulk_files_say(snapshot: Path) -> None:
    judged = verdicts_on(snapshot, [task for task, *_ in SAYS])
    said = [(str(task), v.outcome, v.reason) for (task, *_), v in zip(SAYS, judged, strict=True)]

    assert said == [(str(task), Outcome(outcome), Reason(reason)) for task, outcome, reason in SAYS]


def test_releases_are_those_that_the_files_state(snapshot: Path) -> None:
    with duckdb.connect(str(snapshot), read_only=True) as db:
        named = "SELECT file, release, released FROM release WHERE release NOT LIKE 'not stated%'"
        rows = db.execute(named).fetchall()

    told = {file: (release, released) for file, release, released in rows}
    assert told == {
        "sec_ac.txt": ("2026_03", "2026-09-02"),
        "delac_sp.txt": ("2026_03", "2026-09-02"),
        "goa_human.gaf": ("2026-08-01", "2026-08-01"),
        "hgnc_complete_set_2026-10-06.txt": ("2026-10-06", "2026-10-06"),
        "9606.protein.aliases.v12.0.txt.gz": ("12.0", ""),
        "9606.protein.links.detailed.v12.0.txt.gz": ("12.0", ""),
        "9606.protein.physical.links.v12.0.txt.gz": ("12.0", ""),
        "retracted-publications.txt": ("2026-06-10", "2026-06-10"),
    }


def test_details_of_the_lists(snapshot: Path) -> None:
    with duckdb.connect(str(snapshot), read_only=True) as db:
        (retracted,) = db.execute("SELECT count(*) FROM lifecycle WHERE source = 'pubmed'").fetchall()
        shared = db.execute("SELECT successors, candidates FROM lifecycle WHERE id = 'SHARED'").fetchall()
        superseded = db.execute("SELECT successors, detail FROM lifecycle WHERE id = '1HHB'").fetchall()
        scores = db.execute("SELECT tail, score, record FROM link WHERE source = 'diseases' ORDER BY tail").fetchall()

    assert retracted == (4,)
    assert shared == [([], ["ONE", "TWO"])]
    assert superseded == [(["4HHB"], "OBSLTE 18-JUL-84")]
    assert scores == [("DOID:14", 3.1, "ENSP1 experiments (TIGA)"), ("DOID:4", 2.6, "ENSP1 text mining")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sec_ac.txt", "<html>\n"),
        ("delac_sp.txt", "nothing\n"),
        ("uniprot_x.jsonl", '{"results": []}\n'),
        ("uniprot_x.jsonl", "not json\n"),
        ("obsolete.dat", "\n\n"),
        ("goa_human.gaf", "!gaf-version: 2.2\n"),
        ("goa_human.gaf", "UniProtKB\tP10001\n"),
        ("9606.protein.physical.links.v12.0.txt", "protein1\tprotein2\tcombined_score\n"),
    ],
)
def test_another_file_under_the_name_is_refused(name: str, text: str, tmp_path: Path) -> None:
    files = {name: text} | ({n: FILES[n] for n in FILES if "aliases" in n} if "9606" in name else {})
    if "9606" in name:
        files |= {n: FILES[n] for n in ("hgnc_complete_set_2026-10-06.txt", "9606.protein.links.detailed.v12.0.txt")}
    folder = tmp_path / "in"
    folder.mkdir()
    for file, content in files.items():
        (folder / file).write_text(content)

    with pytest.raises(InputFormat, match=name.split(".")[0]):
        build_snapshot(folder, tmp_path / "out.duckdb", SCHEMA, SETTINGS)


def test_a_packed_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    folder = _write(tmp_path / "in", FILES)
    packed = folder / "9606.protein.physical.links.v12.0.txt.gz"
    packed.write_bytes(packed.read_bytes()[:-12])

    with pytest.raises(InputFormat, match=r"physical\.links"):
        build_snapshot(folder, tmp_path / "out.duckdb", SCHEMA, SETTINGS)


def test_every_address_is_one_of_the_provider() -> None:
    files = [file for recipe in load_reference_recipes(SCHEMA) for file in recipe.files if file.url]

    assert len(files) >= 18
    for file in files:
        assert file.url.startswith("https://"), file.url


@pytest.mark.slow
def test_the_real_files_of_annotations(shared_data: Path, tmp_path: Path) -> None:
    sources = shared_data / "ckg_sources"
    names = ["goa_500.gaf", "hgnc_entries_2017.tsv", "human_disease_knowledge_full.tsv.gz", "ReactomePathways.gmt"]
    names += ["human_tissue_knowledge_filtered.tsv.gz"]
    (tmp_path / "in").mkdir()
    for name in names:
        shutil.copy(sources / name, tmp_path / "in" / name)
    shutil.copy(shared_data / "literature" / "pubmed_retractions.tsv", tmp_path / "in")
    build_snapshot(tmp_path / "in", tmp_path / "out.duckdb", SCHEMA, SETTINGS)
    with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as db:
        links = dict(db.execute("SELECT source, count(*) FROM link GROUP BY 1").fetchall())
        (negated,) = db.execute("SELECT count(*) FROM link WHERE negated").fetchall()
        (retracted,) = db.execute("SELECT count(*) FROM entity WHERE source = 'pubmed'").fetchall()

    assert links == {"goa": 498, "hgnc": 20101, "diseases": 48746, "tissues": 55920, "reactome": 119470}
    assert (negated, retracted) == ((3,), (19163,))


def test_the_list_of_go_is_read_whole(shared_data: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    file = shared_data / "curated" / "retracted" / "retracted-publications.txt"
    shutil.copy(file, tmp_path / "in")
    build_snapshot(tmp_path / "in", tmp_path / "out.duckdb", SCHEMA, SETTINGS)
    with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as db:
        found = {i for (i,) in db.execute("SELECT id FROM entity WHERE source = 'pubmed'").fetchall()}

    listed = re.findall(r"^PMID:\d+", file.read_text(encoding="utf-8"), re.MULTILINE)
    assert found == set(listed)
    assert set(read_retractions(file)) == {name.lower() for name in listed}


def _obo(*terms: tuple[str, ...]) -> str:
    """An ontology of terms: id, name, and more lines."""
    stanzas = ["\n".join((f"[Term]\nid: {id_}\nname: {name}", *more)) for id_, name, *more in terms]
    return "\n\n".join(("format-version: 1.2\ndate: 01:09:2026 10:00", *stanzas)) + "\n"


IS_A = "is_a: DOID:4"
ONTOLOGIES = {
    "HumanDO_made.obo": _obo(
        ("DOID:4", "disease"),
        ("DOID:41", "cold feet", "xref: OMIM:100100", "xref: UMLS_CUI:C01", IS_A),
        ("DOID:42", "warm feet", "xref: OMIM:100200", IS_A),
        ("DOID:43", "hot feet", "xref: OMIM:100200", IS_A),
    ),
    "bto.obo": _obo(("BTO:0000142", "brain"), ("BTO:0000759", "liver"), ("BTO:0001103", "skeletal muscle")),
    "pubmed_retractions.tsv": "7\n",
}


def _comments(accession: str, mim: str, tissues: str, *papers: str) -> str:
    origins = [{"evidenceCode": "ECO:0000269", "source": "PubMed", "id": paper} for paper in papers]
    disease = {"diseaseId": "x", "diseaseCrossReference": {"database": "MIM", "id": mim}, "evidences": origins}
    comments = [
        {"commentType": "DISEASE", "disease": disease},
        {"commentType": "TISSUE SPECIFICITY", "texts": [{"value": tissues, "evidences": origins}]},
    ]
    return f"{json.dumps(entry(accession, comments=comments))}\n"


@pytest.mark.slow
def test_comments_of_uniprot_support_and_their_silence_says_nothing(tmp_path: Path) -> None:
    folder = _write(tmp_path / "in", ONTOLOGIES)
    (folder / "uniprot_some.jsonl").write_text(
        _comments("P10001", "100100", "Expressed in brain. Not detected in liver.", "6", "7")
        + _comments("P10002", "100200", "Expressed in skeletal muscle.", "7")
    )
    build_snapshot(folder, tmp_path / "reference.duckdb", SCHEMA, SETTINGS)
    told = {
        "Protein P10001 Disease DOID:41": ("supported", "confirmed"),
        "Protein P10001 Disease DOID:4": ("supported", "confirmed_by_descendant"),
        "Protein P10001 Disease DOID:42": ("insufficient", "nothing_found"),
        # Two terms have the number.
        "Protein P10002 Disease DOID:42": ("insufficient", "nothing_found"),
        "Protein P10001 Tissue BTO:0000142": ("supported", "confirmed"),
        "Protein P10001 Tissue BTO:0000759": ("insufficient", "nothing_found"),
        "Protein P10002 Tissue BTO:0001103": ("insufficient", "retracted_evidence"),
    }
    tasks = [triple(f"{a} {b}", "ASSOCIATED_WITH", f"{c} {d}") for a, b, c, d in map(str.split, told)]
    judged = verdicts_on(tmp_path / "reference.duckdb", tasks)

    assert [(v.outcome.value, v.reason.value) for v in judged] == list(told.values())
    said = judged[0].evidence[0]
    assert (said.source, said.record, said.tier.value, said.world.value) == ("uniprot", "P10001", "curated", "open")


@pytest.mark.slow
def test_comments_of_the_real_flat_file(shared_data: Path, tmp_path: Path) -> None:
    """Each compared with the text of its comment: weak expression in spleen, heart and kidney is none."""
    for name in ("ontologies/bto.obo", "ontologies/HumanDO_2016.obo", "api/uniprot_flat_sample_10.txt"):
        shutil.copy(shared_data / name, tmp_path)
    build_snapshot(tmp_path, tmp_path / "reference.duckdb", SCHEMA, SETTINGS)
    with duckdb.connect(str(tmp_path / "reference.duckdb"), read_only=True) as db:
        rows = db.execute(
            "SELECT head, list(tail ORDER BY tail) FROM link WHERE source = 'uniprot' AND NOT starts_with(tail, 'GO:') "
            "AND relation IN ('tissue', 'disease') GROUP BY head ORDER BY head"
        ).fetchall()

    assert dict(rows) == {
        "O60502": ["BTO:0000142", "BTO:0000988", "BTO:0001078"],
        "Q00LT1": ["DOID:10584"],
        "Q96EY7": ["BTO:0001103"],
        "Q9BXB4": [f"BTO:{n:07}" for n in (142, 671, 759, 975, 1307, 1363, 1487)],
        "Q9UJX0": [f"BTO:{n:07}" for n in (671, 759, 975, 1103, 1363)],
        "Q9UMR5": ["BTO:0001103"],
    }
