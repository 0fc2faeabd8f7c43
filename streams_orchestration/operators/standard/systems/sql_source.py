"""SqlSource: reads the rows of a table or query in the order of a column whose values grow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from streams_orchestration import world
from streams_orchestration.operators.clients.backoff import Backoff
from streams_orchestration.operators.contract.offset import offset_without
from streams_orchestration.operators.contract.operator import (
    Offset,
    OperatorContext,
    ProducedTo,
    Punctuation,
    SourceOperator,
)
from streams_orchestration.operators.databases.address import check_url, shown_url
from streams_orchestration.operators.databases.row_tuples import RowTuples
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.standard.systems.sql_source_parameters import SqlSourceParameters, source_columns

if TYPE_CHECKING:
    from streams_orchestration.operators.databases.incremental_table import IncrementalTable

RECENT_ROWS = 10_000
"""The number of recent rows that are counted again to detect late rows among them."""
RECORDS_PER_SETTLE = 10
LAG_LIMIT = 100_000
"""The row count beyond which the lag is not counted."""


class _Seen(NamedTuple):
    """The largest value of the growing column, with the monotonic time at which it was first seen."""

    value: Any
    at: float


class SqlSource(SourceOperator):
    """Reads rows by a growing column. The offset is the last value read and the number of rows read recently.

    Rows with equal values are read in one call. A value is read only `settle` seconds after it was first seen, so that
    rows of slower transactions are visible by then. Rows that become visible later with a value below the position are
    counted and lost; the application fails unless `onLostData: skip`.

    The offset also holds the identity of the table. A table that was dropped and created again is reported, or read
    from its first row.
    """

    Parameters = SqlSourceParameters
    naming_parameters = NamingParameters(outputs=("columns",))
    free_parameters = frozenset(("poll_period", "settle", "until", "on_bad_tuple", "on_lost_data"))

    @classmethod
    def check(cls, context: OperatorContext, parameters: SqlSourceParameters) -> None:
        """Raise ValueError if the URL cannot be used, or attributes or ports do not fit. Connects to nothing."""
        check_url(parameters.url)
        source_columns(context, parameters)

    @classmethod
    def destination(cls, context: OperatorContext, parameters: SqlSourceParameters) -> str:
        """Return the table and the database from which rows are read."""
        return f"{parameters.table or 'a query'} in {shown_url(parameters.url)}"

    def setup(self) -> None:
        """Prepare without connecting."""
        from streams_orchestration.operators.databases.errors import DatabaseError

        if self.context.max_channels > 1 and self.parameters.table is not None:
            message = (
                "table: every channel of a parallel region would read all of its rows; put the source in front of the "
                "region, or name the rows of a channel with query: SELECT * FROM t WHERE MOD(id, ${getMaxChannels()}) "
                "= ${getChannel()}"
            )
            raise DataError(message)
        self.columns = source_columns(self.context, self.parameters)
        self._tuples = RowTuples(self, self.columns, self.parameters.on_bad_tuple)
        self._backoff = Backoff(self.context, refusal=DatabaseError)
        self._seen: list[_Seen] = []
        self._recorded_at = self._inspected = float("-inf")
        self._warned = self._scans = False
        self._more = False
        self._place = ""

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the next rows that have settled, or none while the database cannot be reached."""
        self._more = False
        return self._backoff.reached(lambda: self._produce(offset, limit)) or ProducedTo(offset, exhausted=False)

    def available(self, offset: Offset) -> Offset | None:
        """Return the largest value of the growing column; None if the database cannot be reached."""
        return self._backoff.reached(lambda: {"value": self._highest()})

    @classmethod
    def continued(cls, offset: Offset) -> Offset:
        """Return the offset without the end of the earlier run."""
        return offset_without(offset, "until")

    @classmethod
    def restored(cls, offset: Offset) -> Offset:
        """Return the offset after a restore, without the table's identity, so that a copy of the table is accepted."""
        return offset_without(offset, "table")

    def pause(self) -> float | None:
        """Return the seconds, never None, until rows have settled or a check is due; 0 while rows are left."""
        if self._backoff.pause:
            return self._backoff.pause
        if self._more:
            return 0.0
        settling = (seen.at + self.parameters.settle - world.monotonic() for seen in self._seen)
        return min([self.parameters.poll_period, *(seconds for seconds in settling if seconds > 0)])

    def place(self) -> str:
        """Return the table and the range of rows of the last submission."""
        return self._place

    def _produce(self, offset: Offset, limit: int) -> ProducedTo:
        from streams_orchestration.operators.databases.incremental_table import Range
        from streams_orchestration.operators.databases.values import value_of

        offset = self._begun(offset if self.until is None else self.continued(offset))
        finite = self.until is not None or self.parameters.until is not None
        until = value_of(offset["until"] if self.until is None else self.until["value"]) if finite else None
        after = value_of(offset["value"])
        self._record_highest(until)
        if until is None and finite:
            return self._ended(offset)
        offset = self._inspect(offset, after, until)
        after = value_of(offset["value"])
        ceiling = self._settled()
        if ceiling is None:
            return ProducedTo(offset, exhausted=False)
        rows = self._source.read(after, ceiling, limit) if after != ceiling else Range(after, [])
        for chunk in rows.chunks:
            self._submit(chunk)
        if rows.number:
            fresh = offset["rows"] + rows.number > RECENT_ROWS
            offset = offset | {
                "value": self._cut(rows.upper),
                "since": offset["value"] if fresh else offset["since"],
                "rows": rows.number if fresh else offset["rows"] + rows.number,
            }
        self._more = rows.number > 0 and rows.upper != ceiling
        return self._ended(offset) if until is not None and not self._more else ProducedTo(offset, exhausted=False)

    @cached_property
    def _source(self) -> IncrementalTable:
        from streams_orchestration.operators.databases.incremental_table import IncrementalTable

        p = self.parameters
        return IncrementalTable(p.url, table=p.table, query=p.query, column=p.column, columns=self.columns)

    def _ended(self, offset: Offset) -> ProducedTo:
        self.punctuate(Punctuation.WINDOW)
        return ProducedTo(offset, exhausted=True)

    def _warn_of_scans(self) -> None:
        """Warn once if no index begins with the growing column, so that each check reads the whole table."""
        if self._source.unindexed and not self._scans:
            self._scans = True
            column = self._source.column
            self.context.logger.warning(
                "%s: no index begins with the column %s, so each poll reads the whole table; run CREATE INDEX for (%s)",
                self._source.name,
                column,
                column,
            )

    def _begun(self, offset: Offset) -> Offset:
        """Return the offset with the starting value, and the end of a finite run.

        Raise DataError if one of the two cannot be stored as JSON.
        """
        if "rows" not in offset:
            start = self.parameters.start_at
            value = None if start == "earliest" else self._highest() if start == "latest" else start
            offset = {"value": value, "since": value, "rows": 0}
        if self.until is None and self.parameters.until and "until" not in offset:
            offset = offset | {"until": self._highest()}
        return offset

    def _highest(self) -> Any:
        """Return the largest value of the growing column as JSON; None if the table is empty."""
        highest = self._source.highest()
        return None if highest is None else self._cut(highest)

    def _cut(self, value: Any) -> Any:
        """Return a value of the growing column as JSON. Raise DataError if values of its type have no usable order."""
        from streams_orchestration.operators.databases.values import cut_value

        try:
            return cut_value(value)
        except ValueError as error:
            message = f"{self._source.name}, column {self._source.column}: {error}"
            raise DataError(message) from error

    def _record_highest(self, until: Any) -> None:
        """Record the largest value of the growing column, at intervals.

        Raises DataError if it cannot be stored as JSON.
        """
        from streams_orchestration.operators.databases.values import value_of

        now = world.monotonic()
        if now < self._recorded_at + self.parameters.settle / RECORDS_PER_SETTLE:
            return
        highest = value_of(self._highest()) if until is None else until
        if highest is not None and (not self._seen or self._seen[-1].value != highest):
            self._seen.append(_Seen(highest, now))
        self._recorded_at = now

    def _inspect(self, offset: Offset, after: Any, until: Any) -> Offset:
        """Check at intervals that rows can be read in order; measure the lag, and return the offset to continue.

        Between two checks, nothing is done and the offset is unchanged.
        """
        now = world.monotonic()
        if now < self._inspected + self.parameters.poll_period:
            return offset
        self._check_nulls()
        self._warn_of_scans()
        offset = self._count_late_rows(self._identify(offset, after), after)
        self._measure_lag(after, until)
        self._inspected = now
        return offset

    def _settled(self) -> Any:
        """Return the value up to which rows have settled, and forget the earlier ones; None if none is known."""
        now = world.monotonic()
        settled = [seen for seen in self._seen if seen.at + self.parameters.settle <= now]
        if settled:
            self._seen = self._seen[len(settled) - 1 :]
            return settled[-1].value
        return None

    def _check_nulls(self) -> None:
        if self._warned or not self._source.has_nulls():
            return
        message = f"{self._source.name}, column {self._source.column}: a row has NULL there, so it would never be read"
        if self.parameters.on_bad_tuple == "fail":
            message += "; give it a value and make the column NOT NULL, or set onBadTuple: drop"
            raise DataError(message)
        self._warned = True
        self.context.logger.warning("%s", message)

    def _identify(self, offset: Offset, after: Any) -> Offset:
        """Return the offset with the table's identity; at its first row if it was dropped and created again.

        A table that was created again is logged and counted. The offset is unchanged if the table has no identity, or
        if nobody can say yet whether it was created again.
        """
        now = self._source.identity()
        if now is None:
            return offset
        if after is None or offset.get("table", now.sign) == now.sign:
            return offset | {"table": now.sign}
        if not now.exact:
            if self._source.has(after):  # the table was altered
                return offset | {"table": now.sign}
            if not self._source.count(None, after, 1):  # the table is empty, or its rows continue behind the position
                return offset
        message = (
            f"{self._source.name} was dropped and created again since it was read up to {self._source.column} {after}"
        )
        if self.parameters.on_lost_data == "fail":
            message += (
                ": unread rows of the former table are lost; with onLostData: skip, the new table is read from its "
                "first row on, --fresh starts over"
            )
            raise DataError(message)
        self.context.logger.warning("%s: it is read from its first row on", message)
        about = "how often the table was dropped and created again while it was read"
        self.context.metrics.counter("recreated", about).add(1)
        self._seen, self._recorded_at = [], float("-inf")
        return offset | {"value": None, "since": None, "rows": 0, "table": now.sign}

    def _count_late_rows(self, offset: Offset, after: Any) -> Offset:
        """Count and log the rows that have appeared late; return the offset with the count.

        Late rows have a value after `since` and up to the position. At most `LAG_LIMIT` are counted at once, and none
        while `rows` is 0. Without any, the offset is unchanged.
        """
        from streams_orchestration.operators.databases.values import value_of

        if offset["rows"] == 0:
            return offset
        late = self._source.count(value_of(offset["since"]), after, offset["rows"] + LAG_LIMIT) - offset["rows"]
        if late <= 0:
            return offset
        message = (
            f"{self._source.name}: {late} rows with {self._source.column} up to {after} became visible after a "
            f"larger value had been read; their transaction took longer than settle ({self.parameters.settle:g} s)"
        )
        if self.parameters.on_lost_data == "fail":
            message += "; increase settle; onLostData: skip continues without them, --fresh reads everything again"
            raise DataError(message)
        self.context.logger.warning("%s; they are left out", message)
        self.context.metrics.counter(
            "late", "rows that became visible with a value below the position and were left out"
        ).add(late)
        return offset | {"rows": offset["rows"] + late}

    def _measure_lag(self, after: Any, until: Any) -> None:
        from streams_orchestration.operators.databases.values import age_of

        behind = self._source.count(after, until, LAG_LIMIT)
        waiting = [seen.at for seen in self._seen if seen.value != after]
        age = age_of(after, world.utc())
        seconds = age if age is not None else world.monotonic() - min(waiting, default=world.monotonic())
        self.context.metrics.lag(behind, max(seconds, 0.0) if behind else 0.0)

    def _submit(self, rows: Sequence[Sequence[Any]]) -> None:
        column = self._source.column
        self._place = f"{self._source.name}, {column} {rows[0][-1]} to {rows[-1][-1]}"
        self._tuples.submit(self._source.name, rows, lambda row: f"{column} {rows[row][-1]}")
