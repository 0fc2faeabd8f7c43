"""The history of a table as a source reads it: its versions in order, and their data files."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

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
