"""`Context`: a graph with references, ledger, papers and brain, each opened on first use."""

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from pydantic import ValidationError

from kgcheck.choices import BRAINS, DEFAULT_PROFILE, DEFAULT_STORE, DRAFT, FILES, chosen
from kgcheck.closing import Closing
from kgcheck.errors import KgcheckError, LedgerError, StoreMissing, UsageError
from kgcheck.graph.open import is_address
from kgcheck.ledger.place import LedgerPlace, checked_place, ledger_place
from kgcheck.model import Ref, Value
from kgcheck.options import JudgeOptions
from kgcheck.pins import find_pins
from kgcheck.profile.schema import Schema, read_schema
from kgcheck.progress import CallbackProgress, NoProgress, Progress, ProgressCallback
from kgcheck.redact import is_secret_path
from kgcheck.settings import Settings, read_settings

if TYPE_CHECKING:
    from kgcheck.agents.team import Brain
    from kgcheck.checks.calibration import Calibration
    from kgcheck.forms.store import DraftedStore
    from kgcheck.graph.names import NameIndex
    from kgcheck.graph.py2neo import Graph
    from kgcheck.graph.store import GraphStore
    from kgcheck.ledger.ledger import Ledger
    from kgcheck.ledger.verified import VerifiedReader
    from kgcheck.literature.edge_reader import TripleReader
    from kgcheck.literature.embed import Embedder
    from kgcheck.literature.judges import Judges
    from kgcheck.literature.names import Names
    from kgcheck.literature.search import LiteratureIndex
    from kgcheck.literature.trained_verifier import TrainedVerifier
    from kgcheck.literature.verify import Verifier
    from kgcheck.llm.budget import Limits, Meter
    from kgcheck.questions.answer import Answer
    from kgcheck.questions.resolver import NameResolver
    from kgcheck.reference.live import LiveReference
    from kgcheck.reference.names import SnapshotNames

T = TypeVar("T")

PartName = Literal["ledger", "store", "reference", "literature"]


class Part(Value):
    """A part of a context, and why it cannot be read, where it cannot."""

    name: PartName
    is_ready: bool
    kind_of_error: str = ""
    why: str = ""
    hint: str = ""


