"""Messages for database errors, with a remedy and without statements, tuples and passwords."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import URL
from sqlalchemy.exc import (
    ArgumentError,
    CompileError,
    DataError,
    IntegrityError,
    NoSuchTableError,
    OperationalError,
    SQLAlchemyError,
)

from streams_orchestration.operators.databases.address import secrets_of
from streams_orchestration.operators.errors.errors import OutsideError, RefusedError
from streams_orchestration.operators.errors.external_errors import is_login
from streams_orchestration.operators.references import without

_TUPLES = re.compile(r"((?:Duplicate entry|Incorrect .{1,30} value:|Truncated incorrect .{1,30} value:) )'.*'(?= for )")
"""Matches the part of a MariaDB or MySQL message that contains values of a row."""
_UNREACHABLE = range(2000, 2060)
"""Client error numbers of MariaDB and MySQL that mean that the server does not answer."""
_BUSY = frozenset((1040, 1053, 1129, 1152, 1184, 1203, 1205, 1213, 1226, 1927))
"""Error numbers of MariaDB and MySQL about too many sessions, lock conflicts and a server shutting down."""
_FINAL_NUMBERS = {
    *(1142, 1143, 1227, 1370, 1410),  # rights
    *(1046, 1051, 1054, 1064, 1072, 1091, 1101, 1109, 1136, 1146, 1286, 1305),  # names and statements
    *(1048, 1062, 1138, 1264, 1265, 1292, 1364, 1365, 1366, 1367, 1406, 1411, 3140, 3819, 4025),  # values
}
"""Error numbers of MariaDB and MySQL for which a retry does not help, besides failed logins. Others are temporary."""
_FINAL_STATES = ("0A", "22", "23", "28", "2B", "3D", "3F", "42")
"""PostgreSQL SQLSTATE classes for which a retry does not help: values, constraints, rights, names."""
_PASSING_STATES = frozenset(("23503",))
"""SQLSTATEs in the classes of `_FINAL_STATES` that a retry may mend: a missing row of a foreign key may still come from
another sink.
"""
_FINAL_NAMES = frozenset(
    (
        *("SQLITE_ERROR", "SQLITE_READONLY", "SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_AUTH", "SQLITE_PERM"),
        *("SQLITE_MISMATCH", "SQLITE_TOOBIG", "SQLITE_RANGE"),
    )
)
"""SQLite errors for which a retry does not help."""

_CONSTRAINTS = frozenset((3819, 4025))
"""Error numbers of MariaDB and MySQL about a CHECK constraint, which are not reported as IntegrityError."""


class DatabaseError(ValueError):
    """The database refuses or is unavailable. The message has the reason and the remedy, without secrets and tuples."""


class DatabaseRefusedError(DatabaseError, RefusedError):
    """The database refuses permanently, because of a login, a right, a table or column, or a value."""


class DeferredError(DatabaseRefusedError):
    """A constraint refuses an unknown row when the transaction commits."""


class DatabaseAwayError(DatabaseError, OutsideError):
    """The database cannot be reached or accepts no more sessions; a retry may succeed."""


def explained(error: SQLAlchemyError, place: str, url: URL) -> DatabaseError:
    """Translate a database error into our own words.

    Args:
        error: the exception of SQLAlchemy.
        place: the thing that the error concerns, such as `table totals`.
        url: the address; its passwords are removed from the message.

    Returns:
        `DatabaseAwayError` if a retry may succeed, `DatabaseRefusedError` if none can, else `DatabaseError`.
    """
    message = f"{place} ({url.get_backend_name()}): {reason_of(error, url)}; "
    if is_away(error):
        return DatabaseAwayError(message + "check that it is up, and that user, password and database are right")
    kind = DatabaseRefusedError if is_refused(error) else DatabaseError
    if is_constraint(error):
        return kind(message + "a constraint refuses the rows; correct the rows, the table or its constraints")
    if _is_login(error):
        return kind(message + "check that user, password and database are right")
    return kind(message + "check the table's columns and their types, and the rights of the user")


def is_refused(error: SQLAlchemyError) -> bool:
    """Return True if the statement cannot succeed until a person changes something.

    Unknown errors count as temporary.
    """
    original = getattr(error, "orig", None)
    if original is None:  # SQLAlchemy's own error, such as a missing column
        return isinstance(error, NoSuchTableError | ArgumentError | CompileError)
    if _is_login(error):
        return True
    state = getattr(original, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_FINAL_STATES) and state not in _PASSING_STATES
    name = getattr(original, "sqlite_errorname", None)
    if isinstance(name, str):
        constraint = name.startswith("SQLITE_CONSTRAINT") and name != "SQLITE_CONSTRAINT_FOREIGNKEY"
        return constraint or any(name == each or name.startswith(f"{each}_") for each in _FINAL_NAMES)
    number = _number(original)
    return number in _FINAL_NUMBERS if number is not None else isinstance(error, DataError)


def is_constraint(error: SQLAlchemyError) -> bool:
    """Return True if a constraint of the table refused a row."""
    return isinstance(error, IntegrityError) or _number(getattr(error, "orig", None)) in _CONSTRAINTS


def is_away(error: SQLAlchemyError) -> bool:
    """Return True if the server cannot be reached or is busy, for example by a lock, so that a retry may succeed.

    An OperationalError without an error number of MariaDB or MySQL counts as such, unless a login or, in SQLite, a
    statement has failed.
    """
    if not isinstance(error, OperationalError):
        return bool(getattr(error, "connection_invalidated", False))
    if getattr(error.orig, "sqlite_errorname", "") == "SQLITE_ERROR":  # an error of a statement
        return False
    number = _number(error.orig)
    if number is None:
        return not _is_login(error)
    return number in _UNREACHABLE or number in _BUSY


def _is_login(error: SQLAlchemyError) -> bool:
    original = getattr(error, "orig", None)
    return isinstance(original, BaseException) and is_login(original)


def reason_of(error: Exception, url: URL) -> str:
    """Return the first line of the database's reason for an error, without tuples and passwords.

    It is the error's class if there is no reason.
    """
    original: Any = getattr(error, "orig", None)
    number = _number(original)
    reason = str(error if original is None else original).strip()
    if original is not None and number is not None:
        reason = _TUPLES.sub(r"\1…", f"{original.args[1]} ({number})")
    reason = without(reason, secrets_of(url))
    return reason.splitlines()[0] if reason else type(error).__name__


def _number(original: Any) -> int | None:
    """Return the error number of MariaDB or MySQL, or None for another error."""
    arguments = getattr(original, "args", ())
    return arguments[0] if len(arguments) == 2 and isinstance(arguments[0], int) else None
