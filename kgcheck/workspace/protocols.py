"""Protocols of dry-lab studies, designed from what a workspace has."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from kgcheck import clock
from kgcheck.errors import InputFormat, StoreMissing
from kgcheck.workspace.grounding import Grounding
from kgcheck.workspace.opened import noting
from kgcheck.workspace.opening import Spending, spent_note

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgcheck.model import Ref
    from kgcheck.protocols.design.conversation import DesignFolder
    from kgcheck.protocols.design.material import DesignMaterial, StudyNode
    from kgcheck.protocols.protocol import Objective, StudyFact, StudyProtocol
    from kgcheck.protocols.report import ExperimentalReport
    from kgcheck.workspace.protocol_sources import StudySources
    from kgcheck.workspace.workspace import Workspace


class DesignedProtocol(NamedTuple):
    """A protocol, and the sources that could not be looked at."""

    protocol: "StudyProtocol"
    unavailable: tuple[str, ...]


class Protocols(Grounding):
    """What designs protocols; see Workspace."""

    def design_protocol(
        self,
        objective: "Objective",
        out: str | Path,
        *,
        papers: Sequence[str | Path] = (),
        reports: "Sequence[ExperimentalReport]" = (),
        search: str | Path | None = None,
        tokens: int | None = None,
        money: float | None = None,
    ) -> "DesignedProtocol":
        """Design a protocol, and write it with all that it rests on.

        With the brain ``rules``, every step is a quoted sentence of a paper or a fixed one about verified facts and
        ready analyses. With ``llm`` a model writes and reviews it, and what it writes counts where passages and facts
        bear it out; the same call goes on where one was stopped.

        Args:
            objective: What the protocol is for.
            out: Folder of the protocol, its pages and its transcript; it is made.
            papers: Files of whole papers; beside them, the papers of the workspace that fit best are read.
            reports: What was read of papers before.
            search: Folder of a search for this objective, whose papers and data sets are taken.
            tokens: Most tokens that a model may take, with those of earlier calls.
            money: Most money that it may cost.

        Returns:
            The protocol, and which sources could not be looked at.

        Raises:
            InputFormat: The folder, or the search, is of another objective.
            JobUnderWay: Another process is at work in that folder.
        """
        from kgcheck.protocols.design.by_rules import design_by_rules
        from kgcheck.protocols.design.conversation import DesignFolder
        from kgcheck.protocols.rendering import write
        from kgcheck.workspace.protocol_sources import study_sources

        def made() -> "DesignMaterial":
            found = study_sources(
                cast("Workspace", self),
                objective,
                papers=[Path(paper) for paper in papers],
                reports=reports,
                search=Path(search) if search else None,
            )
            return self._material(objective, found)

        with DesignFolder(Path(out)) as folder:
            if self.brain == "rules":
                material = made()
                folder.begin(material)
                protocol = design_by_rules(material)
            else:
                material, protocol = self._by_model(objective, made, folder, Spending(tokens, money))
            write(protocol, folder.path)
        return DesignedProtocol(protocol, material.unavailable)

    def _by_model(
        self,
        objective: "Objective",
        made: "Callable[[], DesignMaterial]",
        folder: "DesignFolder",
        spending: Spending,
    ) -> "tuple[DesignMaterial, StudyProtocol]":
        from kgcheck.llm.budget import RunMeter
        from kgcheck.llm.client import ChatClient
        from kgcheck.protocols.design.by_model import ModelDesigner
        from kgcheck.protocols.design.conversation import DesignConversation

        with noting() as notes, ChatClient(self.settings) as client:
            material = folder.read()
            if material is None:
                material = made().model_copy(update={"made_by": client.model, "small": client.small})
                folder.begin(material)
            elif material.objective != objective or material.made_by != client.model:
                raise InputFormat(
                    f"{folder.path} is of another objective, or was begun by another model: {material.made_by}",
                    "name another --out",
                )
            total = RunMeter(spending.limits(), client.prices)
            try:
                talk = DesignConversation(folder, client, total)
                return material, ModelDesigner(material, talk, self.progress).design()
            finally:
                notes += spent_note(total)

    def _material(self, objective: "Objective", found: "StudySources") -> "DesignMaterial":
        from kgcheck.protocols.design.material import DesignMaterial

        notes = [*found.notes, *found.unavailable]
        nodes = self._study_nodes(objective, notes)
        return DesignMaterial(
            objective=objective,
            made_at=clock.now(),
            nodes=nodes,
            facts=self._study_facts(nodes, notes),
            reports=found.reports,
            data_sets=found.data_sets,
            notes=tuple(dict.fromkeys(notes)),
            unavailable=found.unavailable,
        )

    def _study_nodes(self, objective: "Objective", notes: list[str]) -> "tuple[StudyNode, ...]":
        """The nodes that an objective is about; a note for each name that the graph does not have."""
        from kgcheck.protocols.design.design_rules import design_rules
        from kgcheck.protocols.design.material import StudyNode
        from kgcheck.workspace.briefing import nodes_called

        found: dict[Ref, str] = {}
        for name in objective.about:
            try:
                refs = nodes_called(self, " ".join(name.split()))
            except StoreMissing:
                # The default store need not be there for what needs no graph.
                if self._store_is_named:
                    raise
                notes.append("no graph is named: no fact stands beside the steps")
                return ()
            found |= dict.fromkeys(refs, name)
            if not refs:
                notes.append(f"the graph has no node called {name!r}")
        most = design_rules().limits.nodes
        if len(found) > most:
            notes.append(f"the objective is about {len(found):,} nodes, of which the first {most} are looked at")
        names = self.names()
        nodes = []
        for ref, name in [*found.items()][:most]:
            known = names.of(ref)
            # What the objective calls it is what its reader knows it by.
            called = next((n for n in known if n.casefold() == name.casefold()), known[0] if known else ref.id)
            nodes.append(StudyNode(ref=ref, name=called, names=known))
        return tuple(nodes)

    def _study_facts(self, nodes: "Sequence[StudyNode]", notes: list[str]) -> "tuple[StudyFact, ...]":
        """What the ledger has of the nodes: that they exist, and their edges."""
        from kgcheck.grounding.brief import stated
        from kgcheck.model import CheckType
        from kgcheck.protocols.design.design_rules import design_rules
        from kgcheck.protocols.design.material import study_facts
        from kgcheck.workspace.verified import tasks_between, tasks_of_node

        if not nodes:
            return ()
        reader = self._judged()
        if reader is None:
            notes.append("there is no ledger: nobody has looked at the facts of the graph")
        most = design_rules().limits.facts
        refs = [node.ref for node in nodes]
        # Of a node with many edges the first ones are taken; those to other nodes of the objective must be among them.
        found = [
            *tasks_between(self.graph, refs),
            *(task for ref in refs for task in tasks_of_node(self.graph, ref, most)),
        ]
        tasks = dict.fromkeys(task for task in found if task.type is not CheckType.ATTRIBUTE)
        names, called = self.names(), {node.ref: node.name for node in nodes}

        def name(ref: "Ref") -> str:
            if ref not in called:
                called[ref] = next((n for n in names.of(ref) if n != ref.id), ref.id)
            return called[ref]

        return study_facts(
            (task, stated(task, self.schema, name), reader.of(task) if reader else None) for task in tasks
        )
