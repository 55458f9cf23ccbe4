"""kgcheck's own structure rules, a module each."""

from importlib import import_module
from pkgutil import iter_modules

from kgcheck.rules import Rule

RULES: tuple[Rule, ...] = tuple(
    import_module(f"{__name__}.{module.name}").RULE for module in iter_modules(__path__) if not module.ispkg
)
"""The rules, in the order of their names."""
