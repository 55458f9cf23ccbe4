"""Pages of UniProt: each is read whole, and must go with those before it, before anything of it is used or kept."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit

from requests.utils import parse_header_links

from kgcheck.errors import SourceAnswer, SourceUnanswerable
from kgcheck.providers.answers import ServiceAnswer

T = TypeVar("T")

PAGE = 500
"""Most entries of a page."""


class Page(NamedTuple, Generic[T]):
    """A page, and what it says of the others: how many results there are, and where the next one is.

    ``items`` are by what tells one from another. ``failed`` and ``obsolete`` are those of an id mapping: ids that it
    does not know, and how many lead to nothing.
    """

    items: dict[Hashable, T]
    failed: tuple[str, ...]
    obsolete: int
    total: int
    cursor: str | None
    answer: ServiceAnswer


def read_page(answer: ServiceAnswer, item: Callable[[Any], tuple[Hashable, T]]) -> Page[T]:
    """Read a page."""
    if answer.status == 400:
        raise SourceUnanswerable(f"UniProt does not take the query: {'; '.join(messages(answer))}", "correct it")
    page = answer.json() if answer.status == 200 else None
    if not isinstance(page, dict) or not isinstance(page.get("results"), list):
        raise SourceAnswer(*wrong(answer, "no page of results"))
    total = answer.headers.get("X-Total-Results", "")
    if not total.isdecimal() or len(total) > 12:
        raise SourceAnswer(*wrong(answer, "a page that does not say how many results there are"))
    failed, obsolete = page.get("failedIds", []), page.get("obsoleteCount", 0)
    if not _are_texts(failed) or not isinstance(obsolete, int) or obsolete < 0:
        raise SourceAnswer(*wrong(answer, "ids that are none"))
    items = dict(item(one) for one in page["results"])
    if len(items) < len(page["results"]) or len(items) > PAGE:
        raise SourceAnswer(*wrong(answer, "a result twice, or more than a page holds"))
    return Page(items, tuple(failed), obsolete, int(total), _cursor(answer), answer)


def check_next(before: Sequence[Page[T]], page: Page[T], least: int | None = None) -> None:
    """Refuse a page that does not go with those before it."""
    pages = [*before, page]
    count = sum(len(one.items) for one in pages)
    if any((one.total, one.answer.release) != (page.total, page.answer.release) for one in before):
        raise SourceAnswer(*wrong(page.answer, "another number of results, or another release, than the page before"))
    if page.cursor is not None and page.cursor in [one.cursor for one in before]:
        raise SourceAnswer(*wrong(page.answer, "the same cursor twice"))
    if count > page.total or any(key in one.items for one in before for key in page.items):
        raise SourceAnswer(*wrong(page.answer, "results that it had given, or more than it counts"))
    if page.cursor is not None and (not page.items or len(pages) * PAGE >= page.total):
        raise SourceAnswer(*wrong(page.answer, "a page that leads on without end"))
    fewest = page.total - max(one.obsolete for one in pages) if least is None else min(least, page.total)
    if page.cursor is None and count < fewest:
        raise SourceAnswer(*wrong(page.answer, f"{count:,} of {page.total:,} results"))


def messages(answer: ServiceAnswer) -> list[str]:
    """The messages of a refusal; a missing route answers 404 too, with a page."""
    body = answer.json()
    if not isinstance(body, dict) or not body.get("messages") or not _are_texts(body["messages"]):
        raise SourceAnswer(*wrong(answer, "no messages"))
    return list(body["messages"])


def wrong(answer: ServiceAnswer, what: str) -> tuple[str, str]:
    """Message and hint of the error for an answer that is not what was asked for."""
    return f"{answer.url[:160]} answered {answer.status} with {what}", "try again later"


def _are_texts(body: Any) -> bool:
    return isinstance(body, list) and all(isinstance(one, str) for one in body)


def _cursor(answer: ServiceAnswer) -> str | None:
    """The cursor of the next page. Only the cursor is taken, so that a mirror is not left for where it points."""
    for link in parse_header_links(answer.headers.get("Link", "")):
        if link.get("rel") == "next":
            return dict(parse_qsl(urlsplit(link["url"]).query)).get("cursor") or ""
    return None