class Context(Closing):
    """Everything that a check, an audit or a question may look into; see `kgcheck.Workspace` for the arguments."""

    def __init__(
        self,
        *,
        store: "str | Path | GraphStore | Graph | None" = None,
        reference: str | Path | None = None,
        ledger: str | Path | None = None,
        literature: str | Path | None = None,
        pins: str | Path | None = None,
        profile: str | Path = DEFAULT_PROFILE,
        live: bool = False,
        offline: bool = False,
        brain: str = "rules",
        with_retired: bool = False,
        settings: Settings | None = None,
        progress: Progress | ProgressCallback | None = None,
    ) -> None:
        self.profile = str(profile.absolute()) if isinstance(profile, Path) else profile
        self._given_store = _open_store(store, self.profile, with_retired=with_retired)
        self.store = self._given_store.name if self._given_store else str(store or DEFAULT_STORE)
        self.store_is_named = store is not None
        self.reference = _path("reference", reference)
        self.literature = _path("literature", literature)
        self._given_pins = _path("pins", pins)
        self.live = live
        self.offline = offline
        self.brain = chosen("brain", brain, BRAINS)
        self.with_retired = with_retired
        self.progress: Progress = CallbackProgress(progress) if callable(progress) else progress or NoProgress()
        self._given_settings = settings
        self._given_ledger = checked_place(str(ledger)) if ledger else None
        self._opened = OpenedOnce()
        self._finalizer = weakref.finalize(self, self._opened.close)

    @cached_property
    def settings(self) -> Settings:
        """The settings that it works with."""
        if self._given_settings is None:
            return read_settings(offline=True) if self.offline else read_settings()
        return self._given_settings.model_copy(update={"offline": True} if self.offline else {})

    @cached_property
    def schema(self) -> Schema:
        """The schema of the profile, or that of the store: one that was handed over open, or files with a draft."""
        if self._given_store:
            return self._given_store.schema
        return self.graph.schema if self._files[0] or self.is_drafted else read_schema(self.profile)

    @property
    def is_drafted(self) -> bool:
        """Tell whether the schema is drafted from the graph: files, or a server, for which no profile is named."""
        if self._files[0]:
            return self.profile in (DRAFT, DEFAULT_PROFILE)
        return self.profile == DRAFT and is_address(self.store)

    @cached_property
    def _files(self) -> tuple[Sequence[Path], str, Mapping[str, str]]:
        if self._given_store or not self.store.startswith(FILES):
            return (), "", {}
        from kgcheck.forms.store import graph_files

        return graph_files(self.store)

    def close(self) -> None:
        """Close what is open. What comes after it is refused; findings that were given out can still be read."""
        self._finalizer()

    def close_graph(self) -> None:
        """Close what is open, to be opened again when it is needed: a store that is written to is open for nobody."""
        if self._given_store:
            raise UsageError(
                f"the store {self.store} was handed over open, and is only read", "name it by its path or address"
            )
        self._opened.reset()

    # The graph and its references

    @property
    def graph(self) -> "GraphStore":
        """The graph, open for reading."""
        if self._given_store:
            self._opened.check()
            return self._given_store
        return self._opened.get("graph", self._open_graph)

    def _open_graph(self) -> "AbstractContextManager[GraphStore]":
        paths, release_of, columns = self._files
        if not paths and not self.is_drafted:
            from kgcheck.graph.open import open_store

            return open_store(self.store, self.schema, self.settings, with_retired=self.with_retired)
        from kgcheck.forms.store import FileStore, ServerCopy

        store: DraftedStore
        if paths:
            schema = None if self.is_drafted else read_schema(self.profile)
            store = FileStore(
                paths, self.settings, self.progress, schema=schema, release_of=release_of, columns=columns
            )
        else:
            store = ServerCopy(self.store, self.settings, self.progress)
        if store.schema.profile.draft and self.reference:
            from kgcheck.reference.issuers import with_issuers

            store.schema, doubts = with_issuers(store.schema, store.ids(), self.reference)
            store.files.tables.notes.extend(doubts)
        return cast("AbstractContextManager[GraphStore]", store)

    @property
    def drafted_store(self) -> "DraftedStore | None":
        """The graph, open, where it was read without a profile; None of a graph store."""
        if not (self._given_store or self._files[0] or self.is_drafted):
            return None
        from kgcheck.forms.store import DraftedStore

        graph = self.graph
        return graph if isinstance(graph, DraftedStore) else None

    def graph_date(self, stated: str | None = None) -> str | None:
        """The day of which the graph is, where it is stated, or that of a graph that was read without a load.

        An id that came after a release, and before that day, may be one that the release does not know.
        """
        store = self.drafted_store if self.schema.sources else None
        return stated or (store.day() if store else None)

    def recognised(self) -> list[str]:
        """Describe in lines what was recognised in a graph without a profile, and what was left out."""
        return store.files.lines() if (store := self.drafted_store) else []

    def graph_if_there(self) -> "GraphStore | None":
        """The graph; None where none is named, and the default one is not there."""
        try:
            return self.graph
        except StoreMissing:
            if self.store_is_named:
                raise
            return None

    @property
    def pins(self) -> Path | None:
        """The file of pins: the one that is named, or that of the working directory or beside the graph."""
        if self._given_pins or self._given_store:
            return self._given_pins
        return find_pins(self._files[0] or ([] if is_address(self.store) else [Path(self.store)]))

    # The ledger

    @property
    def ledger(self) -> LedgerPlace:
        """The file or the database of the ledger."""
        return ledger_place(self._given_ledger or self.settings.ledger or self.settings.ledger_file, self.settings)

    @contextmanager
    def reading(self) -> "Iterator[Ledger]":
        """The ledger, which must be there."""
        from kgcheck.ledger.ledger import Ledger

        self._opened.check()
        with Ledger(self.ledger, create=False) as ledger:
            yield ledger

    @contextmanager
    def writing(self) -> "Iterator[Ledger]":
        """The ledger, which must be there, open for writing, too."""
        from kgcheck.ledger.ledger import Ledger

        self._opened.check()
        if isinstance(place := self.ledger, Path) and not place.exists():
            raise LedgerError(f"there is no ledger at {place}", "kgcheck audit makes one; --ledger names another")
        with Ledger(place) as ledger:
            yield ledger

    def verified_reader(self) -> "VerifiedReader":
        """The files of what audits judged; they and the ledger stay open."""
        from kgcheck.ledger.ledger import Ledger
        from kgcheck.ledger.verified import VerifiedFiles, VerifiedReader

        ledger = self._opened.get("verified ledger", lambda: Ledger(self.ledger, create=False))
        files = VerifiedFiles.of(ledger, self.settings.home)
        return self._opened.get("verified", lambda: nullcontext(VerifiedReader(ledger, files, self.graph.store_id())))

    def verified_if_there(self) -> "VerifiedReader | None":
        """The same; None where no ledger is named and there is none."""
        try:
            return self.verified_reader()
        except LedgerError:
            if self._given_ledger:
                raise
            return None

    # Papers and names

    def index(self, notes: list[str], folder: Path | None = None) -> "LiteratureIndex":
        """The literature index, or that of another folder; notes get how it is searched."""
        place = folder or self.literature
        if place is None:
            raise UsageError("no papers are named", "name the folder of a literature index: literature=")
        from kgcheck.literature.search import open_index

        index, note = self._opened.get(f"index {place}", lambda: _with_note(*open_index(place)))
        if note:
            notes.append(note)
        return index

    def paper_reader(self, notes: list[str]) -> "TripleReader | None":
        """A reader of papers about edges with the trained judge; None where no papers are named."""
        from kgcheck.literature.judges import Judges, trained_judge

        if not self.literature:
            return None
        return self.edge_reader(self.index(notes), Judges([trained_judge()]))

    def edge_reader(self, index: "LiteratureIndex", judges: "Judges") -> "TripleReader":
        """A reader of papers about edges with judges."""
        from kgcheck.literature.edge_reader import TripleReader

        return TripleReader(index, judges, self.names(), self.schema)

    @contextmanager
    def judging_reader(
        self,
        notes: list[str],
        options: JudgeOptions,
        folder: Path | None,
        limits: "Limits",
        total: "Meter | None" = None,
    ) -> "Iterator[TripleReader | None]":
        """A reader of papers about edges with the judges of options, by their calibrations; None without papers."""
        if folder is None:
            if options.verifiers:
                raise UsageError("a verifier judges papers, and none are named", "add --literature DIR")
            yield None
            return
        with self.judges(notes, options, limits, total) as judges:
            yield self.edge_reader(self.index(notes, folder), judges)
            notes += judges.notes()

    @contextmanager
    def judges(
        self, notes: list[str], options: JudgeOptions, limits: "Limits", total: "Meter | None" = None
    ) -> "Iterator[Judges]":
        """The judges of papers that options name, with what they were measured at.

        They read without the vectors of an index: with them, they would be others than were measured.
        """
        from kgcheck.literature.judges import Judges, judge_of

        with ExitStack() as opened:
            made = []
            for name in options.verifiers or ("trained",):
                verifier = open_verifier(name, None, self.settings, limits, total, notes=notes)
                made.append(judge_of(name, opened.enter_context(verifier)))
            yield Judges(made, self.calibrations(notes), options.trust)

    def calibrations(self, notes: list[str]) -> "list[Calibration]":
        """Calibrations of judges of papers: that which comes with kgcheck, and those that the ledger keeps."""
        from kgcheck.ledger.calibrations import CalibrationTable
        from kgcheck.literature.judges import shipped_calibration

        found, place = [shipped_calibration()], self.ledger
        if not isinstance(place, Path) or place.exists():
            try:
                with self.reading() as ledger:
                    found += CalibrationTable(ledger.database).all()
            except LedgerError as error:
                notes.append(f"no calibration of judges was read from the ledger: {error.message}")
        return found

    def names(self) -> "Names":
        """Names from the graph, where there is one, and from the snapshot, where one is named."""
        from kgcheck.literature.names import AllNames, Names, StoreNames

        graph, known = self.graph_if_there(), self._snapshot_names()
        places: list[Names] = [StoreNames(graph, self.name_index)] if graph else []
        return AllNames([*places, known] if known else places)

    def name_index(self) -> "NameIndex":
        """The names of the graph, to look up."""
        from kgcheck.graph.names import NameIndex

        graph = self.graph
        is_file = graph.backend == "embedded" and not self._files[0]
        beside = Path(f"{graph.name}.names") if is_file else None
        return self._opened.get("name index", lambda: nullcontext(NameIndex.from_store(graph, beside)))

    def resolver(self) -> "NameResolver":
        """Return the resolver, which takes an id or a name, as people write it, to a node."""
        from kgcheck.questions.resolver import NameResolver

        graph, known = self.graph_if_there(), self._snapshot_names()
        return NameResolver(self.schema, graph, known, self.name_index if graph else None)

    def _snapshot_names(self) -> "SnapshotNames | None":
        from kgcheck.reference.names import SnapshotNames

        if (reference := self.reference) is None:
            return None
        return self._opened.get("names", lambda: closing(SnapshotNames(reference, self.schema)))

    def names_of(self, label: str, ids: Iterable[str]) -> dict[str, str]:
        """Names of nodes of a label by id, as the graph or the snapshot has them; nodes need not be in the graph."""
        refs = list[Ref]()
        for identifier in dict.fromkeys(ids):
            with suppress(ValidationError):
                refs.append(Ref(label=label, id=identifier))
        known = self.names().of_many(refs)
        named = {ref.id: next((name for name in known.get(ref, ()) if name != ref.id), "") for ref in refs}
        return {identifier: name for identifier, name in named.items() if name}

    # Models

    @contextmanager
    def asker(
        self,
        limits: "Limits",
        notes: list[str],
        *,
        papers: bool = True,
        total: "Meter | None" = None,
        one_call: bool = False,
        published: bool = False,
    ) -> "Iterator[Callable[[str], Answer]]":
        """A function from a question to its answer, for any number of threads: the compiler's, or a model's.

        With `one_call` a model is asked to take its actions one at a time, as the published agents do; with `published`
        it has their tools and their demonstration, too.
        """
        if self.brain == "rules":
            if published:
                raise UsageError("the published tools are a model's", "add --brain llm")
            if self.literature and papers:
                raise UsageError(
                    "questions are answered from the graph; only a model searches papers", "add --brain llm"
                )
            from kgcheck.profile.lexicon import has_lexicon
            from kgcheck.questions.answer import DRAFTED_WORDS, Questions

            graph, index = self.graph, self.name_index()
            if not has_lexicon(graph.schema):
                notes.append(DRAFTED_WORDS)
            yield self._opened.get("questions", lambda: nullcontext(Questions(graph, self.progress, index))).ask
        else:
            from kgcheck.agents.asker import ReactAgent
            from kgcheck.agents.toolbox import Outside
            from kgcheck.llm.client import ChatClient

            graph = self.graph
            how: dict[str, Any] = {"total": total, "one_call": one_call, "published": published}
            with ChatClient(self.settings, notes) as client:
                reader = self.paper_reader(notes) if papers else None
                outside = Outside(None, reader) if reader else None
                yield ReactAgent(graph, client, limits, outside, resolver=self.resolver(), **how).ask

    @contextmanager
    def brain_maker(
        self,
        limits: "Limits",
        on_text: Callable[[str], None] | None = None,
        notes: list[str] | None = None,
        *,
        total: "Meter | None" = None,
        one_call: bool = False,
        leads: bool = False,
        published: bool = False,
    ) -> "Iterator[Callable[[GraphStore], Brain]]":
        """A function that makes a brain for one check over a store; on_text gets what a model says as it says it.

        With ``leads`` a model plans and concludes, too; with ``published`` it is shown a demonstration of the type of
        its task, as the published agents are.
        """
        if self.brain == "rules":
            if published:
                raise UsageError("demonstrations are for a model", "add --brain llm")
            from kgcheck.agents.brains.rules import RulesBrain

            yield lambda store: RulesBrain()
            return
        from kgcheck.agents.brains.llm import LlmBrain
        from kgcheck.llm.client import ChatClient

        with ChatClient(self.settings, notes) as client:
            yield lambda store: LlmBrain(
                client, limits, on_text, total=total, one_call=one_call, leads=leads, published=published
            )

    def open_once(self, name: str, opening: Callable[[], AbstractContextManager[T]]) -> T:
        """A thing of that name, opened once and closed with the rest."""
        return self._opened.get(name, opening)

    # Whether it can be read

    @property
    def part_names(self) -> list[PartName]:
        """The parts that can be looked at: the ledger and the store always, the others where they are named."""
        named: dict[PartName, object] = {"reference": self.reference, "literature": self.literature}
        return ["ledger", "store", *(name for name, place in named.items() if place)]

    def part(self, name: PartName) -> Part:
        """One part of it, and why it cannot be read, where it cannot; nothing is made or written."""
        try:
            match name:
                case "ledger":
                    with self.reading():
                        pass
                case "store":
                    self.graph.meta()
                case "reference" if self.reference:
                    from kgcheck.reference.snapshot import Snapshot

                    Snapshot(self.reference, self.schema).close()
                case "literature":
                    self.index([])
        except KgcheckError as error:
            kind = type(error).__name__
            return Part(name=name, is_ready=False, kind_of_error=kind, why=error.message, hint=error.hint)
        except OSError as error:
            why, hint = f"cannot use {error.filename}: {error.strerror}", "name another, or ask for the right to use it"
            return Part(name=name, is_ready=False, kind_of_error=type(error).__name__, why=why, hint=hint)
        return Part(name=name, is_ready=True)


