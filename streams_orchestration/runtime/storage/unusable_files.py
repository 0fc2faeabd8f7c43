"""Recognises errors of the disks and mounts of one machine, which another machine may not meet."""

from __future__ import annotations

from typing import NamedTuple

from streams_orchestration.operators.errors.external_errors import DISK_ERRNOS, chain, is_outside
from streams_orchestration.runtime.storage.store import StoreError


class FileFailure(NamedTuple):
    """The time for which a host has been unable to use files of its machine, and the reason."""

    seconds: float
    """The seconds since the first failure."""
    reason: str


def is_of_disk(error: BaseException) -> bool:
    """Return True if a disk or mount of this machine has caused an error: it is full, read-only, gone or defective.

    An error of the application, or of a storage (`StoreError`), does not count.
    """
    causes = (each for each in chain(error) if isinstance(each, OSError) and not isinstance(each, StoreError))
    return is_outside(error) and any(each.errno in DISK_ERRNOS for each in causes)


def is_of_files(error: BaseException) -> bool:
    """Return True if a storage (`StoreError`), or a disk or mount of this machine, has caused an error."""
    return is_of_disk(error) or any(isinstance(each, StoreError) for each in chain(error))
