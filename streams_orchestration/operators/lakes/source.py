"""The base class of lake table sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from streams_orchestration import world
from streams_orchestration.model.names import nearest
from streams_orchestration.operators.clients.backoff import Backoff
from streams_orchestration.operators.contract.operator import (
    Offset,
    OperatorContext,
    ProducedTo,
    SourceOperator,
)
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.lakes.errors import LakeError, is_away
from streams_orchestration.operators.lakes.history import (
    DataPart,
    LostVersionsError,
    TablePosition,
    UnreadVersion,
    VersionParts,
)
from streams_orchestration.operators.lakes.part_reader import FEED, PartReader
from streams_orchestration.operators.lakes.source_parameters import LakeSourceParameters
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.loading.packages import require_package
from streams_orchestration.operators.tuples.arrow_types import fits, type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

if TYPE_CHECKING:
    from streams_orchestration.operators.lakes.part_reader import TableHistory


class LakeSource(SourceOperator):
    """Reads the rows that each version of a table adds, version by version. The offset is version, data file and row.

    Files of a version are read in the order in which the version names them, so a replay gives the same tuples.
    """

    module: ClassVar[str]
    """The module of the required library."""
    extra: ClassVar[str]
    free_parameters = frozenset(("on_change", "on_lost_data", "poll_period"))
    naming_parameters = NamingParameters()

    @classmethod
    def check(cls, context: OperatorContext, parameters: LakeSourceParameters) -> None:
        """Raise ValueError if there is no schema, an attribute needs `onChange: feed`, or the library is missing."""
        names = context.output_schema().names
        if parameters.on_change != "feed" and (named := [name for name in FEED if name in names]):
            message = f"only changes have the attribute {named[0]}: set onChange: feed"
            raise ValueError(message)
        require_package(cls.__name__, cls.module, cls.extra)

    def history(self) -> TableHistory:
        """Return the history of the table to read, without connecting to it."""
        raise NotImplementedError

    def setup(self) -> None:
        """Set up without connecting. The first call of `produce` or `available` reads."""
        self._history: TableHistory | None = None
        self._cached: tuple[tuple[int, bool], VersionParts] | None = None
        self._reader: PartReader | None = None
        self._idle = False
        self._place = ""
        self._backoff = Backoff(self.context, is_away=_is_away, refusal=())
        self._measured = float("-inf")
        self._reached: Offset = {}
        """The position from which the next call continues if the current call fails."""

    def available(self, offset: Offset) -> Offset | None:
        """Return the newest version, or None if the table cannot be reached, which is logged."""

        def newest() -> Offset:
            self._open(offset)
            return {"version": self._table.newest()}

        reached = self._backoff.reached(newest)
        if reached is None:
            self._history = self._reader = None
        return reached

    @classmethod
    def continued(cls, offset: Offset) -> Offset:
        """Return the offset without the end of the earlier run."""
        return offset | {"until": None} if offset else offset

    def place(self) -> str:
        """Return the data file and version that were read last; empty before that."""
        return self._place

    def pause(self) -> float | None:
        """Return the seconds, never None, until the table is checked or tried again; 0 while rows are left."""
        return self._backoff.pause or (self.parameters.poll_period if self._idle else 0.0)

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the next rows, and update the lag. An outage is logged, and ends the call after the rows before it.

        At most `limit` rows are submitted, but with `onChange: feed` whole versions. The first call only determines the
        starting position, so that a repeated first call starts there as well.

        Raises:
            LakeError: the table does not exist or cannot be read.
            UnresolvedReferenceError: a secret cannot be resolved.
        """
        self._reached = offset
        produced = self._backoff.reached(lambda: self._produce_measured(offset, limit))
        if produced is None:
            self._history = self._reader = None
            return ProducedTo(self._reached, exhausted=False)
        return produced

    def _produce_measured(self, offset: Offset, limit: int) -> ProducedTo:
        produced = self._produce(offset, limit)
        self._measure(TablePosition(**produced.offset))
        return produced

    def _produce(self, offset: Offset, limit: int) -> ProducedTo:
        self._open(offset)
        if not offset:
            return ProducedTo(self._first()._asdict(), exhausted=False)
        position = self._bounded(TablePosition(**offset))
        self._idle = False
        if self._begins_later(position):
            return ProducedTo(offset, exhausted=True)
        while limit > 0:
            if position.done:
                following = self._following(position)
                if following is None:
                    ended = position.until is not None
                    self._idle = not ended
                    return ProducedTo(self._stored(position), exhausted=ended)
                position = following
            position, rows = self._step(position, limit)
            self._reached = self._stored(position)
            limit -= rows
        return ProducedTo(self._stored(position), exhausted=False)

    def _stored(self, position: TablePosition) -> Offset:
        """Return a position as an offset, without the end of a run with `--available-now`."""
        return (position if self.until is None else position._replace(until=None))._asdict()

    def _open(self, offset: Offset) -> None:
        if self._history is None:
            self._history = self.history()
            self._check_columns()
            if offset:
                self._check_same(TablePosition(**offset))

    def _bounded(self, position: TablePosition) -> TablePosition:
        """Return the position with the version at which this run ends, if the run is bounded."""
        until = self.until["version"] if self.until is not None else position.until
        if until is None and self.parameters.until == "latest":
            until = self._table.newest()
        return position._replace(until=until)

    def _begins_later(self, position: TablePosition) -> bool:
        """Return True if the position is at the beginning of a version after the one at which this run ends."""
        until, begun = position.until, position.part or position.row or position.done or position.whole
        return until not in (None, position.version) and not begun and self._table.is_at(position.version, until)

    @property
    def _table(self) -> TableHistory:
        assert self._history is not None
        return self._history

    @property
    def _schema(self) -> pa.Schema:
        return self.context.output_schema()

    def _first(self) -> TablePosition:
        start = self._table.start(self.parameters.start_at)
        until = self._table.newest() if self.parameters.until == "latest" and self.until is None else None
        return start._replace(until=until, table=self._table.id_at(self._table.newest(), None))

    def _check_same(self, position: TablePosition) -> None:
        """Check that the table is the one that was read before, if the offset identifies it."""
        if position.table is not None and self._table.id_at(position.version, position.table) != position.table:
            message = (
                f"{self._table.place} is another table than the one that was read up to version {position.version}; "
                "was it created again? Start over with --fresh"
            )
            raise DataError(message)

    def _following(self, position: TablePosition) -> TablePosition | None:
        """Return the start of the next version; None if there is none yet, or the run ends before it.

        Deleted versions are handled as `onLostData` says.
        """
        until = position.until
        if until is not None and self._table.is_at(position.version, until):
            return None
        try:
            version = self._table.following(position.version)
        except LostVersionsError as error:
            self._lose(error.what)
            version = error.next_version
        if version is None or (until is not None and version != until and self._table.is_at(version, until)):
            return None
        self._check_columns()
        return TablePosition(version, until=until, table=self._table.id_at(version, position.table))

    def _step(self, position: TablePosition, limit: int) -> tuple[TablePosition, int]:
        """Submit at most `limit` rows of one data file, or with `onChange: feed` all changes of a version.

        Return the position after these rows, and their number, which is 0 after the end of a file or version.
        """
        if self.parameters.on_change == "feed" and not position.whole:
            return position._replace(done=True), self._submit_feed(position.version)
        version = self._parts(position)
        if version.changed_by is not None:
            self._check_change(position, version.changed_by)
            if self.parameters.on_change == "skip":
                return position._replace(done=True), 0
        if position.part >= len(version.parts):
            return position._replace(part=0, row=0, done=True), 0
        part = version.parts[position.part]
        batch = self._read(position, part, limit)
        if batch is None:
            return position._replace(part=position.part + 1, row=0), 0
        self._place = f"{part.path} of version {position.version} of {self._table.place}, rows from {position.row + 1}"
        self._submit_rows(batch)
        return position._replace(row=position.row + batch.num_rows), batch.num_rows

    def _parts(self, position: TablePosition) -> VersionParts:
        key = (position.version, position.whole)
        if self._cached is None or self._cached[0] != key:
            try:
                parts = self._table.parts(position)
            except LostVersionsError as error:
                self._lose(error.what)
                parts = VersionParts(())
            self._cached = (key, parts)
        return self._cached[1]

    def _read(self, position: TablePosition, part: DataPart, limit: int) -> pa.RecordBatch | None:
        """Return up to `limit` rows of a data file; None at its end, or if it was deleted and can be skipped.

        Raises DataError and LakeError.
        """
        if self._reader is None:
            self._reader = PartReader(self._table, self._schema)
        try:
            return self._reader.read(position, part, limit)
        except FileNotFoundError:
            self._lose(f"the data file {part.path} of version {position.version}")
            return None

    def _submit_rows(self, batch: pa.RecordBatch) -> None:
        columns: dict[str, Any] = dict(zip(batch.schema.names, batch.columns, strict=True))
        self.submit(TupleBatch.from_columns(columns, self._schema))

    def _submit_feed(self, version: int) -> int:
        """Submit and count all changes of a version at once, as a replay may reorder them; absent columns are null."""
        table = self._table.feed(version)
        missing = [field for field in self._schema if field.name not in table.column_names]
        for field in missing:
            table = table.append_column(field.name, pa.nulls(len(table), field.type))
        self._place = f"version {version} of {self._table.place}"
        for batch in table.select(self._schema.names).to_batches():
            self._submit_rows(batch)
        return len(table)

    def _check_change(self, position: TablePosition, operation: str) -> None:
        if self.parameters.on_change == "fail":
            message = (
                f"version {position.version} of {self._table.place} deletes or updates rows ({operation}), but tuples "
                "that were submitted cannot be retracted; set onChange: skip (leave the version out), rewritten (all "
                "rows of the files that it adds, again) or feed (the changes, with _change_type)"
            )
            raise DataError(message)

    def _lose(self, what: str) -> None:
        """Log and count versions or a file deleted before they were read, unless `onLostData` is `fail`."""
        if self.parameters.on_lost_data == "fail":
            message = (
                f"{self._table.place}: {what} can no longer be read, so rows are lost; set onLostData: skip to "
                "continue with the remaining rows, and keep the table's history for longer"
            )
            raise DataError(message)
        self.context.logger.warning("%s: %s can no longer be read, and is skipped", self._table.place, what)
        self.context.metrics.counter("lost", "versions and data files that were deleted before they were read").add(1)

    def _measure(self, position: TablePosition) -> None:
        """Update the lag gauges, at most once per poll period."""
        now = world.monotonic()
        if now < self._measured + self.parameters.poll_period:
            return
        self._measured = now
        all_read = self._idle or (position.done and position.version == position.until)
        versions = () if all_read else self._behind(position)
        waiting = [version for version in versions if version.rows > 0]
        seconds = world.now() - min(version.committed for version in waiting) if waiting else 0.0
        self.context.metrics.lag(sum(version.rows for version in waiting), max(seconds, 0.0))

    def _behind(self, position: TablePosition) -> Iterator[UnreadVersion]:
        """Yield the versions with unread rows, and their numbers of unread rows.

        Until its data files are known, a version counts with all rows that it adds, and a whole one with none.
        """
        for waiting in self._table.behind(position):
            if waiting.version != position.version:
                yield waiting
            elif not position.done:
                known = self._cached is not None and self._cached[0] == (position.version, position.whole)
                parts = self._cached[1].parts if self._cached is not None and known else ()
                rows = sum(part.rows for part in parts[position.part :]) - position.row
                yield waiting if not known and not position.whole else waiting._replace(rows=rows)

    def _check_columns(self) -> None:
        """Check that the table has all attributes, except facts about changes of a feed, with types that fit."""
        there = self._table.columns()
        for field in self._schema:
            if field.name in FEED and self.parameters.on_change == "feed":
                continue
            if field.name not in there.names:
                message = (
                    f"the table {self._table.place} has no column {field.name}{nearest(field.name, there.names)}; "
                    "its columns are " + ", ".join(there.names)
                )
                raise DataError(message)
            kind = there.field(field.name).type
            if not fits(kind, field.type):
                message = (
                    f"the column {field.name} of {self._table.place} is {type_name(kind)}, "
                    f"but the attribute is {type_name(field.type)}; give the attribute the type of the column"
                )
                raise DataError(message)


def _is_away(error: Exception) -> bool:
    return isinstance(error, LakeError) and is_away(error)
