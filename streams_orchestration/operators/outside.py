"""Causes outside of the application: errors that pass by themselves, such as a service that is away or a full disk."""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import Iterator
from typing import Any

from streams_orchestration.operators.errors import DataError, OutsideError, RefusedError

_ERRNOS = frozenset(
    (
        *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE, errno.ENODEV),
        *(errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ETIMEDOUT),
    )
)
"""Errors of the system about disks, mounts and networks."""
REFUSED_BY_SYSTEM = frozenset(
    (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL)
)
"""Errors of the system about a path or a right, which do not pass by themselves."""
_NAMES = re.compile(
    r"(Connect|Timeout|TimedOut|Unavailable|Unreachable|Network|Transport|MaxRetry|Throttl|TooManyRequests|Operational)"
    r"\w*$|^URLError$"
)
"""Names by which libraries of clients call errors of this kind: requests, httpx, botocore, psycopg and others."""
_REFUSED_NAMES = re.compile(r"authenticat|authori[sz]|CertVerification", re.IGNORECASE)
"""Names by which libraries of clients call refusals, although some of them are kinds of their errors of connections."""
_LOGIN_TEXT = re.compile(
    r"FATAL: .*(authentication failed|no pg_hba\.conf entry|does not exist|permission denied)"
    r"|certificate verify failed|server does not support SSL"
)
"""PostgreSQL's, which has no numbers for that."""
_LOGIN_NUMBERS = frozenset((1044, 1045, 1049, 1130, 1698, 3118))
"""Numbers of MariaDB and MySQL about logging in."""
_LATER = frozenset((408, 409, 421, 423, 425, 429))
"""Statuses of HTTP below 500 after which the same request may succeed."""
_NEVER = frozenset((501, 505, 510))
"""Statuses from 500 on after which it will not."""


def is_outside(error: BaseException) -> bool:
    """Return True if an error, or one that it was raised from, has a cause outside of the application.

    An operator says so with `OutsideError`. Otherwise its type decides, an error number of the system, or the status
    of an answer of HTTP. An error that comes from the data, or that a counterpart refuses by for good, never counts.
    """
    causes = list(chain(error))
    return not any(map(_is_final, causes)) and any(map(_says_so, causes))


def is_login(error: BaseException) -> bool:
    """Return True if the driver of a database says that a login is refused: a user, password, database or address."""
    number = error.args[0] if error.args else None
    return number in _LOGIN_NUMBERS if isinstance(number, int) else _LOGIN_TEXT.search(str(error)) is not None


def status_passes(status: int) -> bool:
    """Return True if the same request of HTTP may succeed later, by the status of its answer."""
    return status in _LATER or (500 <= status < 600 and status not in _NEVER)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and each error that the one before was raised from or holds, as those of clients of HTTP do."""
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
    """Return the error of the driver of a database, which SQLAlchemy's error holds."""
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
    if type(_driver(error)).__module__ == "sqlite3":  # whose OperationalError is about statements, too
        return False
    return any(_NAMES.search(kind.__name__) for kind in type(error).__mro__)
