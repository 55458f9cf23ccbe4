"""Words that are drafted from the names of a graph, and what questions in such words are read as."""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.errors import NotUnderstood
from kgcheck.graph.names import NameIndex
from kgcheck.profile.init import draft_of_schema, draft_of_words
from kgcheck.profile.lexicon import Lexicon, load_lexicon
from kgcheck.profile.schema import NAME_OF_GRAPH, Label, Schema, load_schema
from kgcheck.questions.compiler import Compiler
from kgcheck.questions.plan import sentence

NODES = {
    "Gene": {"g1": "TP53", "g2": "MDM2"},
    "Disease": {"d1": "asthma", "d2": "Cyclopia"},
    "PhenotypicFeature": {"p1": "wheeze", "p2": "Cyclopia"},
    "Compound": {"c1": "aspirin"},
    "Anatomy": {"a1": "lung"},
}


def schema_of(*relations: str, labels: tuple[str, ...] = tuple(NODES)) -> Schema:
    patterns = [dict(zip(("head", "type", "tail"), text.split(), strict=True)) for text in relations]
    common = {"id_pattern": ".+", "id_example": "x1", "properties": {"name": {"type": "string"}}}
    described = [{"name": label, "meaning": label, **common} for label in labels]
    profile = {"name": "nobody-wrote-it", "version": 1, "title": "a graph"}
    return Schema.model_validate({"profile": profile, "labels": described, "relations": patterns})


def names_of(schema: Schema, lexicon: Lexicon) -> NameIndex:
    def scan(label: Label) -> list[pa.Table]:
        nodes = NODES.get(label.name.removeprefix("biolink:"), {})
        table = pa.table(
            {"id": list(nodes), "name": list(nodes.values())}, pa.schema({"id": "string", "name": "string"})
        )
        return [table]

    return NameIndex(schema, scan, lexicon)


def plan(question: str, *relations: str) -> str:
    schema = schema_of(*relations)
    lexicon = load_lexicon(schema)
    return " and ".join(
        sentence(one, {}) for one in Compiler(schema, lexicon, names_of(schema, lexicon)).compile(question)
    )


CONTRIBUTES = ("Gene contributes_to Disease", "Gene contributes_to PhenotypicFeature")
TREATS = "Compound treats Disease"
PHENOTYPE = "Disease biolink:has_phenotype PhenotypicFeature"
EXPRESSED = "Gene biolink:expressed_in Anatomy"
ASSOCIATED = "Gene biolink:gene_associated_with_condition Disease"
OF_TP53 = "diseases with a biolink:gene_associated_with_condition edge from the Gene g1"
CODES = ("Compound CtD Disease", "Compound CuG Gene", "Disease DuG Gene", "Gene GiG Gene", "Gene Gr_G Gene")


@pytest.mark.parametrize(
    ("question", "relations", "read"),
    [
        ("Which compounds treat asthma?", (TREATS,), "compounds with a treats edge to the Disease d1"),
        ("Which diseases are treated by aspirin?", (TREATS,), "diseases with a treats edge from the Compound c1"),
        ("What is asthma treated with?", (TREATS,), "compounds with a treats edge to the Disease d1"),
        (
            "Which compounds treat asthma?",
            ("Compound TREATS_CtD Disease",),
            "compounds with a TREATS_CtD edge to the Disease d1",
        ),
        ("Which compounds treat asthma?", CODES, "compounds with a CtD edge to the Disease d1"),
        ("Which genes are upregulated in asthma?", CODES, "genes with a DuG edge from the Disease d1"),
        ("Which genes interact with TP53?", CODES, "genes with a GiG edge to or from the Gene g1"),
        ("Which genes regulate TP53?", CODES, "genes with a Gr_G edge to the Gene g1"),
        (
            "Which diseases have the phenotype wheeze?",
            (PHENOTYPE,),
            "diseases with a biolink:has_phenotype edge to the PhenotypicFeature p1",
        ),
        (
            "What are the phenotypes of asthma?",
            (PHENOTYPE,),
            "phenotypic features with a biolink:has_phenotype edge from the Disease d1",
        ),
        (
            "How many phenotypes does asthma have?",
            (PHENOTYPE,),
            "the number of phenotypic features with a biolink:has_phenotype edge from the Disease d1",
        ),
        (
            "In which anatomies is TP53 expressed?",
            (EXPRESSED,),
            "anatomies with a biolink:expressed_in edge from the Gene g1",
        ),
        ("Which anatomies express TP53?", (EXPRESSED,), "anatomies with a biolink:expressed_in edge from the Gene g1"),
        ("Which conditions are associated with TP53?", (ASSOCIATED,), OF_TP53),
        ("Which diseases are linked to TP53?", (ASSOCIATED,), OF_TP53),
        # All that join the two, where none is called so.
        (
            "Which diseases are related to TP53?",
            ("Gene causes Disease", "Gene treats Disease"),
            "diseases with a causes edge from the Gene g1 or with a treats edge from the Gene g1",
        ),
        ("Which diseases involve TP53?", (ASSOCIATED,), OF_TP53),
        # Drugs are compounds where no label is called so.
        ("Which drugs treat asthma?", (TREATS,), "compounds with a treats edge to the Disease d1"),
        (
            "Which compounds are related by effect to asthma?",
            ("Compound effect Disease",),
            "compounds with an effect edge to the Disease d1",
        ),
        (
            "Does TP53 interact with MDM2?",
            ("Gene interacts_with Gene",),
            "whether the Gene g1 has an interacts_with edge to or from the Gene g2",
        ),
        # Both are called so: any of the two will do.
        (
            "Which compounds treat asthma?",
            (TREATS, "Compound biolink:treats Disease"),
            "compounds with a treats edge to the Disease d1 or with a biolink:treats edge to the Disease d1",
        ),
        # The name of nodes of two labels is that of the one that the relation joins, or that is said.
        ("Which compounds treat Cyclopia?", (TREATS, PHENOTYPE), "compounds with a treats edge to the Disease d2"),
    ],
)
def test_questions_in_the_words_of_names_are_understood(question: str, relations: tuple[str, ...], read: str) -> None:
    assert plan(question, *relations) == read


