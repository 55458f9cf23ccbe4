"""Answers bound to a form: where an endpoint takes ``response_format``, a model can say nothing else.

Many endpoints do not take it. That is found out by trying, once a client; after that the form is only asked for in
words, and what comes is checked as ever.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pydantic import BaseModel

from kgcheck.errors import ModelError

if TYPE_CHECKING:
    from kgcheck.llm.budget import Meter
    from kgcheck.llm.client import ChatClient, Message, Reply

_REFUSED = (400, 404, 415, 422, 501)
_unbound: "WeakSet[ChatClient]" = WeakSet()


def complete_bound(
    client: "ChatClient",
    messages: "Sequence[Message]",
    form: type[BaseModel],
    *,
    meter: "Meter | None" = None,
    on_text: Callable[[str], None] | None = None,
    temperature: float = 0,
) -> "Reply":
    """Ask for an answer in a form, bound to it where the endpoint can do that.

    Args:
        client: The model.
        messages: The conversation; it should say what is wanted in words, too.
        form: What the text must be, as JSON.
        meter: See ChatClient.complete.
        on_text: See ChatClient.complete.
        temperature: See ChatClient.complete.

    Returns:
        The reply; its text may have another form.

    Raises:
        ModelError: The endpoint refused or failed.
    """
    more: dict[str, Any] = {"meter": meter, "on_text": on_text, "temperature": temperature}
    if client not in _unbound:
        try:
            return client.complete(messages, answer=form, **more)
        except ModelError as error:
            # Its kinds (no access, context, not there) have nothing to do with the form.
            if type(error) is not ModelError or getattr(error.__cause__, "status_code", None) not in _REFUSED:
                raise
            _unbound.add(client)
    return client.complete(messages, **more)
