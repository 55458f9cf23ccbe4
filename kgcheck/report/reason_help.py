"""What the page of reasons says of each: its meaning and its repair (docs/reasons.md, which is shipped)."""

import re
from functools import cache

from kgcheck.model import CheckType, Reason
from kgcheck.report.wording import REASONS
from kgcheck.resources import resource_dir

_PAGE = "reasons.md"
_SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.M | re.S)
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")


def reason_help(reason: Reason, kind: CheckType) -> str:
    """What a reason means and how it is repaired, in a few sentences."""
    pages = _pages()
    found = pages[1 if kind is CheckType.STRUCTURE else 0].get(reason) or pages[0].get(reason) or pages[1].get(reason)
    return f"{REASONS[reason]}: {found}" if found else f"{REASONS[reason]}."


@cache
def _pages() -> tuple[dict[Reason, str], dict[Reason, str]]:
    """Help by reason, of what sources decide and of structure."""
    path = resource_dir("docs") / _PAGE
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    looked, structure = dict[Reason, str](), dict[Reason, str]()
    for title, body in _SECTION.findall(text):
        header: list[str] = []
        for line in body.splitlines():
            cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("|") else []
            if not cells:
                header = []
            elif not header:
                header = cells
            elif cells[0].strip("`") in set(Reason):
                row = dict(zip(header, cells, strict=False))
                into = structure if title == "Structure" else looked
                into[Reason(cells[0].strip("`"))] = _sentences(row.get("meaning", ""), row.get("repair", ""))
    return looked, structure


def _sentences(meaning: str, repair: str) -> str:
    return _LINK.sub(r"\1", f"{meaning}. Repair: {repair}." if repair else f"{meaning}. No repair is proposed.")
