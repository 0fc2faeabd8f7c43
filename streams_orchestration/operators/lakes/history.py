"""The history of a table as a source reads it: its versions in order, and their data files."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import IO, Any, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from streams_orchestration.operators.loading.libraries import pa

ChangePolicy = Literal["fail", "skip", "rewritten", "feed"]


class StartAt(BaseModel):
    """The version or the time at which to start."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int | None = Field(default=None, ge=0)
    time: datetime.datetime | None = None

    @model_validator(mode="after")
    def _one(self) -> StartAt:
        if (self.version is None) == (self.time is None):
            message = "startAt has a version or a time: {version: 12}, or {time: 2024-05-01T00:00:00Z}"
            raise ValueError(message)
        if self.time is not None and self.time.tzinfo is None:
            message = "startAt: a time needs its time zone, as in 2024-05-01T00:00:00Z"
            raise ValueError(message)
        return self


Start = StartAt | Literal["snapshot", "earliest", "latest"]


class TablePosition(NamedTuple):
    """The position of a source, as its offset holds it."""

    version: int
    part: int = 0
    row: int = 0
    """The number of the next row within the part."""
    whole: bool = False
    """True to read all rows of the version, False to read only the rows that the version added."""
    done: bool = False
    """True if the whole version was submitted."""
    until: int | None = None
    """The last version to read; None for no limit."""
    table: str | None = None
    """The table's id at this version; None in offsets stored without one."""


MOST_AHEAD = 50
"""The number of versions examined ahead to determine how far a source is behind."""


class DataPart(NamedTuple):
    """A data file to read, with the values of columns that are not in it."""

    path: str
    values: Mapping[str, Any]
    """Maps each column that is not in the file to an Arrow array of its single value."""
    rows: int = 0
    """The number of rows according to the table's metadata; 0 if unknown."""


class VersionParts(NamedTuple):
    """The data files to read of a version."""

    parts: Sequence[DataPart]
    changed_by: str | None = None
    """The operation by which the version also removed or replaced rows; None if it did not."""


class UnreadVersion(NamedTuple):
    """A version that a source may not have read to its end."""

    version: int
    rows: int
    """The number of rows that it adds, according to the table's metadata."""
    committed: float
    """Commit time in seconds since 1970."""


class LostVersionsError(Exception):
    """Versions can no longer be read."""

    def __init__(self, what: str, next_version: int | None) -> None:
        super().__init__(what)
        self.what = what
        self.next_version = next_version
        """The first version after the lost ones that can be read; None if there is none yet."""


class TableHistory(Protocol):
    """A table that is read version by version.

    All methods but `open` raise LakeError if it cannot be reached or is gone, and DataError if it was created again or
    rolled back to before a version that was read, or cannot be read here.
    """

    place: str

    def start(self, start: Start) -> TablePosition:
        """Return the position at which reading starts; raise DataError if the table lacks the version of `startAt`."""
        ...

    def newest(self) -> int:
        """Look for a newer version, and return the newest one."""
        ...

    def following(self, version: int) -> int | None:
        """Return the next version, or None if there is none yet. Raises LostVersionsError."""
        ...

    def is_at(self, version: int, until: int) -> bool:
        """Return True if reading up to `version` has reached `until`."""
        ...

    def id_at(self, version: int, known: str | None) -> str:
        """Return the table's id at a version. May return `known` if that is still the id of the newest version."""
        ...

    def parts(self, position: TablePosition) -> VersionParts:
        """Return the data files to read at a position, and whether rows were changed. Raises LostVersionsError."""
        ...

    def behind(self, position: TablePosition) -> Sequence[UnreadVersion]:
        """Return the version of the position and unread later ones, oldest first, at most `MOST_AHEAD` beyond it.

        Versions that can no longer be read are left out.
        """
        ...

    def feed(self, version: int) -> pa.Table:
        """Return the change data feed of a version, with `_change_type`, `_commit_version` and `_commit_timestamp`.

        Raises NotImplementedError for Iceberg, which has no change data feed.
        """
        ...

    def columns(self) -> pa.Schema:
        """Return the columns of the newest version that is known."""
        ...

    def columns_in(self, file: pa.Schema, names: Sequence[str]) -> Mapping[str, str]:
        """Map each table column that a data file has to its name in the file."""
        ...

    def open(self, part: DataPart) -> IO[bytes] | Any:
        """Open a data file. Raises FileNotFoundError if it is gone, and OSError if it cannot be opened."""
        ...
