"""The errors after which another machine may do better."""

from __future__ import annotations

import errno
import os

import pytest

from streams_orchestration.operators.errors.errors import RefusedError
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.storage.store import StoreError
from streams_orchestration.runtime.storage.unusable_files import is_of_disk


def of(number: int) -> OSError:
    return OSError(number, os.strerror(number), "/data/app/streams/pe-1")


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (of(errno.EIO), True),
        (of(errno.EROFS), True),
        (of(errno.ENOSPC), True),
        (caused(StreamsRuntimeError("the segment cannot be read"), of(errno.EIO)), True),
        (of(errno.ENOENT), False),
        (of(errno.EHOSTUNREACH), False),
        (StoreError("the storage does not answer"), False),
        (caused(RefusedError("the disk takes no such name"), of(errno.EIO)), False),
        (ValueError("seven"), False),
    ],
)
def test_an_error_of_a_disk_is_told_from_others(error: Exception, expected: bool):
    assert is_of_disk(error) is expected
