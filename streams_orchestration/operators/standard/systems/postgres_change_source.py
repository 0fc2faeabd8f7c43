"""PostgresChangeSource: reads the rows of a PostgreSQL table, then its inserts, updates and deletes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
from streams_orchestration.operators.loading.libraries import import_modules, pa
from streams_orchestration.operators.standard.systems.postgres_change_source_parameters import (
    SNAPSHOT,
    PostgresChangeSourceParameters,
    changed_columns,
)

if TYPE_CHECKING:
    from streams_orchestration.operators.databases.changes import ChangedRow, ChangeReader, LogPosition
    from streams_orchestration.operators.databases.replication import ReplicationSlot

EPOCH = 946_684_800_000_000
"""2000-01-01, PostgreSQL's epoch, in microseconds since 1970."""
MOVED = 16 << 20
"""The offset moves after this many bytes of the log even if the table has no change in them."""
UNLOGGED_ATTEMPTS = 3
"""The number of attempts that may find the slot in use by another session before that is logged."""


class PostgresChangeSource(SourceOperator):
    """Peeks at a replication slot. The offset is a position in the server's log.

    The host advances the slot up to the cut (`confirm`), so a reset can read later changes again. The existing rows are
    one batch at the beginning; changes that it already contains are skipped. The offset holds the server's identifier,
    so another server in its place is detected.
    """

    Parameters = PostgresChangeSourceParameters
    naming_parameters = NamingParameters(outputs=("columns", "metadata"))
    free_parameters = frozenset(("poll_period", "on_bad_tuple", "on_lost_data", "columns", "metadata", "changes"))

    @classmethod
    def check(cls, context: OperatorContext, parameters: PostgresChangeSourceParameters) -> None:
        """Raise ValueError if the URL, attributes or ports do not fit, or several channels would read the slot.

        Nothing is connected.
        """
        check_url(parameters.url)
        if not shown_url(parameters.url).startswith(("postgresql:", "{env:", "${")):
            message = "url: only PostgreSQL has replication slots; SqlSource reads other databases by a growing column"
            raise ValueError(message)
        changed_columns(context, parameters)
        context.require_one_channel("read the same slot")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: PostgresChangeSourceParameters) -> str:
        """Return the table and the database, for messages."""
        return f"changes of {parameters.table} in {shown_url(parameters.url)}"

    def load(self) -> None:
        """Import the driver of the database. Raises DatabaseUrlError if the address cannot be used."""
        from streams_orchestration.operators.databases.connecting import load_driver

        import_modules("streams_orchestration.operators.databases.replication")
        load_driver(self.parameters.url)

    def setup(self) -> None:
        """Prepare without connecting."""
        from streams_orchestration.operators.databases.errors import DatabaseError

        self.schema = self.context.output_schema()
        self.columns = changed_columns(self.context, self.parameters)
        self._tuples = RowTuples(self, self.columns, self.parameters.on_bad_tuple)
        self._slot: ReplicationSlot | None = None
        self._changes: ChangeReader | None = None
        self._backoff = Backoff(self.context, refusal=DatabaseError)
        self._in_use = 0
        self._place = ""

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the next changes, or nothing while the database is away or another session reads the slot.

        The first calls create the slot and, unless the source starts at the slot, submit the existing rows. A window
        marker follows these rows, and another one the last change before the end of a bounded run.

        Raises:
            DatabaseError: the database refuses a request.
        """
        produced = self._backoff.reached(lambda: self._produce_unless_in_use(offset, limit))
        if produced is None:
            self.disconnect()
            return ProducedTo(offset, exhausted=False)
        return produced

    def available(self, offset: Offset) -> Offset | None:
        """Return the end of the server's log; None if the database cannot be reached."""
        end = self._backoff.reached(lambda: {"end": self._connected().newest()})
        if end is None:
            self.disconnect()
        return end

    @classmethod
    def continued(cls, offset: Offset) -> Offset:
        """Return the offset without the end of the earlier run."""
        return offset_without(offset, "end")

    def pause(self) -> float | None:
        """Return the seconds, never None, until the slot is checked or tried again; 0 while changes are left."""
        if self._backoff.pause:
            return self._backoff.pause
        return 0.0 if self._changes is not None and self._changes.more else self.parameters.poll_period

    def place(self) -> str:
        """Return the table and the transactions of the last submission."""
        return self._place

    def confirm(self, offset: Offset) -> None:
        """Advance the slot to an offset, so that the server can discard earlier changes; not during the snapshot.

        Raises:
            DatabaseError: the database refuses the request, or cannot be reached.
        """
        if offset.get("lsn"):
            self._connected().advance(offset["lsn"])

    def _connected(self) -> ReplicationSlot:
        from streams_orchestration.operators.databases.replication import ReplicationSlot

        if self._slot is None:
            p = self.parameters
            self._slot = ReplicationSlot(p.url, p.slot, p.publication, p.table)
        return self._slot

    def disconnect(self) -> None:
        """Close the connections to the database; the next call opens them again."""
        if self._changes is not None:
            self._changes.close()
        if self._slot is not None:
            self._slot.close()
        self._changes = None

    def _produce_unless_in_use(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the next changes, or none while another session reads the slot."""
        from streams_orchestration.operators.databases.replication import SlotInUseError

        try:
            produced = self._produce(offset, limit)
        except SlotInUseError:
            self.disconnect()
            self._in_use += 1
            if self._in_use > UNLOGGED_ATTEMPTS:
                raise
            return ProducedTo(offset, exhausted=False)
        self._in_use = 0
        return produced

    def _produce(self, offset: Offset, limit: int) -> ProducedTo:
        slot = self._connected()
        if not offset:
            produced = ProducedTo(self._begun(slot), exhausted=False)
        elif "writers" in offset:
            produced = ProducedTo(self._snapshot(slot, offset), exhausted=False)
        else:
            produced = self._read(slot, offset, limit)
        return produced._replace(offset=produced.offset | {"server": slot.server()})

    def _begun(self, slot: ReplicationSlot) -> Offset:
        """Prepare the slot, and return the first offset. Raises DatabaseError if the database refuses or is away."""
        slot.prepare(list(self.columns.values()))
        if self.parameters.start_at == SNAPSHOT:
            # transactions that write now may commit before the slot begins, and be invisible to a snapshot taken at
            # once
            return {"writers": slot.next_transaction()}
        state = slot.state()
        assert state is not None
        return self._until(slot, {"lsn": state.confirmed, "rows": 0})

    def _until(self, slot: ReplicationSlot, offset: Offset) -> Offset:
        return offset | {"end": slot.newest()} if self.parameters.until and self.until is None else offset

    def _snapshot(self, slot: ReplicationSlot, offset: Offset) -> Offset:
        """Submit all existing rows of the table once older transactions have ended; return the offset that follows.

        Before that, the offset is returned unchanged.
        """
        slot.prepare(list(self.columns.values()))
        oldest = slot.oldest_transaction()
        if oldest < offset["writers"]:
            self.context.logger.info("%s: waiting for the transactions from %s on to end", slot.name, oldest)
            return offset
        state = slot.state()
        assert state is not None
        now = world.now_ns() // 1000 - EPOCH
        self._place = f"{slot.table}, rows at the beginning"
        with slot.rows(list(self.columns.values())) as (snapshot, chunks):
            for chunk in chunks:
                known = {"change": SNAPSHOT, "committed": now, "position": snapshot.until, "transaction": None}
                self._submit(chunk, [known] * len(chunk), {})
        self.punctuate(Punctuation.WINDOW)
        lsn = {"lsn": state.confirmed, "rows": 0, "visible": snapshot.visible, "until": snapshot.until}
        return self._until(slot, lsn)

    def _read(self, slot: ReplicationSlot, offset: Offset, limit: int) -> ProducedTo:
        from streams_orchestration.operators.databases.changes import ChangeReader, LogPosition

        if self._changes is None:
            self._changes = ChangeReader(slot, list(self.columns.values()))
        former = LogPosition(offset["lsn"], offset["rows"], offset.get("visible"), offset.get("until", 0))
        position = former if self._changes.more else self._kept(slot, former, offset["server"])
        end = offset.get("end")
        if self.until is not None:
            offset, end = self.continued(offset), self.until["end"]
        elif end is None and self.parameters.until:
            end = slot.newest()
        reached, rows = self._changes.read(position, limit, end)
        wanted = [row for row in rows if row.kind in self.parameters.changes]
        if wanted:
            self._submit_changes(slot, wanted)
        ended = end is not None and reached.lsn >= end and (self.until is not None or not self._changes.more)
        self._measure(slot, reached, rows)
        idle = not rows and position == former and reached.rows == position.rows
        if idle and not ended and reached.lsn - position.lsn < MOVED:
            return ProducedTo(offset, exhausted=False)
        if ended:
            self.punctuate(Punctuation.WINDOW)
        following: Offset = {"lsn": reached.lsn, "rows": reached.rows}
        if end is not None and self.until is None:
            following["end"] = end
        if reached.visible is not None:
            following |= {"visible": reached.visible, "until": reached.until}
        return ProducedTo(following, exhausted=ended)

    def _kept(self, slot: ReplicationSlot, position: LogPosition, server: str) -> LogPosition:
        """Return the position where reading can continue: the given one, or the slot's position if changes are lost.

        A loss is logged and counted. A slot that is gone or invalid is created again.
        """
        from streams_orchestration.operators.databases.changes import LogPosition
        from streams_orchestration.operators.databases.replication import shown_lsn

        state = slot.state()
        end = slot.newest()
        same = server == slot.server()
        if state is not None and not state.lost and state.confirmed <= position.lsn <= end and same:
            return position
        if not same:
            what = "now belongs to another server"
        elif state is None:
            what = "is gone"
        elif state.lost:
            what = "was invalidated by the server because of max_slot_wal_keep_size"
        elif position.lsn > end:
            what = (
                f"belongs to a server whose log ends at {shown_lsn(end)}; it may have been restored from an earlier "
                "copy"
            )
        else:
            what = f"was advanced to {shown_lsn(state.confirmed)} by another reader, or dropped and created again"
        message = f"{slot.name}: it {what}, so changes of {slot.table} after {shown_lsn(position.lsn)} are lost"
        if self.parameters.on_lost_data == "fail":
            message += "; onLostData: skip continues without them, --fresh reads the table and its changes again"
            raise DataError(message)
        self.context.logger.warning("%s; they are left out", message)
        self.context.metrics.counter("lost", "how often changes were deleted before they were read").add(1)
        if state is not None and state.lost:
            slot.drop()
            state = None
        if state is None:
            slot.create()
            state = slot.state()
            assert state is not None
        return LogPosition(state.confirmed)

    def _submit_changes(self, slot: ReplicationSlot, rows: Sequence[ChangedRow]) -> None:
        from streams_orchestration.operators.databases.replication import shown_lsn

        first, last = rows[0].transaction, rows[-1].transaction
        self._place = f"{slot.table}, changes from {shown_lsn(first.commit)} to {shown_lsn(last.commit)}"
        known = [
            {
                "change": row.kind,
                "committed": row.transaction.committed,
                "position": row.transaction.commit,
                "transaction": row.transaction.transaction,
            }
            for row in rows
        ]
        remedy = f"ALTER TABLE {self.parameters.table} REPLICA IDENTITY FULL"
        reason = f"the update did not change its large value, so the server does not send it; run {remedy}"
        bad = {number: (row.unchanged, reason) for number, row in enumerate(rows) if row.unchanged is not None}
        self._submit([row.values for row in rows], known, bad)

    def _submit(
        self,
        rows: Sequence[Sequence[Any]],
        known: Sequence[Mapping[str, Any]],
        bad: Mapping[int, tuple[str, str]],
    ) -> None:
        """Submit rows with the metadata of each change."""
        extra: dict[str, pa.Array] = {}
        for attribute, kind in self.parameters.metadata.items():
            type = self.schema.field(attribute).type
            values = [each[kind] for each in known]
            if kind == "committed":
                times = pa.array([value + EPOCH for value in values], pa.int64())
                extra[attribute] = times.cast(pa.timestamp("us")).cast(type)
            else:
                extra[attribute] = pa.array(values, type)

        def place(row: int) -> str:
            from streams_orchestration.operators.databases.replication import shown_lsn

            return f"{known[row]['change']} at {shown_lsn(known[row]['position'])}"

        self._tuples.submit(f"table {self.parameters.table}", rows, place, extra, bad)

    def _measure(self, slot: ReplicationSlot, reached: LogPosition, rows: Sequence[ChangedRow]) -> None:
        assert self._changes is not None
        behind = max(slot.newest() - reached.lsn, 0) if self._changes.more else 0
        committed = rows[-1].transaction.committed + EPOCH if rows and behind else world.now_ns() // 1000
        self.context.metrics.lag_bytes(behind, max(world.now() - committed / 1e6, 0.0))
