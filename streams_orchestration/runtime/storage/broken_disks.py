"""Recognises errors of the disks and mounts of one machine, which another machine may not meet."""

from __future__ import annotations

import errno
from typing import NamedTuple

from streams_orchestration.operators.outside import chain, is_outside
from streams_orchestration.runtime.storage.store import StoreError

_ERRNOS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE, errno.ENODEV))
"""System error numbers about disks and mounts."""


class FileTrouble(NamedTuple):
    """The trouble of a host with files of its machine that it cannot use."""

    seconds: float
    """Duration of the trouble."""
    reason: str


def is_of_disk(error: BaseException) -> bool:
    """Return True if an error is outside of the application, and its cause is a file that this machine cannot use.

    An error of an object store, or of a storage that cannot be reached at all, is not one of this machine.
    """
    causes = (each for each in chain(error) if isinstance(each, OSError) and not isinstance(each, StoreError))
    return is_outside(error) and any(each.errno in _ERRNOS for each in causes)


def is_of_files(error: BaseException) -> bool:
    """Return True if the cause of an error is a file that this machine cannot use, in the storage or on a disk."""
    return is_of_disk(error) or any(isinstance(each, StoreError) for each in chain(error))
