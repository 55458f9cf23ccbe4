"""Lists the words by which papers assert, in corpus/verifier/licences.toml: ``python -m benchmarks.licences``.

Words of abstracts and marked sentences under ../shared/data that stand in at least five of them, by their stems,
without those that the same file bars. Of ``gene_review`` only publications with an odd PMID are read: the
others are left for sets that measure what was not seen. Single words, and no sentence.
"""

import argparse
import csv
import gzip
import json
import re
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from benchmarks.relation_data import PPI, abstracts, biorelex, gad, ppi
from kgcheck.resources import resource_dir
from kgcheck.text.assertions import has_form_of_term, key_of
from kgcheck.text.words import is_in, tokenize, words_of_list

FEWEST = 5
"""Texts in which a word must stand: rarer ones are of everyday speech as often as of the field."""

WIDTH = 118


def main() -> None:
    """Count words, leave some out, write the list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    for text in texts(asked.data):
        counts.update({t.word for t in tokenize(text) if t.word.isalpha() and t.word.islower() and len(t.word) > 1})
    keys: Counter[str] = Counter()
    for word, count in counts.items():
        if not is_in("denies", word) and not has_form_of_term(word):
            keys[key_of(word)] += count
    excluded = {key_of(w) for w in words_of_list("licences", "barred")}
    words = sorted(k for k, n in keys.items() if n >= FEWEST and k not in excluded)
    path = resource_dir("corpus") / "verifier" / "licences.toml"
    listed = "\n".join(textwrap.wrap(" ".join(words), WIDTH))
    written = re.sub(r'(?<=\nwords = """\n).*?(?=\n""")', listed, path.read_text(encoding="utf-8"), flags=re.DOTALL)
    path.write_text(written, encoding="utf-8")
    sys.stdout.write(f"{len(words):,} words\n")


def texts(data: Path) -> Iterator[str]:
    """Abstracts, and the marked sentences of each paper together."""
    with gzip.open(data / "curated" / "gene_review" / "publications.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["pmid"].isdigit() and int(row["pmid"]) % 2 and row["abstract"]:
                yield row["abstract"]
    with (data / "scifact" / "corpus.csv").open(encoding="utf-8", newline="") as file:
        yield from (f"{row['title']}. {row['abstract']}" for row in csv.DictReader(file))
    for name in ("BioRED_Train.PubTator", "CDR_TrainingSet.PubTator.txt"):
        yield from (abstract.text for abstract in abstracts(data / "literature" / name))
    papers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for pair in (*(p for name in PPI for p in ppi(data, name)), *gad(data), *biorelex(data)):
        papers[pair.corpus, pair.group].add(pair.text)
    yield from (" ".join(sorted(found)) for found in papers.values())


if __name__ == "__main__":
    main()
