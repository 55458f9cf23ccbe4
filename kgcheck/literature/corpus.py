"""Corpus: add documents to a literature index, embed them, and build or rebuild the index.

Every step is kept when it is done, so that a build that was cut off goes on. The parts are written beside those that
are in use, and the manifest is put in place last: an index is the old one or the new one, never half of each.
"""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kgcheck import clock
from kgcheck.choices import SECTIONS
from kgcheck.closing import Closing
from kgcheck.errors import LET_WRITE, IndexFault, InputError, InputFormat, InputMissing, StoreError
from kgcheck.literature import dense, store
from kgcheck.literature.documents import Document, Rejected
from kgcheck.literature.embed import Embedder
from kgcheck.literature.formats import Record, choose_recipe, read_documents
from kgcheck.literature.lexical import Lexical
from kgcheck.literature.papers import WholePaper
from kgcheck.literature.store import Added, DenseManifest, DocumentStore, Manifest, packed, read_manifest
from kgcheck.literature.weights import WORDS_ALONE
from kgcheck.locks import FileLock
from kgcheck.outputs import write_text
from kgcheck.profile.corpus_files import CorpusRecipe, by_suffix
from kgcheck.progress import NoProgress, Progress

QUARANTINE = "quarantine.jsonl"
_TRANSACTION = 2_000
_EMBEDDED_TOGETHER = 512
_MODEL = "model"
_RUNTIMES = "runtimes"


class AddedFiles(NamedTuple):
    """Counts of records of files by what became of them, and the place of those that are no documents."""

    counts: dict[str, int]
    quarantined: int
    quarantine: Path


