"""Names and strings quoted for SQL."""


def identifier(name: str) -> str:
    """Quote a name.

    >>> print(identifier('a "quoted" name'))
    "a ""quoted"" name"
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a string, for the few places that take no parameter.

    >>> print(literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"
