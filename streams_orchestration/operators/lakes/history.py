"""The history of a table as a source reads it: its versions in order, and the data files of each."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import IO, Any, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from streams_orchestration.operators.libraries import pa

ChangePolicy = Literal["fail", "skip", "rewritten", "feed"]


class StartAt(BaseModel):
    """A version or a time to begin with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int | None = Field(default=None, ge=0)
    time: datetime.datetime | None = None

    @model_validator(mode="after")
    def _one(self) -> StartAt:
        if (self.version is None) == (self.time is None):
            message = "startAt has a version or a time: {version: 12}, or {time: 2024-05-01T00:00:00Z}"
            raise ValueError(message)
        if self.time is not None and self.time.tzinfo is None:
            message = "startAt: a time has its zone: 2024-05-01T00:00:00Z"
            raise ValueError(message)
        return self


Start = StartAt | Literal["snapshot", "earliest", "latest"]


class TablePosition(NamedTuple):
    """The position of a source, as its offset holds it."""

    version: int
    part: int = 0
    row: int = 0
    """The number of the next row in the part."""
    whole: bool = False
    """All rows of the version, and not only what it has added."""
    done: bool = False
    """All of the version was submitted."""
    until: int | None = None
    """The last version that is read."""
    table: str | None = None
    """The id of the table at this version; None in offsets that were stored without."""


MOST_AHEAD = 50
"""Versions that are looked at beforehand, to tell how far a source is behind."""


class DataPart(NamedTuple):
    """A data file, as far as a version has brought it."""

    path: str
    values: Mapping[str, Any]
    """Column -> an Arrow array of one value, of those that are not in the file."""
    rows: int = 0
    """Number of rows by the table's metadata; 0 if unknown."""


class Changed(NamedTuple):
    """Rows of a version that are taken away or replaced."""

    operation: str


class VersionParts(NamedTuple):
    """The parts to read of a version."""

    parts: Sequence[DataPart]
    changed: Changed | None = None


class Waiting(NamedTuple):
    """A version that was not read yet, or not to its end."""

    version: int
    rows: int
    """Number of rows that it adds, by the table's metadata."""
    committed: float
    """Seconds since 1970."""


class LostVersionsError(Exception):
    """Versions can be read no more."""

    def __init__(self, what: str, next_version: int | None) -> None:
        super().__init__(what)
        self.what = what
        self.next_version = next_version
        """The first one that can be read again; None when there is none yet."""


class TableHistory(Protocol):
    """A table that is read version by version. All methods raise LakeError where it cannot be reached or is gone."""

    place: str

    def start(self, start: Start) -> TablePosition:
        """Return the first position."""
        ...

    def newest(self) -> int:
        """Return the newest version."""
        ...

    def following(self, version: int) -> int | None:
        """Return the next version, None when there is none yet; raises LostVersionsError."""
        ...

    def is_at(self, version: int, until: int) -> bool:
        """Return True if reading up to some version has reached the given one."""
        ...

    def id_at(self, version: int, known: str | None) -> str:
        """Return the table's id at a version. It may return `known` if that is still the id of the newest version."""
        ...

    def parts(self, position: TablePosition) -> VersionParts:
        """Return the parts to read; raises LostVersionsError."""
        ...

    def behind(self, position: TablePosition) -> Sequence[Waiting]:
        """Return the version of the position, then those that are to be read behind it, oldest first; some at most.

        What can be read no more is left out.
        """
        ...

    def feed(self, version: int) -> pa.Table:
        """Return the changes of a version, with `_change_type`, `_commit_version` and `_commit_timestamp`."""
        ...

    def columns(self) -> pa.Schema:
        """Return the columns of the newest version."""
        ...

    def columns_in(self, file: pa.Schema, names: Sequence[str]) -> Mapping[str, str]:
        """Return a mapping from table columns to their names in a data file that has them."""
        ...

    def open(self, part: DataPart) -> IO[bytes] | Any:
        """Return a data file; raises FileNotFoundError."""
        ...
