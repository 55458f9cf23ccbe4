"""How much of a paper's reference list a gathering for its title reaches, in a world made of the PLOS papers.

.venv/bin/python -m benchmarks.topics [--source europepmc] [--topics 12] [--model minilm]

The papers of ../shared/data/fulltext/plos are records with their abstracts; what they cite are records with a title
alone. The service runs on loopback in its exact form. The topic is a paper's title. Each topic is gathered twice: with
the paper among the records, so that its links can be followed, and without it, so that only the search and papers that
cite the same lead to what it cites.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kgcheck.literature.corpus import Corpus
from kgcheck.literature.embed import Embedder, Vectors, open_model
from kgcheck.literature.topics import TopicGathering, gather_topic
from kgcheck.literature.weights import WORDS_ALONE
from kgcheck.providers.http import Http
from kgcheck.settings import Settings
from tests.support.loopback import Loopback
from tests.support.paper_world import WORLDS, PaperWorld, WorldPaper, plos_world

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "fulltext" / "plos"
PLACES = (20, 60, 100)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", choices=WORLDS, default="europepmc")
    parser.add_argument("--topics", type=int, default=8, help="papers, every n-th of those with 30 to 110 references")
    parser.add_argument("--model", default="minilm", help="or none")
    parser.add_argument("--tau", type=float, nargs="*", default=[0.0, 0.065, 0.2, 0.4])
    chosen = parser.parse_args()
    _, papers = plos_world(FOLDER)
    fit = [name for name, p in papers.items() if 30 <= len(p.cites) <= 110]
    names = fit[:: max(1, len(fit) // chosen.topics)][: chosen.topics]
    models: list[Embedder | None] = [None] if chosen.model == WORDS_ALONE else [None, Remembering(chosen.model)]
    heads = ("paper", "scored by", "tau", "looked at", "above tau", *(f"@{n}" for n in PLACES), "all")
    sys.stdout.write(f"{len(names)} topics of {len(papers)} papers, {chosen.source}\n| {' | '.join(heads)} |\n")
    sys.stdout.write("| --- " * len(heads) + "|\n")
    for there in (True, False):
        worlds = [plos_world(FOLDER, () if there else (name,))[0] for name in (names if not there else names[:1])]
        for model in models:
            for tau in chosen.tau:
                rows = []
                for at, name in enumerate(names):
                    world = worlds[0] if there else worlds[at]
                    rows.append(_measured(world, papers[name], chosen.source, model, tau))
                mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
                shares = " | ".join(f"{value:.2f}" for value in mean[2:])
                where, by = "there" if there else "left out", model.name if model else "words"
                sys.stdout.write(f"| {where} | {by} | {tau} | {mean[0]:.0f} | {mean[1]:.0f} | {shares} |\n")
                sys.stdout.flush()


class Remembering:
    """A model that makes the vector of a text once.

    Args:
        name: Of the model.
    """

    def __init__(self, name: str) -> None:
        self._model = open_model(name, many=True)
        self._made: dict[str, Any] = {}
        self.name, self.digest = self._model.name, self._model.digest
        self.runtime, self.dimension = self._model.runtime, self._model.dimension

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        if lacking := [t for t in dict.fromkeys(texts) if t not in self._made]:
            self._made.update(zip(lacking, self._model.encode(lacking), strict=True))
        return np.stack([self._made[t] for t in texts])


def _measured(
    world: PaperWorld, paper: WorldPaper, source: str, model: Embedder | None, tau: float
) -> tuple[float, ...]:
    """Papers looked at and above tau; the share of the references in the first places, and among all above tau."""
    with _service(world, source) as http, tempfile.TemporaryDirectory() as folder:
        with Corpus(Path(folder) / "index", create=True) as corpus:
            wanted = TopicGathering(source, paper.title, threshold=tau, keep=1_000)  # type: ignore[arg-type]
            done = gather_topic(wanted, corpus, http, model)
        lines = [json.loads(line) for line in done.log.read_text(encoding="utf-8").splitlines()]
    order = [line["paper"] for line in lines if line["step"] == "ranked" and line["paper"] != f"pmid:{paper.number}"]
    looked = sum(line["step"] == "scored" for line in lines)
    cited = {f"pmid:{n}" for n in paper.cites}
    recalls = [len(cited & set(order[:n])) / len(cited) for n in PLACES]
    return looked, len(order), *recalls, len(cited & set(order)) / len(cited)


@contextmanager
def _service(world: PaperWorld, source: str) -> Iterator[Http]:
    with Loopback() as server, tempfile.TemporaryDirectory() as cache:
        WORLDS[source](server, world)
        settings = Settings.model_validate(
            {f"{source}_url": server.url, f"{source}_calls_per_s": 1e6, "cache_dir": Path(cache)}
        )
        with Http(settings, sleep=lambda seconds: time.sleep(0)) as http:
            yield http


if __name__ == "__main__":
    main()
