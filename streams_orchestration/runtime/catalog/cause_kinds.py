"""The kinds of causes for which units are reset. Resets are counted for each kind.

A row of a PE or a unit has the text of a kind. Only the types of these columns read it.

>>> str(FilesKind(0, "north", ends=True))
'files: end of host 0 on north'
>>> read_kind("files: end of host 0 on north")
FilesKind(host=0, machine='north', ends=True)
>>> read_kind("Sums ValueError sums.py 12")
NamedKind(name='Sums ValueError sums.py 12')
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlalchemy import Dialect
from sqlalchemy.types import Text, TypeDecorator

_NUMBER = "(0|[1-9][0-9]*)"
_PE = re.compile(f"PE {_NUMBER}")
_HOST = re.compile(f"host {_NUMBER}")
_FILES = re.compile(f"files: (end of )?host {_NUMBER} on (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PeKind:
    """The kind of an error that concerns a PE itself, not the code of an operator."""

    pe: int

    def __str__(self) -> str:
        return f"PE {self.pe}"


@dataclass(frozen=True, slots=True)
class HostKind:
    """The kind of the cause that a host does not work."""

    host: int

    def __str__(self) -> str:
        return f"host {self.host}"


@dataclass(frozen=True, slots=True)
class FilesKind:
    """The kind of the cause that a host cannot use files of a machine.

    A region may complete epochs between such causes, since an epoch without tuples needs no file.
    """

    host: int
    machine: str
    ends: bool = False
    """True if the host has ended for this cause, False if a PE has failed."""

    def __str__(self) -> str:
        return f"files: {'end of ' if self.ends else ''}host {self.host} on {self.machine}"


@dataclass(frozen=True, slots=True)
class NamedKind:
    """A kind that is a name only, such as the failing code of an operator (`OperatorFailure.kind`)."""

    name: str

    def __str__(self) -> str:
        return self.name


CauseKind = PeKind | HostKind | FilesKind | NamedKind
NO_KIND = NamedKind("")
"""The kind where there is no cause, or a cause without a kind."""
TIMEOUT = NamedKind("timeout")
"""The kind of the cause that a drain or a reset took too long."""


def read_kind(text: str) -> CauseKind:
    """Return the kind with this text."""
    if found := _PE.fullmatch(text):
        return PeKind(int(found[1]))
    if found := _HOST.fullmatch(text):
        return HostKind(int(found[1]))
    if found := _FILES.fullmatch(text):
        return FilesKind(int(found[2]), found[3], found[1] is not None)
    return NamedKind(text)


class KindColumn(TypeDecorator[CauseKind]):
    """The column type of the kind of a cause."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: CauseKind | str | None, dialect: Dialect) -> str | None:  # noqa: ARG002  SQLAlchemy's
        """Return the text to store, also of a kept row; None stays None."""
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> CauseKind | None:  # noqa: ARG002  SQLAlchemy's
        """Return the kind with the stored text; None stays None."""
        return None if value is None else read_kind(value)
