"""Messages for errors of databases: without statements, tuples and passwords, and with a remedy."""

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
from streams_orchestration.operators.errors import OutsideError, RefusedError
from streams_orchestration.operators.outside import is_login
from streams_orchestration.operators.references import without

_TUPLES = re.compile(r"((?:Duplicate entry|Incorrect .{1,30} value:|Truncated incorrect .{1,30} value:) )'.*'(?= for )")
"""Matches the part of a MariaDB or MySQL message that contains values of a row."""
_UNREACHABLE = range(2000, 2060)
"""Error numbers of the client when the server does not answer."""
_BUSY = frozenset((1040, 1053, 1129, 1152, 1184, 1203, 1205, 1213, 1226, 1927))
"""Numbers of theirs about too many sessions, sessions that are in each other's way, and a server that goes down."""
_FINAL_NUMBERS = {
    *(1142, 1143, 1227, 1370, 1410),  # rights
    *(1046, 1051, 1054, 1064, 1072, 1091, 1101, 1109, 1136, 1146, 1286, 1305),  # names and statements
    *(1048, 1062, 1138, 1264, 1265, 1292, 1364, 1365, 1366, 1367, 1406, 1411, 3140, 3819, 4025),  # values
}
"""Numbers of MariaDB and MySQL for which trying again does not help, beside those of logins; all others may pass."""
_FINAL_STATES = ("0A", "22", "23", "28", "2B", "3D", "3F", "42")
"""Classes of PostgreSQL's states for which trying again does not help: values, constraints, rights, names."""
_PASSING_STATES = frozenset(("23503",))
"""States of that list that pass nevertheless: another sink may still write the row that a foreign key refers to."""
_FINAL_NAMES = frozenset(
    (
        *("SQLITE_ERROR", "SQLITE_READONLY", "SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_AUTH", "SQLITE_PERM"),
        *("SQLITE_MISMATCH", "SQLITE_TOOBIG", "SQLITE_RANGE"),
    )
)
"""Names of SQLite's errors for which trying again does not help."""

_CONSTRAINTS = frozenset((3819, 4025))
"""Numbers of theirs about a CHECK, which are no IntegrityError."""


class DatabaseError(ValueError):
    """The database refuses or is unavailable. The message has the reason and the remedy, without secrets and tuples."""


class DatabaseRefusedError(DatabaseError, RefusedError):
    """The database refuses for good: a login, a right, a table or column, a value."""


class DeferredError(DatabaseRefusedError):
    """A constraint that is checked at the commit refuses a row, and it is not known which one."""


class DatabaseAwayError(DatabaseError, OutsideError):
    """The database cannot be reached, or takes no more sessions: the same may succeed later."""


def explained(error: SQLAlchemyError, place: str, url: URL) -> DatabaseError:
    """Return an error of the database in our own words.

    Args:
        error: the exception of SQLAlchemy.
        place: the thing that it concerns, such as `table totals`.
        url: the address, whose password is taken out.

    Returns:
        `DatabaseAwayError` where the same may succeed later, `DatabaseRefusedError` where it never will.
    """
    message = f"{place} ({url.get_backend_name()}): {reason_of(error, url)}; "
    if is_away(error):
        return DatabaseAwayError(message + "check that it is up, and that user, password and database are right")
    kind = DatabaseRefusedError if is_refused(error) else DatabaseError
    if is_constraint(error):
        return kind(message + "a constraint refuses the rows; mend the table or its constraints")
    if _is_login(error):
        return kind(message + "check that user, password and database are right")
    return kind(message + "check the table's columns and their types, and the rights of the user")


def is_refused(error: SQLAlchemyError) -> bool:
    """Return True if the same statement never succeeds before a person has changed something.

    Errors of a kind that is not known may pass.
    """
    original = getattr(error, "orig", None)
    if original is None:  # of SQLAlchemy itself, as of a column that is not there
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
    """Return True if a constraint of the table refuses a row."""
    return isinstance(error, IntegrityError) or _number(getattr(error, "orig", None)) in _CONSTRAINTS


def is_away(error: SQLAlchemyError) -> bool:
    """Return True if the error is about the connection, not about a statement."""
    if not isinstance(error, OperationalError):
        return bool(getattr(error, "connection_invalidated", False))
    if getattr(error.orig, "sqlite_errorname", "") == "SQLITE_ERROR":  # of a statement
        return False
    number = _number(error.orig)
    if number is None:
        return not _is_login(error)
    return number in _UNREACHABLE or number in _BUSY


def _is_login(error: SQLAlchemyError) -> bool:
    original = getattr(error, "orig", None)
    return isinstance(original, BaseException) and is_login(original)


def reason_of(error: Exception, url: URL) -> str:
    """Return what a database says of an error, in one line, without tuples and passwords."""
    original: Any = getattr(error, "orig", None)
    number = _number(original)
    reason = str(error if original is None else original).strip()
    if original is not None and number is not None:
        reason = _TUPLES.sub(r"\1…", f"{original.args[1]} ({number})")
    reason = without(reason, secrets_of(url))
    return reason.splitlines()[0] if reason else type(error).__name__


def _number(original: Any) -> int | None:
    """Return the number of an error of MariaDB and MySQL."""
    arguments = getattr(original, "args", ())
    return arguments[0] if len(arguments) == 2 and isinstance(arguments[0], int) else None
