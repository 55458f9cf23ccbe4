"""What a model reads of every tool, and a person of every resource and prompt: a title and a description."""

from typing import NamedTuple


class Naming(NamedTuple):
    """What something is called, and what it does."""

    title: str
    description: str


TOOLS: dict[str, Naming] = {
    "check": Naming(
        "Check one fact",
        "Is an edge, a node or an attribute of the graph right? Looks into the graph and into every "
        "source that decides it, now, and gives the verdict with all evidence. Takes seconds; sends its "
        "progress, and stops when it is cancelled. Nothing is kept.",
    ),
    "ask": Naming(
        "Ask the graph",
        "A question in words, answered from the graph alone, with the path of edges to every answer. "
        "`read_as` says how it was understood; look at it before you use the answers. That a graph does "
        "not state something is no proof that it is not so.",
    ),
    "search": Naming(
        "Search papers",
        "Those of the literature index, the best first, each with its best passage, quoted.",
    ),
    "verify": Naming(
        "Read papers about a claim",
        "Do they support or contradict it? Gives each paper's opinion with exact quotes. `silent` means "
        "that they were read and do not say.",
    ),
    "findings": Naming(
        "List findings",
        "What an audit found wrong or could not tell, the refuted first, page by page. A filter that is "
        "left out means any; several values of one filter mean any of them.",
    ),
    "explain": Naming(
        "Explain a finding",
        "All evidence, each piece with its source, release and record, what is proposed, and what people "
        "decided about it.",
    ),
    "verified_facts": Naming(
        "Look up what is verified",
        "For edges, or for a node with its attributes and edges, what the newest audit that looked found, "
        "by which record of which release, in which run. Asks nothing anew, so it is quick. A fact "
        "without `outcome` was never looked at, which says nothing about it.",
    ),
    "ground_text": Naming(
        "Ground a text",
        "What does each sentence of a text rest on? Holds what it states against the audited graph, the papers and the "
        "reference, and its citations against its list of references. Gives sentences with remarks and their "
        "evidence, alarms first; `not_looked` says what there was nothing for. A sentence without a remark states "
        "nothing that could be looked up, and is only counted in `states`. Nothing is kept.",
    ),
    "brief": Naming(
        "Sum up what is known",
        "Of a node or a topic: what is verified, what papers state and deny, and what is contested, refuted, missing "
        "or not verified, each sentence with what it rests on. Made by rules alone. State as true only what is of the "
        "kind verified.",
    ),
    "check_protocol": Naming(
        "Check a protocol",
        "Which steps of a dry-lab protocol fell: what they rest on held when it was made, and does not now? Also what "
        "is wrong in it and what it lacks. Takes a protocol.json as kgcheck protocol design writes it. Nothing is "
        "kept.",
    ),
    "decide": Naming(
        "Decide about findings",
        "In the name of the person whose token this is, so only what that person has asked for. All or "
        "none is decided. Nothing is overwritten and the graph is not changed; reopen takes a decision "
        "back.",
    ),
}

RESOURCES: dict[str, Naming] = {
    "runs": Naming(
        "Runs",
        "Audits and checks, the newest first, each with how many tasks ended how.",
    ),
    "run": Naming(
        "A run",
        "Its references and warnings, and its counts by type, part of the graph, outcome and reason.",
    ),
    "finding": Naming(
        "A finding",
        "With all evidence and what was decided about it, as the tool `explain` gives it.",
    ),
}

PROMPTS: dict[str, Naming] = {
    "triage": Naming(
        "Triage findings",
        "Go through the open findings of a run, the refuted first, and propose a decision for each.",
    ),
    "finding": Naming(
        "Look into one finding",
        "Its evidence, what papers say, and whether the repair is right.",
    ),
    "whats_new": Naming(
        "What is new",
        "Sum up what became of the graph since the audit before.",
    ),
}
