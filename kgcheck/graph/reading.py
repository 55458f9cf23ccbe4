"""Statements from outside, as a model writes them: reading ones only, over the names of the schema.

Three guards, each enough by itself against writing: this one looks at the words, the store opens for reading, and the
server keeps a reading transaction.
"""

import re

from kgcheck.errors import UnknownName, UsageError
from kgcheck.graph.schema import Schema

_ASIDE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_WRITES = (
    "CREATE MERGE DELETE DETACH SET REMOVE DROP ALTER COPY LOAD CALL FOREACH INSTALL ATTACH USE IMPORT EXPORT GRANT "
    "DENY REVOKE BEGIN COMMIT ROLLBACK CHECKPOINT EXPLAIN PROFILE INSERT COMMENT MACRO TERMINATE SHOW START STOP"
).split()
_WORD = re.compile(r"(?<![.:`$\w])([A-Za-z]+)\b(?!\s*[:.])")
_NAMES = re.compile(r":\s*((?:`[^`]*`|\w+)(?:\s*[|&]\s*:?\s*(?:`[^`]*`|\w+))*)")
_FUNCTION = re.compile(r"\b(\w+(?:\.\w+)+)\s*\(")
_HINT = "one statement with MATCH and RETURN over the labels and relations of the profile"


def check_reading(text: str, schema: Schema) -> None:
    """Refuse a statement that is not plainly a reading one, or names what the schema does not have.

    Args:
        text: Cypher.
        schema: The allow-list of labels and relations.

    Raises:
        UsageError: It writes, calls a procedure, is several statements, or returns nothing.
        UnknownName: It names a label or relation that does not exist.
    """
    bare = _ASIDE.sub(" '' ", text).strip().rstrip(";")
    words = {word.upper() for word in _WORD.findall(bare)}
    forbidden = sorted(words & set(_WRITES))
    if forbidden:
        raise UsageError(f"{forbidden[0]} is not allowed in a reading statement", _HINT)
    if ";" in bare or "$" in bare:
        raise UsageError("a reading statement is one statement without parameters", _HINT)
    if not {"MATCH", "RETURN"} <= words:
        raise UsageError("a reading statement has MATCH and RETURN", _HINT)
    called = _FUNCTION.search(bare)
    if called:
        raise UsageError(f"the function {called[1]} is not allowed in a reading statement", _HINT)
    known = {*schema.label_names, *schema.relation_types}
    # Inside braces a colon stands between a property and its value.
    for names in _NAMES.findall(re.sub(r"\{[^{}]*\}", " ", bare)):
        for name in re.findall(r"`([^`]*)`|(\w+)", names):
            if (name[0] or name[1]) not in known:
                raise UnknownName("label or relation", name[0] or name[1], known)
