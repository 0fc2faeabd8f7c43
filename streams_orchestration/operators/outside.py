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
_LATER = frozenset((408, 425, 429))
"""Statuses of HTTP below 500 after which the same request may succeed."""


def is_outside(error: BaseException) -> bool:
    """Return True if an error, or one that it was raised from, has a cause outside of the application.

    An operator says so with `OutsideError`. Otherwise its type decides, an error number of the system, or the status
    of an answer of HTTP. An error that comes from the data, or that a counterpart refuses by for good, never counts.
    """
    chain = list(_chain(error))
    return not any(isinstance(each, DataError | RefusedError) for each in chain) and any(map(_says_so, chain))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _says_so(error: BaseException) -> bool:
    if isinstance(error, OutsideError | ConnectionError | TimeoutError | socket.gaierror):
        return True
    if isinstance(error, OSError) and error.errno in _ERRNOS:
        return True
    response: Any = getattr(error, "response", None)
    status = getattr(response, "status_code", None) or getattr(error, "code", None)
    if isinstance(status, int) and (500 <= status < 600 or status in _LATER):
        return True
    driver: Any = getattr(error, "orig", None) or error
    if type(driver).__module__ == "sqlite3":  # whose OperationalError is about statements, too
        return False
    return any(_NAMES.search(kind.__name__) for kind in type(error).__mro__)
