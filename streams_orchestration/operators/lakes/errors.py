"""What is wrong with a table of a lake, or with what is to read or write it."""

from __future__ import annotations

import re

_AWAY = re.compile(
    r"after \d+ retries|error sending request|timed? ?out|connection (refused|reset|aborted|failed)|could not connect"
    r"|couldn't connect|max retries exceeded|network_connection|slow_?down|service_?unavailable|internal_failure"
    r"|ServerError|status 5\d\d",
    re.IGNORECASE,
)
"""In what the libraries say when a server does not answer, or is overloaded."""


class LakeError(ValueError):
    """A table cannot be written or read; says which, why, and what to do, without secrets and tuples."""


def is_away(error: BaseException | None) -> bool:
    """Whether an error says, or was caused by one that says, that a server does not answer: it may do so later."""
    while error is not None:
        if isinstance(error, ConnectionError | TimeoutError) or _AWAY.search(f"{type(error).__name__}: {error}"):
            return True
        error = error.__cause__
    return False
