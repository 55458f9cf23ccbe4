"""Request for one check, parsed from words (``P04637 ACTS_ON Q00987``), names resolved to ids.

Four forms: ``P04637 ACTS_ON Q00987``, ``existence Protein Q00015``, ``attribute Gene TP53 name``, and
``attribute P04637 ACTS_ON Q00987 score`` for a score of an edge.
"""

from collections.abc import Sequence
from enum import StrEnum

from pydantic import Field, TypeAdapter, ValidationError

from kgcheck.errors import UnknownName, UsageError
from kgcheck.model import CheckTask, CheckType, Identifier, Ref, Tier, Value
from kgcheck.profile.schema import Pattern, Schema
from kgcheck.questions.resolver import NameResolver, Taken, taken_names


def forms(schema: Schema) -> str:
    """Describe the forms of a request in words, with an example of the profile."""
    return (
        "HEAD RELATION TAIL, or existence LABEL ID, or attribute LABEL ID NAME, or attribute HEAD RELATION TAIL NAME;"
        f" for example: {schema.edge_example}"
    )


_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)


class TaskType(StrEnum):
    """The five types of task of BioKGBench (its tables 14 and 16). The first is decided by literature, in the paper."""

    CURATED = "curated interaction"
    INTERACTION = "interaction"
    ATTRIBUTE = "attribute"
    EXISTENCE = "existence"
    RELATION = "relation"