class OpenedOnce:
    """Things by name, each opened once, when it is first needed; for any number of threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._stack = ExitStack()
        self._things: dict[str, Any] = {}
        self._closed = False

    def get(self, name: str, opening: Callable[[], AbstractContextManager[T]]) -> T:
        """The thing of that name; it is opened, if it is not open."""
        with self._lock:
            self.check()
            if name not in self._things:
                self._things[name] = self._stack.enter_context(opening())
            thing: T = self._things[name]
            return thing

    def check(self) -> None:
        """Refuse to go on with what was closed."""
        if self._closed:
            raise UsageError("the workspace is closed", "open another one: with Workspace(...) as workspace:")

    def reset(self) -> None:
        """Close everything, to be opened again when it is needed."""
        self.check()
        with self._lock:
            self._things.clear()
            self._stack.close()

    def close(self) -> None:
        """Close everything for good."""
        with self._lock:
            self._closed = True
            self._things.clear()
            self._stack.close()


@contextmanager
def noting() -> Iterator[list[str]]:
    """Collect notes; an error that ends the work carries them, as Python's own ``__notes__``.

    >>> try:
    ...     with noting() as notes:
    ...         notes.append("searching words alone")
    ...         raise UsageError("no such thing")
    ... except UsageError as error:
    ...     error.__notes__
    ['searching words alone']
    """
    notes: list[str] = []
    try:
        yield notes
    except BaseException as error:
        for note in notes:
            error.add_note(note)
        raise


@contextmanager
def live_sources(schema: Schema, settings: Settings, *, wanted: bool) -> Iterator["LiveReference | None"]:
    """UniProt and STRING, if they are to be asked."""
    if not wanted:
        yield None
        return
    from kgcheck.providers.http import Http
    from kgcheck.providers.stringdb import StringDb
    from kgcheck.providers.uniprot import UniProt
    from kgcheck.reference.live import LiveReference

    with Http(settings) as http:
        yield LiveReference(http, UniProt(http, settings), StringDb(http, settings), schema)


def live_failures(live: "LiveReference | None") -> list[str]:
    """The services that could not be asked, each with why, as notes."""
    return [f"{source}: {why}" for source, why in (live.failures | live.refusals if live else {}).items()]


@contextmanager
def open_verifier(
    name: str,
    embedder: "Embedder | None",
    settings: Settings,
    limits: "Limits",
    total: "Meter | None" = None,
    notes: list[str] | None = None,
) -> "Iterator[Verifier]":
    """A verifier by its name: trained, with the model of inference of the settings; or a language model."""
    if name == "inference" and not settings.inference:
        raise UsageError("no model of inference is named", "set KGCHECK_INFERENCE to its folder")
    if name in ("trained", "inference"):
        yield trained_verifier(embedder, settings)
    else:
        from kgcheck.literature.llm_verifier import LlmVerifier
        from kgcheck.llm.client import ChatClient

        with ChatClient(settings, notes) as client:
            yield LlmVerifier(client, limits, total)


def trained_verifier(embedder: "Embedder | None", settings: Settings) -> "TrainedVerifier":
    """The verifier without a key, with the model of inference of the settings."""
    from kgcheck.literature.trained_verifier import TrainedVerifier

    if settings.inference is None:
        return TrainedVerifier(embedder)
    from kgcheck.literature.inference import InferenceReader

    return TrainedVerifier(embedder, inference=InferenceReader.of(settings.inference))


def _open_store(
    store: "str | Path | GraphStore | Graph | None", profile: str, *, with_retired: bool
) -> "GraphStore | None":
    if store is None or isinstance(store, str | Path):
        return None
    if "py2neo" not in {base.__module__.partition(".")[0] for base in type(store).__mro__}:
        return cast("GraphStore", store)
    from kgcheck.graph.py2neo import Py2neoStore

    return Py2neoStore(cast("Graph", store), read_schema(profile), with_retired=with_retired)


def _path(kind: str, given: str | Path | None) -> Path | None:
    """A path; an address, which may hold a password, is none, and no file is made under its name."""
    text = str(given or "")
    if "://" in text or (is_secret_path(text) and not os.path.exists(text)):
        raise UsageError(f"the {kind} is an address, and a path is wanted", "name a file or folder of this machine")
    return Path(text) if text else None


@contextmanager
def _with_note(index: "LiteratureIndex", note: str) -> "Iterator[tuple[LiteratureIndex, str]]":
    with index:
        yield index, note
