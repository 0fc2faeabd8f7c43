"""Errors in one line."""

from __future__ import annotations

import errno
import socket

import pytest

from streams_orchestration.runtime.errors.errors import explained


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (OSError(errno.ENOSPC, "No space", "a"), "a could not be written or read: No space; make room, then reset"),
        (PermissionError(errno.EACCES, "Denied", "a"), "Denied; give the host's user permission, then reset"),
        (FileNotFoundError(errno.ENOENT, "Gone", "a"), "a could not be written or read: Gone; restore the file, "),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Refused"), "the network failed: Refused; check that the other "),
        (OSError(errno.EHOSTUNREACH, "No route"), "the network failed: No route; check that the other side runs"),
        (socket.gaierror(socket.EAI_NONAME, "Unknown name"), "the network failed: Unknown name; check"),
        (ConnectionResetError(), "ConnectionResetError: "),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else "",
)
def test_an_error_of_the_system_names_the_remedy_that_fits(error: OSError, wanted: str):
    assert wanted in explained(error)