class Corpus(Closing):
    """An index that is being made or changed; one process at a time."""

    def __init__(
        self,
        folder: Path,
        *,
        create: bool = False,
        progress: Progress | None = None,
        exact_below: int = dense.EXACT_BELOW,
    ) -> None:
        self.folder = folder
        self._exact_below = exact_below
        self._progress = progress or NoProgress()
        self._lock: FileLock | None = None
        try:
            if create:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "lock").touch()
            if (folder / "lock").exists():
                self._lock = FileLock(folder / "lock", exclusive=True)
        except StoreError as error:
            raise IndexFault(f"the index in {folder} is in use by another process", "wait until it ends") from error
        except OSError as error:
            raise IndexFault(f"cannot make an index in {folder}: {error.strerror}", LET_WRITE) from error
        try:
            self.store = DocumentStore(folder / store.DOCUMENTS, create=create)
        except BaseException:
            self._release()
            raise

    def add(self, files: Iterable[Path], recipe: CorpusRecipe | None = None, *, replace: bool = False) -> AddedFiles:
        """Put the documents of files into the store."""
        counts: Counter[str] = Counter()
        with self._adding(counts, replace=replace) as put:
            for given in files:
                with self._progress.step(f"reading {given.name}") as step:
                    for file in files_of(given):
                        try:
                            records = read_documents(file, recipe or choose_recipe(file))
                            while part := list(islice(records, _TRANSACTION)):
                                put(part, file)
                                step.advance(len(part))
                        except InputFormat as error:
                            # Of a folder, one file must not keep the others out.
                            if file == given:
                                raise
                            put([Rejected(reason="malformed", detail=error.message, place=str(file))], file)
        taken = set(Added) - {Added.CONFLICT}
        quarantined = sum(count for name, count in counts.items() if name not in taken)
        return AddedFiles(dict(counts), quarantined, self.folder / QUARANTINE)

    def add_records(self, records: list[Record], source: str) -> Counter[str]:
        """Put records into the store that came from a service, in one transaction."""
        counts: Counter[str] = Counter()
        with self._adding(counts) as put:
            put(records, Path(source))
        return counts

    @contextmanager
    def _adding(
        self, counts: Counter[str], *, replace: bool = False
    ) -> Iterator[Callable[[Iterable[Record], Path], None]]:
        """Give what puts records of a file in, in one transaction; those that are no documents are quarantined."""
        retracted: list[str] = []
        path = self.folder / QUARANTINE

        def put(records: Iterable[Record], file: Path) -> None:
            rejected: list[Rejected] = []
            with self.store.writing():
                for record in records:
                    if isinstance(record, Rejected):
                        counts[record.reason] += 1
                        rejected.append(record)
                        continue
                    if isinstance(record, WholePaper):
                        became, met = self.store.add_paper(record, replace=replace)
                        retracted.extend(record.retracts)
                    else:
                        became, met = self.store.add(record, replace=replace)
                    counts[became.value] += 1
                    if became is Added.CONFLICT:
                        detail = f"{met} has another text in the index; --replace takes the new one"
                        rejected.append(Rejected(reason="conflict", detail=detail, record=record.id, place=str(file)))
            lines.writelines(item.model_dump_json() + "\n" for item in rejected)

        try:
            with path.open("a", encoding="utf-8") as lines:
                yield put
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}", LET_WRITE) from error
        # A notice concerns a paper that is here, or one that may come.
        self.store.retract(retracted)

    @property
    def model(self) -> tuple[str, str] | None:
        """Name and digest of the model whose embeddings are kept; WORDS_ALONE where none was wanted; None if new."""
        kept = self.store.get_meta(_MODEL)
        return tuple(json.loads(kept)) if kept else None

    def build(self, embedder: Embedder | None, *, anew: bool = False) -> Manifest:
        """Make the parts that are searched, as far as they are not of the documents that are here now."""
        before = None if anew else self._before()
        if not anew:
            self._remove_unused(before)
        if embedder:
            self._check_model(embedder, anew=anew)
            self._embed(embedder)
        elif not self.model:
            self.store.set_meta(_MODEL, json.dumps([WORDS_ALONE, ""]))
        wanted = (self.store.version, embedder.digest if embedder else None)
        if before and wanted == (before.version, before.dense.digest if before.dense else None):
            return before
        numbers = np.array(self.store.numbers(), dtype=np.int64)
        name = f"built-{self.store.version}-{clock.exact_now().strftime('%Y%m%d%H%M%S%f')}"
        part = self.folder / name
        try:
            part.mkdir()
            np.save(part / "numbers.npy", numbers)
            sections = self.store.sections()
            if sections:
                np.save(part / store.PAPERS, np.array(sections[0], dtype=np.int64))
                np.save(part / store.SECTIONS_OF, np.array([SECTIONS.index(s) for s in sections[1]], dtype=np.int8))
            with self._progress.step("indexing words"):
                Lexical.of(text for _, text in self.store.texts()).save(part / "words")
            made = self._build_dense(embedder, numbers, part, before) if embedder and len(numbers) else None
            manifest = Manifest(
                built_at=clock.now().isoformat(),
                version=self.store.version,
                documents=len(numbers),
                paragraphs=len(numbers) - len(set(sections[0])) if sections else 0,
                folder=name,
                dense=made,
            )
            # At once: an index has the old manifest or the new one.
            write_text(self.folder / store.MANIFEST, manifest.model_dump_json(indent=2) + "\n")
        except BaseException as error:
            shutil.rmtree(part, ignore_errors=True)
            if not isinstance(error, OSError | InputError):
                raise
            why = error.message if isinstance(error, InputError) else error.strerror or error
            raise IndexFault(f"cannot write the index in {self.folder}: {why}", "free disk space") from error
        self._remove_unused(manifest)
        return manifest

    def _remove_unused(self, manifest: Manifest | None) -> None:
        if manifest is None and (self.folder / store.MANIFEST).exists():
            return
        for old in self.folder.glob("built-*"):
            if manifest is None or old.name != manifest.folder:
                shutil.rmtree(old, ignore_errors=True)

    def _before(self) -> Manifest | None:
        if not (self.folder / store.MANIFEST).exists():
            return None
        manifest = read_manifest(self.folder)
        return manifest if (self.folder / manifest.folder).is_dir() else None

    def _check_model(self, embedder: Embedder, *, anew: bool) -> None:
        model = self.model
        if model and model[1] not in ("", embedder.digest):
            if not anew:
                raise IndexFault(
                    f"the embeddings in {self.folder} are of the model {model[0]} ({model[1]}),"
                    f" not of {embedder.name} ({embedder.digest})",
                    "name that model with --model, or make them again with kgcheck corpus build --anew",
                )
            self.store.clear_vectors()
            self.store.set_meta(_RUNTIMES, "")
        self.store.set_meta(_MODEL, json.dumps([embedder.name, embedder.digest]))

    def _embed(self, embedder: Embedder) -> None:
        """Embed what is not embedded, whole documents and each of their sentences; each part is kept at once."""

        def whole(documents: list[Document]) -> list[bytes]:
            return [row.tobytes() for row in embedder.encode([d.text for d in documents]).astype(np.float16)]

        def by_sentence(documents: list[Document]) -> list[bytes]:
            vectors = embedder.encode([passage for d in documents for passage in d.passages])
            ends = np.cumsum([len(d.passages) for d in documents])
            return [packed(own) for own in np.split(vectors, ends[:-1])]

        for step_name, table, embed in (
            ("embedding abstracts", store.VECTORS, whole),
            ("embedding sentences", store.SENTENCES, by_sentence),
        ):
            lacking = self.store.without(table)
            if not lacking:
                continue
            self.store.set_meta(_RUNTIMES, ", ".join(sorted({*self._runtimes(), embedder.runtime})))
            with self._progress.step(step_name, len(lacking)) as step:
                for at in range(0, len(lacking), _EMBEDDED_TOGETHER):
                    part = lacking[at : at + _EMBEDDED_TOGETHER]
                    documents = self.store.documents(part)
                    self.store.put(table, part, embed([documents[n] for n in part]))
                    step.advance(len(part))

    def _runtimes(self) -> list[str]:
        """List the runtimes of the kept embeddings: not always one, where an index moves between machines."""
        kept = self.store.get_meta(_RUNTIMES)
        return kept.split(", ") if kept else []

    def _build_dense(
        self, embedder: Embedder, numbers: dense.Numbers, part: Path, before: Manifest | None
    ) -> DenseManifest:
        shape = (len(numbers), embedder.dimension)
        path = part / "vectors.npy"
        vectors = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=shape)
        _reserve(path)
        with self._progress.step("indexing vectors"):
            for row, (_, raw) in enumerate(self.store.vectors()):
                vectors[row] = np.frombuffer(raw, dtype=np.float16)
            vectors.flush()
            index = None
            if before and before.dense and before.dense.digest == embedder.digest:
                old = self.folder / before.folder
                former = dense.Dense.load(old / "vectors.faiss", before.dense.structure, writable=True)
                index = former.changed(numbers, vectors, np.load(old / "numbers.npy"), exact_below=self._exact_below)
            index = index or dense.Dense.of(numbers, vectors, exact_below=self._exact_below)
            index.save(part / "vectors.faiss")
        return DenseManifest(
            model=embedder.name,
            digest=embedder.digest,
            runtime=", ".join(self._runtimes()),
            dimension=embedder.dimension,
            structure=index.structure,
        )

    def close(self) -> None:
        self.store.close()
        self._release()

    def _release(self) -> None:
        if self._lock:
            self._lock.release()
            self._lock = None


def files_of(place: Path) -> list[Path]:
    """The files that are meant: a file itself, or those of a folder that some recipe may read."""
    if not place.is_dir():
        return [place]
    inside = place.resolve()
    found = [p for p in sorted(place.rglob("*")) if p.is_file() and by_suffix(p) and p.resolve().is_relative_to(inside)]
    if not found:
        raise InputMissing(f"the folder {place} holds no documents that kgcheck reads", "see docs/literature.md")
    return found


def _reserve(path: Path) -> None:
    """Take the room of a file on the disk: to write into a mapped file for which there is none kills the process."""
    if not hasattr(os, "posix_fallocate"):
        return
    with path.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
