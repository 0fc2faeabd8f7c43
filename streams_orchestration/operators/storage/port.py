"""`Storage`: what operators and the runtime ask of a place with files, wherever that is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, Protocol

from streams_orchestration.operators.errors import RefusedError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class StorageError(Exception):
    """A place cannot be read or written; the message names it, never a secret."""


class StorageAwayError(StorageError):
    """It cannot be reached, or is overloaded: it is tried again, nothing is lost."""


class StorageRefusedError(StorageError, RefusedError):
    """It refuses for good: no such bucket, a missing right, wrong credentials. Trying again does not help."""


class File(Protocol):
    """A file that is read: a `pathlib.Path`, or a `RemoteFile` with the same methods. As text it is its address."""

    @property
    def name(self) -> str:
        """Without its directory."""
        ...

    @property
    def suffix(self) -> str:
        """As in `pathlib`: `.gz`."""
        ...

    def open(self, mode: Literal["rb"], /) -> IO[bytes]:
        """Its bytes, from any place on."""
        ...

    def stat(self) -> Any:
        """Its size as `st_size`, in bytes."""
        ...

    def unlink(self, missing_ok: bool = False) -> None:  # noqa: FBT001, FBT002 - as in pathlib
        """Remove it."""
        ...


class Listed(NamedTuple):
    """A file of a directory, as it was when that was looked at."""

    name: str
    """Without its directory."""
    size: int
    """Bytes."""
    modified: int
    """Nanoseconds since 1970."""


class Storage(Protocol):
    """A place with files. All methods raise `StorageAwayError` and `StorageRefusedError` where it is not local."""

    def files(self, place: str) -> Sequence[File]:
        """The files that a text names, in the order of their names: one, those of a directory, or of a pattern.

        Raises:
            ValueError: there is none; says what to do.
        """
        ...

    def file(self, place: str) -> File:
        """The file of this name, whether it is there or not."""
        ...

    def below(self, place: str) -> Sequence[File]:
        """All files in a directory and in those in it, in the order of their names; none where there is none."""
        ...

    def listed(self, place: str) -> Sequence[Listed]:
        """The files in a directory, not those in directories in it, in no order; in an object store perhaps none.

        Raises:
            NotADirectoryError, FileNotFoundError: this machine has no such directory.
        """
        ...

    def sizes(self, place: str) -> dict[str, int]:
        """All files in a directory and in those in it, by their full names, with their bytes."""
        ...

    def get(self, place: str) -> bytes:
        """All of a file, by as few requests as can be.

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
    """Does a path name a place by a scheme, as in `s3://bucket/directory`? `package://` names files of this machine."""
    return _ADDRESS.match(text) is not None and not text.startswith("package://")