@pytest.mark.parametrize(
    ("question", "relations", "told"),
    [
        ("What upregulates TP53?", CODES, "may mean several relations"),
        ("Which diseases involve TP53?", (ASSOCIATED, "Gene causes Disease"), "may mean several relations"),
        ("Which diseases are not linked to TP53?", (ASSOCIATED, "Gene causes Disease"), "may mean several relations"),
        ("Which genes are inhibited by TP53?", CODES, "'inhibited'"),
        ("Which diseases treat aspirin?", (TREATS,), "no way from 'diseases' to 'aspirin'"),
        ("Which genes contribute to Cyclopia?", CONTRIBUTES, "several relations"),
        ("Which compounds have asthma?", (TREATS,), "say how they are related: treats"),
        ("Which compounds do not treat asthma?", (TREATS, "Compound biolink:treats Disease"), "several relations"),
        ("Which compounds are linked to asthma?", ("Compound does_not_treat Disease",), "'linked'"),
        ("Which compounds affect asthma?", ("Compound effect Disease",), "'affect'"),
        ("Does asthma have Cyclopia?", (PHENOTYPE,), "no way from 'asthma' to 'Cyclopia'"),
        ("What is it?", (TREATS,), "ask for genes, diseases, phenotypic features"),
    ],
)  # fmt: skip
def test_what_names_do_not_say_is_refused_with_what_there_is(
    question: str, relations: tuple[str, ...], told: str
) -> None:
    with pytest.raises(NotUnderstood) as refused:
        plan(question, *relations)

    assert told in refused.value.in_one_line


def test_a_noun_of_two_labels_is_none() -> None:
    lexicon = load_lexicon(schema_of(labels=("Gene", "biolink:Gene", "MolecularActivity", "Kinase_activity")))

    nouns = {label.name: label.nouns for label in lexicon.labels}
    assert nouns["Gene"] == nouns["biolink:Gene"] == ()
    assert "reaction" in nouns["MolecularActivity"]
    assert nouns["Kinase_activity"] == ("kinase activity", "kinase activities")


names = st.one_of(
    st.from_regex(NAME_OF_GRAPH, fullmatch=True).filter(lambda name: len(name) < 40),
    st.lists(st.sampled_from(["has", "is", "a", "of", "with", "treats", "gene", "Gene", "related", "to", "by", "2"]))
    .map("_".join)
    .filter(NAME_OF_GRAPH.fullmatch),
)


@given(
    labels=st.lists(names, min_size=1, max_size=4, unique_by=str.lower),
    relations=st.lists(st.tuples(names, st.integers(0, 3), st.integers(0, 3)), max_size=5),
    words=st.lists(
        st.sampled_from(["Which", "does", "have", "TP53", "related to", "not", "of", "with", "and", "how many"])
    ),
)
def test_any_names_make_words_that_can_be_read_and_asked(
    labels: list[str], relations: list[tuple[str, int, int]], words: list[str]
) -> None:
    ends = [(labels[a % len(labels)], name, labels[b % len(labels)]) for name, a, b in relations]
    schema = schema_of(*{" ".join(edge) for edge in ends}, labels=tuple(labels))
    with TemporaryDirectory() as folder:
        (Path(folder) / "graph.toml").write_text(draft_of_schema(schema, "mine", "x"), encoding="utf-8")
        (Path(folder) / "lexicon.toml").write_text(draft_of_words(schema), encoding="utf-8")
        written = load_schema(folder)
        lexicon = load_lexicon(written)

    assert lexicon == load_lexicon(schema)
    compiler = Compiler(written, lexicon, names_of(written, lexicon))
    spoken = [name.replace("_", " ") for name, _, _ in relations] + [f"{label}s" for label in labels]
    for question in (" ".join(words), " ".join([*words, *spoken, "TP53"]), f"Which {' '.join(spoken)}?"):
        with suppress(NotUnderstood):
            compiler.compile(question)
