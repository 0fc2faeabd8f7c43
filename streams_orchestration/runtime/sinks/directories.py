"""Directories of sinks that are complete by the watermark, and their marks (EV67).

A directory enters the catalog when one of its files gets its final name, in the same transaction. Only files of
complete epochs get final names, so no reset undoes the entry. The directory is marked when three things hold in one
reading of the catalog:

1. The watermark of every channel of the sink, at its last visible epoch, has reached the directory's deadline.
2. No file of these epochs waits to become visible in the directory.
3. It is still in the catalog.

Writing the mark may be repeated. The entry is removed afterwards. If the directory has got a further file meanwhile,
the entry stays, and the directory is marked again when that file is visible.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, bindparam, delete, select

from streams_orchestration import world
from streams_orchestration.operators.event_time.operator_watermark import OWN
from streams_orchestration.operators.sinks.gathering import SUCCESS, GatheringSink
from streams_orchestration.operators.storage.port import StorageAwayError, StorageRefusedError
from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import StoredPosition
from streams_orchestration.runtime.catalog.upserts import upsert
from streams_orchestration.runtime.errors.errors import OutputError

_c, _d, _f, _p, _s, _u = (tables.commit, tables.sink_directory, tables.sink_file, tables.pe, tables.sink, tables.unit)


class _Reached(NamedTuple):
    """The progress of one channel of a sink, up to its last visible epoch."""

    epoch: int
    """The last visible epoch."""
    watermark: int | None
    """The watermark at the end of `epoch` in microseconds; None if there is none, `END` if the streams have ended."""


class SinkDirectories:
    """The directories of one sink, whose channels all write into the same place."""

    def __init__(self, catalog: Catalog, application: str, sink: GatheringSink) -> None:
        self._catalog = catalog
        self._application = application
        self._sink = sink
        self._place = type(sink).destination(sink.context, sink.parameters)

    @property
    def marks(self) -> bool:
        """True if the sink marks directories."""
        return type(self._sink).marks(self._sink.parameters)

    def watermark(self) -> int | None:
        """Return the watermark of this channel at its last visible epoch in microseconds.

        The result is None without a watermark, and `END` if the streams have ended.
        """
        with self._catalog.read() as connection:
            reached = self._reached(connection).get(self._sink.context.name)
        return None if reached is None else reached.watermark

    def is_past(self, directory: str, watermark: int | None) -> bool:
        """Return True if a directory is complete at a watermark in microseconds.

        False if the watermark is None, or the directory is never due.
        """
        due = self._sink.complete_at(directory)
        return due is not None and watermark is not None and watermark >= due

    def enter(self, connection: Connection, directory: str) -> None:
        """Record a directory to mark, if the sink marks any, in the transaction that names one of its files."""
        if self.marks:
            enter_directory(connection, self._application, self._place, directory)

    def due(self) -> list[Row[Any]]:
        """Return the catalog's rows of the directories that can be marked now; none while a channel has no watermark.

        A directory in which a file of a complete epoch is not visible yet is left out.
        """
        with self._catalog.read() as connection:
            entered = connection.execute(select(_d).where(*self._mine)).all()
            if not entered:
                return []
            reached = self._reached(connection)
            watermarks = [each.watermark for each in reached.values()]
            least = min((each for each in watermarks if each is not None), default=None)
            past = [] if None in watermarks else [row for row in entered if self.is_past(row.directory, least)]
            waiting = self._waiting(connection, reached) if past else set[str]()
        return [row for row in past if not any(each.endswith(f"/{row.directory}") for each in waiting)]

    def mark(self) -> int:
        """Write a file `_SUCCESS` into each directory that is complete, and return the number of these directories.

        Their entries are removed, except of directories that have got a further file meanwhile.

        Raises:
            OutputError: the mark cannot be written.
        """
        rows = self.due()
        for row in rows:
            place = f"{self._place}/{row.directory}/{SUCCESS}"
            name = self._sink.context.name
            try:
                self._sink.storage().put(place, b"")
            except StorageRefusedError as error:
                raise OutputError(name, str(error), refused=True) from error
            except (OSError, StorageAwayError) as error:
                reason = f"{place} cannot be written: {error.strerror}" if isinstance(error, OSError) else str(error)
                raise OutputError(name, f"{reason}; it is tried again, nothing is lost") from error
            with self._catalog.write() as connection:
                this = (_d.c.directory == row.directory, _d.c.token == row.token)
                connection.execute(delete(_d).where(*self._mine, *this))
        return len(rows)

    @property
    def _mine(self) -> tuple[Any, ...]:
        return (_d.c.application == self._application, _d.c.place == self._place)

    def _reached(self, connection: Connection) -> dict[str, _Reached]:
        """Return the progress of each channel of the sink."""
        of_sink = (_s.c.application == self._application, _s.c.place == self._place, _s.c.marks)
        channels = connection.execute(
            select(_s.c.operator, _p.c.id, _p.c.final, _p.c.epoch, tables.SHOWN_EPOCH.label("shown"))
            .join(_p, (_p.c.application == _s.c.application) & (_p.c.id == _s.c.pe))
            .join(_u, (_u.c.application == _p.c.application) & (_u.c.name == _p.c.unit))
            .where(*of_sink)
        )
        reached: dict[str, _Reached] = {}
        for row in channels.all():
            ended = row.final and row.shown >= row.epoch - 1
            reached[row.operator] = _Reached(
                row.shown, END if ended else self._at(connection, row.operator, row.id, row.shown)
            )
        return reached

    def _at(self, connection: Connection, operator: str, pe: int, shown: int) -> int | None:
        """Return the watermark of a channel in microseconds at the end of its last visible epoch.

        None without a watermark.
        """
        cut: StoredPosition | None = connection.scalar(
            select(_c.c.position)
            .where(_c.c.application == self._application, _c.c.pe == pe, _c.c.boundary, _c.c.epoch <= shown)
            .order_by(_c.c.batch.desc())
            .limit(1)
        )
        return None if cut is None else cut.get("watermarks", {}).get(operator, {}).get(OWN)

    def _waiting(self, connection: Connection, reached: dict[str, _Reached]) -> set[str]:
        """Return the directories with files whose epoch is complete and that are not visible yet."""
        rows = connection.execute(
            select(_f.c.operator, _f.c.pending, _f.c.epoch).where(
                _f.c.application == self._application, _f.c.operator.in_(reached), ~_f.c.retracted
            )
        )
        return {row.pending.rpartition("/")[0] for row in rows if row.epoch <= reached[row.operator].epoch}


def enter_directory(connection: Connection, application: str, place: str, directory: str) -> None:
    """Note that a directory of a sink's place is to be marked, with a new token, since it gets a file."""
    values = {"application": application, "place": place, "directory": directory}
    connection.execute(upsert(connection, _d).values(**values, token=world.new_id()))


def unmarked_directories(connection: Connection, application: str, place: str) -> tuple[str, ...]:
    """Return the directories of a sink's place that are to be marked, in their order."""
    mine = (_d.c.application == application, _d.c.place == place)
    return tuple(connection.scalars(select(_d.c.directory).where(*mine).order_by(_d.c.directory)))


def unmarked_units() -> Select[tuple[str]]:
    """Return the statement that selects the units of the application `of` with sinks that have directories to mark."""
    return (
        select(_p.c.unit)
        .join(_s, (_s.c.application == _p.c.application) & (_s.c.pe == _p.c.id) & _s.c.marks)
        .join(_d, (_d.c.application == _s.c.application) & (_d.c.place == _s.c.place))
        .where(_p.c.application == bindparam("of"))
    )
