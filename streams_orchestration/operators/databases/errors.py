"""What databases refuse, in words: without statements, tuples and passwords, and with what to do."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import URL
from sqlalchemy.exc import IntegrityError, OperationalError, SQLAlchemyError

from streams_orchestration.operators.databases.address import secrets_of

_TUPLES = re.compile(r"((?:Duplicate entry|Incorrect .{1,30} value:|Truncated incorrect .{1,30} value:) )'.*'(?= for )")
"""Where MariaDB and MySQL name values of a row."""
_UNREACHABLE = range(2000, 2060)
"""Numbers that their client gives when the server does not answer."""
_REFUSED = frozenset((1040, 1044, 1045, 1049, 1053, 1129, 1130, 1152, 1184, 1203, 1226, 1927, 3118))
"""Numbers of theirs about logging in, and about a server that goes down."""

_CONSTRAINTS = frozenset((3819, 4025))
"""Numbers of theirs about a CHECK, which are no IntegrityError."""


class DatabaseError(ValueError):
    """The database refuses, or is not there; says why and what to do, without secrets and tuples."""


class DatabaseAwayError(DatabaseError):
    """The database is not there, or lets nobody in: it may be so later."""


def explained(error: SQLAlchemyError, place: str, url: URL) -> DatabaseError:
    """An error of the database in words.

    Args:
        error: as SQLAlchemy raised it.
        place: what it is about, as `table totals`.
        url: the address, whose password is taken out.

    Returns:
        `DatabaseAwayError` where the same may succeed later.
    """
    message = f"{place} ({url.get_backend_name()}): {_reason(error, url)}; "
    if is_away(error):
        return DatabaseAwayError(message + "check that it is up, and that user, password and database are right")
    if isinstance(error, IntegrityError) or _number(getattr(error, "orig", None)) in _CONSTRAINTS:
        return DatabaseError(message + "a constraint refuses the rows; mend the table or its constraints")
    return DatabaseError(message + "check the table's columns and their types, and the rights of the user")


def is_away(error: SQLAlchemyError) -> bool:
    """Is it about the connection, and not about a statement?"""
    if not isinstance(error, OperationalError):
        return bool(getattr(error, "connection_invalidated", False))
    if getattr(error.orig, "sqlite_errorname", "") == "SQLITE_ERROR":  # of a statement
        return False
    number = _number(error.orig)
    return number is None or number in _UNREACHABLE or number in _REFUSED


def _reason(error: SQLAlchemyError, url: URL) -> str:
    original: Any = getattr(error, "orig", None)
    number = _number(original)
    reason = str(error if original is None else original).strip()
    if original is not None and number is not None:
        reason = _TUPLES.sub(r"\1…", f"{original.args[1]} ({number})")
    for secret in filter(None, secrets_of(url)):
        reason = reason.replace(secret, "***")
    return reason.splitlines()[0] if reason else type(error).__name__


def _number(original: Any) -> int | None:
    """The number of an error of MariaDB and MySQL."""
    arguments = getattr(original, "args", ())
    return arguments[0] if len(arguments) == 2 and isinstance(arguments[0], int) else None
