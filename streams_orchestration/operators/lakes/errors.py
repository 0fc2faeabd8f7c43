"""Errors of lake tables and of the services that they need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from streams_orchestration.operators.errors.errors import RefusedError

if TYPE_CHECKING:
    from sqlalchemy.exc import SQLAlchemyError

_AWAY = re.compile(
    r"after \d+ retries|error sending request|timed? ?out|connection (refused|reset|aborted|failed)|could not connect"
    r"|couldn't connect|max retries exceeded|network_connection|slow_?down|service_?unavailable|internal_failure"
    r"|ServerError|status 5\d\d",
    re.IGNORECASE,
)
"""Matches messages of the libraries that mean that a server does not answer or is overloaded."""


_REFUSED = re.compile(
    r"access.?denied|permission ?denied|forbidden|unauthori[sz]ed|unauthenticated|authentication failed"
    r"|authorization ?(failure|permission)|invalid.?access.?key|signature ?does ?not ?match|no.?such.?bucket"
    r"|container ?not ?found|unrecognized ?client|invalid ?client ?token"
    r"|status(?: code)?:? ?40[0134]\b|\b40[13] (client|for)"
    r"|read-only file system",
    re.IGNORECASE,
)
"""Matches messages of the libraries about a missing right or place, or refused credentials."""
_FINAL_NAMES = frozenset(
    (
        *("UnauthorizedError", "ForbiddenError", "OAuthError", "NoSuchTableError", "NoSuchNamespaceError"),
        *("NoSuchIcebergTableError", "ValidationException", "TableNotFoundError", "DeltaProtocolError"),
        *(
            "SchemaMismatchError",
            "NotImplementedError",
            "ArrowNotImplementedError",
            "ArrowTypeError",
            "PermissionError",
        ),
    )
)
"""Names of library exceptions for which a retry does not help."""


class LakeError(ValueError):
    """A table cannot be written or read. The message names the table, cause and remedy, without secrets and tuples."""


class LakeRefusedError(LakeError, RefusedError):
    """A table refuses permanently: it is missing or does not fit, or rights or credentials are wrong."""


def lake_error(message: str, error: Exception) -> LakeError:
    """Return a `LakeRefusedError` if the cause is permanent, else a `LakeError`, with the message."""
    return (LakeRefusedError if is_refused(error) else LakeError)(message)


def is_refused(error: BaseException | None) -> bool:
    """Return True if an error, or one of its causes, persists until a person changes something.

    An unknown error counts as temporary, and so does one by which a server does not answer.
    """
    if is_away(error):
        return False
    if type(error) is ValueError:  # pyiceberg raises it if tuples do not fit
        return True
    while error is not None:
        if isinstance(error, RefusedError) or type(error).__name__ in _FINAL_NAMES:
            return True
        if type(error).__module__.startswith("sqlalchemy"):
            from streams_orchestration.operators.databases.errors import is_refused as refused_by_database

            return refused_by_database(cast("SQLAlchemyError", error))
        if _REFUSED.search(f"{type(error).__name__}: {error}"):
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


def is_away(error: BaseException | None) -> bool:
    """Return True if an error, or one that caused it, means that a server does not answer at the moment."""
    while error is not None:
        if isinstance(error, ConnectionError | TimeoutError) or _AWAY.search(f"{type(error).__name__}: {error}"):
            return True
        error = error.__cause__
    return False
