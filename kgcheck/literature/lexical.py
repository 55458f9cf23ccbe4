"""BM25 index of texts (bm25s) with English stemming, and content words of a text."""

import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgcheck.errors import IndexFault
from kgcheck.literature.polarity import empty_words
from kgcheck.text.words import stemmer

K1, B, METHOD = 0.9, 0.4, "lucene"
"""Robertson's parameters as Anserini sets them for short texts; bm25s' `lucene` variant of the formula."""

SETTINGS: dict[str, Any] = {"k1": K1, "b": B, "method": METHOD, "stemmer": "english", "tokens": "bm25s words"}

Scores = NDArray[np.float32]

_NOTHING = "\u241f"  # the only word of a text without words: bm25s cannot index nothing at all


class Lexical:
    """BM25 scores of a query for every text, by the place of the text."""

    def __init__(self, engine: Any, size: int) -> None:
        self._engine = engine
        self._size = size

    @classmethod
    def of(cls, texts: Iterable[str], k1: float = K1, b: float = B) -> "Lexical":
        """An index over texts, in memory."""
        import bm25s

        _quiet()
        tokens = bm25s.tokenize(list(texts), stopwords="en", stemmer=stemmer(), return_ids=True, show_progress=False)
        size = len(tokens.ids)
        if not tokens.vocab or not any(tokens.ids):
            tokens = bm25s.tokenization.Tokenized(ids=[[0]] + [[] for _ in range(size - 1)], vocab={_NOTHING: 0})
        engine = bm25s.BM25(k1=k1, b=b, method=METHOD)
        engine.index(tokens, show_progress=False)
        return cls(engine, size)

    def save(self, folder: Path) -> None:
        self._engine.save(str(folder), show_progress=False)

    @classmethod
    def load(cls, folder: Path, size: int) -> "Lexical":
        """Open an index that was saved; its arrays stay on disk."""
        import bm25s

        _quiet()
        try:
            return cls(bm25s.BM25.load(str(folder), mmap=True, show_progress=False, verbosity=0), size)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexFault(f"the word index {folder} is broken: {error}", _REBUILD) from error

    def scores(self, query: str) -> Scores:
        """BM25 of every text for a query; all zero where it has no known word."""
        import bm25s

        found = bm25s.tokenize([query], stopwords="en", stemmer=stemmer(), return_ids=False, show_progress=False)
        known = [t for t in dict.fromkeys(found[0]) if t in self._engine.vocab_dict]
        if not known:
            return np.zeros(self._size, dtype=np.float32)
        return np.asarray(self._engine.get_scores(known), dtype=np.float32)


def relevances(text: str, others: Iterable[str], k1: float = K1, b: float = B) -> list[float]:
    """Compute the BM25 relevance of some texts to a text, as a share of what the text has itself."""
    texts = [text, *others]
    if len(texts) == 1:
        return []
    own, *rest = Lexical.of(texts, k1, b).scores(text).tolist()
    return [min(1.0, score / own) if own else 0.0 for score in rest]


_REBUILD = "kgcheck corpus build --index DIR --anew makes it again from the documents"
_CONTENT = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


def content_words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, each once, without the English words that name nothing.

    >>> content_words("The role of TGF-beta in the kidney, and (NOT) of p53")
    ('role', 'tgf-beta', 'kidney', 'p53')
    """
    from bm25s.stopwords import STOPWORDS_EN

    return tuple(dict.fromkeys(w for w in _CONTENT.findall(text.casefold()) if w not in STOPWORDS_EN))


def stems(words: Iterable[str]) -> frozenset[str]:
    """The English stems of words."""
    return frozenset(stemmer().stemWords(list(words)))


def item_words(name: str) -> frozenset[str]:
    """Stems of the content words of a name.

    >>> sorted(item_words("the normalised counts of the gene"))
    ['count', 'gene', 'normalis']
    """
    parts = "".join(c if c.isalnum() else " " for c in name.casefold()).split()
    return stems(part for part in parts if part not in empty_words())


def _quiet() -> None:
    logging.getLogger("bm25s").setLevel(logging.WARNING)
