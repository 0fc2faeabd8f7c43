"""Files as operators and the runtime read them wherever they are, and the errors of their storage."""

from __future__ import annotations

import re
from typing import IO, Any, Literal, NamedTuple, Protocol

from streams_orchestration.model.names import leaves_directory
from streams_orchestration.operators.errors.errors import OutsideError, RefusedError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class StorageError(Exception):
    """Files cannot be read or written. The message names the place and no secret.

    Attributes:
        reason: the message without the place.
    """

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.reason = reason


class StorageAwayError(StorageError, OutsideError):
    """The storage cannot be reached or is overloaded. The operation is retried."""


class StorageRefusedError(StorageError, RefusedError):
    """The storage refuses permanently: a missing bucket or right, or wrong credentials. A retry does not help."""


class File(Protocol):
    """A file to read: a `pathlib.Path`, or a `RemoteFile` with the same methods. `str` gives its path or address."""

    @property
    def name(self) -> str:
        """The file's name without its directory."""
        ...

    @property
    def suffix(self) -> str:
        """The suffix of the name, such as `.gz`, as in `pathlib`."""
        ...

    def open(self, mode: Literal["rb"], /) -> IO[bytes]:
        """Open the file for reading bytes, seekable."""
        ...

    def stat(self) -> Any:
        """Return an object with the size in bytes as `st_size`."""
        ...

    def unlink(self, missing_ok: bool = False) -> None:  # noqa: FBT001, FBT002 - as in pathlib
        """Remove the file. A missing file is an error unless `missing_ok`, or the storage does not report it."""
        ...


class ListedFile(NamedTuple):
    """A file of a directory, as it was when the directory was listed."""

    name: str
    """The file's name without its directory."""
    size: int
    """Size in bytes."""
    modified: int
    """Modification time in nanoseconds since 1970."""


def is_address(text: str) -> bool:
    """Return True if a path has a scheme, as in `s3://bucket/directory`, other than `package://`."""
    return _ADDRESS.match(text) is not None and not text.startswith("package://")


def check_among_results(parameter: str, place: str) -> None:
    """Raise ValueError if a relative path leads out of the results of its application.

    Absolute paths and addresses pass.
    """
    if not is_address(place) and leaves_directory(place):
        message = (
            f"{parameter}: {place} is outside of the results of the application, where other applications write; "
            "leave out .., or give an absolute path"
        )
        raise ValueError(message)
