"""Recognises errors with temporary causes outside of the application, such as an unavailable service or a full disk."""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import Iterator
from typing import Any

from streams_orchestration.operators.errors.errors import DataError, OutsideError, RefusedError

DISK_ERRNOS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE, errno.ENODEV))
"""System error numbers about disks and mounts."""
_ERRNOS = DISK_ERRNOS | {errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ETIMEDOUT}
"""System error numbers about disks, mounts and networks."""
REFUSED_BY_SYSTEM = frozenset(
    (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL)
)
"""System error numbers about a path or a right, which are permanent."""
_NAMES = re.compile(
    r"(Connect|Timeout|TimedOut|Unavailable|Unreachable|Network|Transport|MaxRetry|Throttl|TooManyRequests|Operational)"
    r"\w*$|^URLError$"
)
"""Matches the names of temporary errors in client libraries: requests, httpx, botocore, psycopg and others."""
_REFUSED_NAMES = re.compile(r"authenticat|authori[sz]|CertVerification", re.IGNORECASE)
"""Matches the names of permanent refusals in client libraries, some of which are subclasses of connection errors."""
_LOGIN_TEXT = re.compile(
    r"FATAL: .*(authentication failed|no pg_hba\.conf entry|does not exist|permission denied)"
    r"|certificate verify failed|server does not support SSL"
)
"""Matches PostgreSQL's messages about a refused login, which have no error number."""
_LOGIN_NUMBERS = frozenset((1044, 1045, 1049, 1130, 1698, 3118))
"""Error numbers of MariaDB and MySQL about a refused login."""
_LATER = frozenset((408, 409, 421, 423, 425, 429))
"""HTTP statuses below 500 after which the same request may succeed later."""
_NEVER = frozenset((501, 505, 510))
"""HTTP statuses from 500 on after which the same request will not succeed."""


def is_outside(error: BaseException) -> bool:
    """Return True if an error, or an error that caused it, has a temporary cause outside of the application.

    An operator can say so with `OutsideError`. Otherwise the error's type, system error number or HTTP status decides.
    An error caused by the data, or a permanent refusal, never counts.
    """
    causes = list(chain(error))
    return not any(map(_is_final, causes)) and any(map(_says_so, causes))


def is_login(error: BaseException) -> bool:
    """Return True if a database driver reports a refused login: a wrong user, password, database or address."""
    number = error.args[0] if error.args else None
    return number in _LOGIN_NUMBERS if isinstance(number, int) else _LOGIN_TEXT.search(str(error)) is not None


def status_passes(status: int) -> bool:
    """Return True if the same HTTP request may succeed later, judging by its status."""
    return status in _LATER or (500 <= status < 600 and status not in _NEVER)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its chain of causes, including errors held in `args`, as HTTP clients do."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        held = next((each for each in error.args if isinstance(each, BaseException)), None)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__) or held


def _is_final(error: BaseException) -> bool:
    if isinstance(error, DataError | RefusedError):
        return True
    return any(_REFUSED_NAMES.search(kind.__name__) for kind in type(error).__mro__) or (
        _is_operational(error) and is_login(_driver(error))
    )


def _is_operational(error: BaseException) -> bool:
    return any(kind.__name__ == "OperationalError" for kind in type(error).__mro__)


def _driver(error: BaseException) -> BaseException:
    """Return the driver's error that an SQLAlchemy error wraps, or the error itself."""
    return getattr(error, "orig", None) or error


def _says_so(error: BaseException) -> bool:
    if isinstance(error, OutsideError | ConnectionError | TimeoutError | socket.gaierror):
        return True
    if isinstance(error, OSError) and error.errno in _ERRNOS:
        return True
    response: Any = getattr(error, "response", None)
    status = getattr(response, "status_code", None) or getattr(error, "code", None)
    if isinstance(status, int) and status_passes(status):
        return True
    if type(_driver(error)).__module__ == "sqlite3":  # OperationalError of sqlite3 is about statements, too
        return False
    return any(_NAMES.search(kind.__name__) for kind in type(error).__mro__)