class Request(Value):
    """One thing to check. Of an edge, whether it is a triple or a potential one is for the graph to say."""

    text: str
    type: CheckType | None
    subject: str
    label: str | None = None
    attribute: str | None = None
    relation: str | None = None
    object: str | None = None
    patterns: tuple[Pattern, ...] = ()
    taken: tuple[Taken, ...] = Field(default=(), exclude=True, description="names that were taken for nodes")

    @classmethod
    def of(cls, task: CheckTask, schema: Schema) -> "Request":
        """The request of a task; of an edge, whether it is there is asked anew."""
        label, subject, attribute = task.subject.label, task.subject.id, task.attribute
        if task.object is None or task.relation is None:
            schema.attribute(label, attribute) if attribute else schema.label(label)
            kind = CheckType.ATTRIBUTE if attribute else CheckType.EXISTENCE
            return cls(text=str(task), type=kind, subject=subject, label=label, attribute=attribute)
        patterns = (schema.pattern(label, task.relation, task.object.label),)
        return cls(
            text=str(task),
            type=CheckType.ATTRIBUTE if attribute else None,
            subject=subject,
            attribute=attribute,
            relation=task.relation,
            object=task.object.id,
            patterns=_scored(patterns, attribute) if attribute else patterns,
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The request in the words that `parse_request` takes."""
        if self.relation:
            edge = self.subject, self.relation, self.object or ""
            return ("attribute", *edge, self.attribute) if self.attribute else edge
        kind, label = self.type.value if self.type else "", self.label or ""
        return (kind, label, self.subject, self.attribute) if self.attribute else (kind, label, self.subject)

    @property
    def task_type(self) -> TaskType:
        """The type of task that it is in BioKGBench; a score of an edge is an attribute."""
        if self.type:
            return TaskType(self.type.value)
        pattern = self.patterns[0]
        if pattern.symmetric:
            return TaskType.CURATED if pattern.checks[0].tier is Tier.CURATED else TaskType.INTERACTION
        return TaskType.RELATION

    @property
    def tasks(self) -> tuple[CheckTask, ...]:
        """The tasks that it may come to: whether the graph has it is not said, nor in which order an edge stands."""
        task = self.task
        if task.attribute:
            return (task,)
        is_symmetric = any(pattern.symmetric for pattern in self.patterns)
        turned = task.model_copy(update={"subject": task.object, "object": task.subject}) if is_symmetric else task
        kinds = (CheckType.TRIPLE if self.relation else CheckType.EXISTENCE, CheckType.POTENTIAL)
        return tuple(one.model_copy(update={"type": kind}) for kind in kinds for one in dict.fromkeys((task, turned)))

    @property
    def task(self) -> CheckTask:
        """The request as a task in its own words, before the graph was asked what they mean."""
        if self.relation:
            head, tail = (self.patterns[0].head, self.patterns[0].tail) if self.patterns else ("", "")
            ends = Ref(label=head, id=self.subject), Ref(label=tail, id=self.object or "")
            return CheckTask(
                type=self.type or CheckType.TRIPLE,
                subject=ends[0],
                relation=self.relation,
                object=ends[1],
                attribute=self.attribute,
            )
        subject = Ref(label=self.label or "", id=self.subject)
        return CheckTask(type=self.type or CheckType.EXISTENCE, subject=subject, attribute=self.attribute)


def parse_request(words: Sequence[str], schema: Schema) -> Request:
    """Understand a request."""
    tokens = _with_names(words[0].split() if len(words) == 1 else list(words), schema)
    text = " ".join(tokens)
    match tokens:
        case ["existence", label, subject, *rest]:
            subject = " ".join([subject, *rest])
            schema.label(label)
            _check_identifier(subject, schema)
            return Request(text=text, type=CheckType.EXISTENCE, subject=subject, label=label)
        case ["attribute", head, relation, tail, attribute] if _is_edge(head, relation, schema):
            _check_identifier(head, schema)
            _check_identifier(tail, schema)
            return Request(
                text=text,
                type=CheckType.ATTRIBUTE,
                subject=head,
                attribute=attribute,
                relation=relation,
                object=tail,
                patterns=_scored(_patterns(schema, head, relation, tail), attribute),
            )
        case ["attribute", label, *names, attribute] if _is_node(label, names, schema):
            subject = " ".join(names)
            schema.attribute(label, attribute)
            _check_identifier(subject, schema)
            return Request(text=text, type=CheckType.ATTRIBUTE, subject=subject, label=label, attribute=attribute)
        case [head, relation, tail] if head not in ("existence", "attribute"):
            _check_identifier(head, schema)
            _check_identifier(tail, schema)
            patterns = _patterns(schema, head, relation, tail)
            return Request(text=text, type=None, subject=head, relation=relation, object=tail, patterns=patterns)
        case _:
            raise UsageError(f"{text!r} is not a check", forms(schema))


def resolve_request(words: Sequence[str], resolver: NameResolver) -> Request:
    """Understand a request whose nodes and relation may stand in it by name: as a request by ids."""
    schema, tokens = resolver.schema, words[0].split() if len(words) == 1 else list(words)
    is_of_attribute = tokens[:1] == ["attribute"]
    if len(tokens) > 2 and tokens[0] in ("existence", "attribute"):
        tokens[1] = resolver.label(tokens[1])
    if not set(tokens) & set(schema.relation_types) and tokens[:1] != ["existence"] and len(tokens) > 2:
        stated = tokens[1:-1] if is_of_attribute else tokens
        if not (is_of_attribute and tokens[1] in schema.label_names) and (edge := resolver.edge_in(" ".join(stated))):
            words = [edge.head.text, edge.pattern.type, edge.tail.text]
            tokens = ["attribute", *words, tokens[-1]] if is_of_attribute else words
    request = parse_request(tokens, schema)
    if request.relation is None:
        node = resolver.resolve(request.label or "", request.subject)
        return _by_ids(request, taken_names([node]), subject=node.ref.id)
    patterns = schema.patterns(request.relation)
    if request.attribute:
        patterns = list(_scored(patterns, request.attribute))
    edge = resolver.edge((pattern, request.subject, request.object or "") for pattern in patterns)
    taken = taken_names([edge.head, edge.tail])
    return _by_ids(request, taken, subject=edge.head.ref.id, object=edge.tail.ref.id, patterns=(edge.pattern,))


def _by_ids(request: Request, taken: tuple[Taken, ...], **ends: object) -> Request:
    found = request.model_copy(update={**ends, "taken": taken})
    return found.model_copy(update={"text": " ".join(found.words)}) if taken else found


def _with_names(tokens: list[str], schema: Schema) -> list[str]:
    """Words on either side of a relation joined, as in: renal carcinoma HAS_PARENT kidney cancer."""
    at = [i for i, token in enumerate(tokens) if token in schema.relation_types]
    if len(at) != 1 or tokens[0] == "existence":
        return tokens
    first, last = tokens[: at[0]], tokens[at[0] + 1 :]
    if tokens[0] != "attribute":
        return [" ".join(first), tokens[at[0]], " ".join(last)]
    if len(first) < 2 or len(last) < 2:
        return tokens
    return ["attribute", " ".join(first[1:]), tokens[at[0]], " ".join(last[:-1]), last[-1]]


def _is_node(label: str, names: Sequence[str], schema: Schema) -> bool:
    """Return whether the words between ``attribute`` and an attribute are a label and a name."""
    is_name = label in schema.label_names and not set(names) & set(schema.relation_types)
    return len(names) == 1 or (len(names) > 1 and is_name)


def _is_edge(head: str, relation: str, schema: Schema) -> bool:
    """Return whether an edge follows ``attribute``, its relation perhaps misspelled, and not a node."""
    return relation in schema.relation_types or head not in schema.label_names


def _scored(patterns: Sequence[Pattern], attribute: str) -> tuple[Pattern, ...]:
    found = tuple(p for p in patterns if attribute in p.scored)
    if found:
        return found
    relation = patterns[0].type
    if any(attribute in p.properties for p in patterns):
        checked = ", ".join(dict.fromkeys(name for p in patterns for name in p.scored)) or "none"
        hint = f"attributes of {relation} with a check: {checked}"
        raise UnknownName("check of", f"{relation}.{attribute}", [], hint)
    raise UnknownName("attribute", attribute, [name for p in patterns for name in p.properties])


def _check_identifier(text: str, schema: Schema) -> None:
    try:
        _IDENTIFIER.validate_python(text.strip())
    except ValidationError:
        raise UsageError(f"{text!r} cannot be an id or a name", forms(schema)) from None


def _patterns(schema: Schema, head: str, relation: str, tail: str) -> tuple[Pattern, ...]:
    """Patterns whose id forms fit; else, for names instead of ids, those with an end that has names."""
    try:
        return tuple(schema.patterns_for(head, relation, tail))
    except UnknownName:
        patterns = schema.patterns(relation)
        named = [p for p in patterns if _may_be(schema, p.head, head) and _may_be(schema, p.tail, tail)]
        if not named:
            raise
        return tuple(named)


def _may_be(schema: Schema, label: str, text: str) -> bool:
    spec = schema.label(label)
    return spec.matches(text) or "name" in spec.properties
