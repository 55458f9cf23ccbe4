"""Forms that are known and not read."""

from kgcheck.forms.form import Refused

REFUSED: tuple[Refused, ...] = ()
