"""`Storage`: what operators and the runtime ask of a place with files, wherever that is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, Protocol

from streams_orchestration.operators.errors import OutsideError, RefusedError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class StorageError(Exception):
    """A place cannot be read or written; the message names it, never a secret."""


class StorageAwayError(StorageError, OutsideError):
    """The storage cannot be reached, or is overloaded: it is tried again, nothing is lost."""


class StorageRefusedError(StorageError, RefusedError):
    """The storage refuses for good: no such bucket, a missing right, wrong credentials. A retry does not help."""


class File(Protocol):
    """A file that is read: a `pathlib.Path`, or a `RemoteFile` with the same methods. As text it is its address."""

    @property
    def name(self) -> str:
        """Return the name without its directory."""
        ...

    @property
    def suffix(self) -> str:
        """Return the suffix of the name, as in `pathlib`: `.gz`."""
        ...

    def open(self, mode: Literal["rb"], /) -> IO[bytes]:
        """Open the file for reading bytes, seekable."""
        ...

    def stat(self) -> Any:
        """Return an object with the size in bytes as `st_size`."""
        ...

    def unlink(self, missing_ok: bool = False) -> None:  # noqa: FBT001, FBT002 - as in pathlib
        """Remove it."""
        ...


class Listed(NamedTuple):
    """A file of a directory, as it was when the directory was listed."""

    name: str
    """Name without the directory."""
    size: int
    """Bytes."""
    modified: int
    """Nanoseconds since 1970."""


class Storage(Protocol):
    """A place with files. All methods raise `StorageAwayError` and `StorageRefusedError` where it is not local."""

    def files(self, place: str) -> Sequence[File]:
        """Return the files of a path, in the order of their names: one, those of a directory, or of a pattern.

        Raises:
            ValueError: there is none; says what to do.
        """
        ...

    def file(self, place: str) -> File:
        """Return the file of this name, which need not exist."""
        ...

    def below(self, place: str) -> Sequence[File]:
        """Return all files below a directory, in the order of their names; none where there is no directory."""
        ...

    def listed(self, place: str) -> Sequence[Listed]:
        """Return the files directly in a directory, unordered; in an object store perhaps none.

        Raises:
            NotADirectoryError, FileNotFoundError: this machine has no such directory.
        """
        ...

    def sizes(self, place: str) -> dict[str, int]:
        """Return the sizes in bytes of all files below a directory, by their full names."""
        ...

    def get(self, place: str) -> bytes:
        """Return the whole content of a file, by as few requests as possible.

        Raises:
            FileNotFoundError: there is none.
        """
        ...

    def put(self, place: str, data: Any) -> None:
        """Write a file of some bytes, or of a buffer of Arrow's: whole when this returns, else not to be seen.

        May be repeated, with the same bytes.
        """
        ...

    def copy(self, place: str, other: str) -> None:
        """Write a file with what another one of the storage holds. May be repeated.

        Raises:
            FileNotFoundError: there is none.
        """
        ...

    def publish(self, pending: Path, final: str) -> None:
        """Show a file of this machine under its final name, whole or not at all. The pending name may stay.

        May be repeated after a crash at any point, and by several at the same time.

        Raises:
            FileExistsError: another file has this name.
            FileNotFoundError: the pending file is gone: another process has shown it, or a reset took it back.
        """
        ...


def is_address(text: str) -> bool:
    """Return True if a path has a scheme, as `s3://bucket/directory`, other than `package://`."""
    return _ADDRESS.match(text) is not None and not text.startswith("package://")
