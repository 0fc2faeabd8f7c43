"""The watermark of one operator, computed from its connections' watermarks or from the times of its tuples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from streams_orchestration.operators.event_time.clock import Clock
from streams_orchestration.operators.event_time.combined_watermark import CombinedWatermark
from streams_orchestration.operators.event_time.holder import Holder
from streams_orchestration.operators.event_time.partition_time import NO_TIME, AheadGuard
from streams_orchestration.operators.event_time.partitions import WHOLE
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.event_time.times import ahead_column, described_tuple, times_and_nulls
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END, IDLE, Watermarks

OWN = ""
"""The key of a sink's own watermark in a map of watermarks by connection."""
_DAY_SECONDS = 86_400
_COUNTERS = {
    "ahead": "tuples with a time far ahead of the watermark, which did not move it at once (EV53)",
    "null_times": "tuples without a time (EV54)",
}


class OperatorWatermark:
    """The watermark of an operator in an event-time graph, kept from batch to batch."""

    def __init__(self, role: EventTimeRole, connections: Iterable[str]) -> None:
        """Initialize for an operator that has received no watermark yet."""
        self.role = role
        self.entries = CombinedWatermark(connections, imports=bool(role.imports))
        self.clock = Clock(role.lag, role.minimum_gap, _guard_of(role)) if role.mode == "outputEventTime" else None
        self.orders_ports = self.clock is not None and len(role.outputs) > 1
        """True if the operator makes watermarks of the tuples of several output ports, in the order of all of them.

        Such an operator is called for one tuple at a time, since a batch gives the tuples of each port as a whole
        (EV17, EV41).
        """
        self._unchanged = role.outputs if role.mode in ("inputWatermark", "manual") else ()
        """The output ports at which batches keep the watermarks with which the operator submits them."""
        self.counts = Counter[str]()
        """The number of tuples for each counter in `_COUNTERS`, since the reader of this map last cleared it."""
        self.jumped: str | None = None
        """The warning about the first tuple that advanced the watermark by more than a day. None if there was no such
        tuple; empty after the warning was read.
        """
        self.slowest: int | None = None
        """The least watermark among the graph's other sources, in ticks (EV65); None without limited drift."""
        self._waiting = 0
        """The number of partitions that are not read because they are too far ahead."""
        self._sent: int | None = None
        """The watermark sent last in the modes `heldInput` and `manual`; None before the first one."""
        self._reached: int | None = None
        """The input watermark before which the operator has processed all tuples; None before the first one."""
        self._held: int | None = None
        """The least time in ticks of a tuple that the operator keeps (EV62); None without any."""
        self._sent_at: dict[int, int] = {}
        """The highest watermark that the operator itself has placed at each output port, in the mode `heldInput`."""
        self._restored: int = IDLE
        """The watermark that was sent last before the state was stored from which the operator continues."""
        self._rests = False
        """True if the operator was sent as idle in the modes `heldInput` and `manual` (EV51).

        In the mode `heldInput` its input is idle, and it keeps no tuple. In the mode `manual` it has declared itself
        idle, and submitted no tuple since.
        """
        self._told = True
        """False if the operator, which was sent as idle, is to be sent as idle again."""

    @property
    def value(self) -> int | None:
        """The watermark in ticks; None before the first one."""
        match self.role.mode:
            case "outputEventTime":
                return None if self.clock is None else self.clock.emitted
            case "inputWatermark":
                return self.entries.watermark
            case _:
                return self._sent

    @property
    def seen(self) -> int | None:
        """The watermark that the operator itself sees: the least of its connections, or the one from its tuples.

        In ticks; None before the first one.
        """
        return self.entries.watermark if self.clock is None else self.clock.emitted

    @property
    def held_back(self) -> bool:
        """True if the watermark would rise without the tuples that the operator keeps (EV62)."""
        return self._reached is not None and (self._sent is None or self._sent < self._reached)

    def lets_go_at(self, port: int, control_ports: Collection[int]) -> bool:
        """Return True if tuples of an input port are not kept themselves, and may release kept tuples (EV62)."""
        return self.role.mode == "heldInput" and (port not in self.role.ports or port in control_ports)

    def entered(self, batch: TupleBatch, connection: str) -> TupleBatch:
        """Advance the operator's watermark by the watermarks of an arriving batch.

        The returned batch has the resulting changes of the operator's watermark instead of its own watermarks.

        Args:
            batch: the batch.
            connection: the name of the connection on which the batch comes, possibly outside of event time.
        """
        given, entries = batch.watermarks, self.entries
        if given is not None and given.rise and entries.follows(connection, given.values):
            return batch
        steps = entries.enter(connection, given, len(batch)) if connection in entries.values else None
        return batch if steps is given else batch.with_watermarks(steps)

    def submitted(self, port: int, batch: TupleBatch) -> TupleBatch:
        """Advance the watermark by a submitted batch, and return the batch with the watermarks of its output port.

        At ports outside of the graph there are none. The first jump by more than a day is kept for `warning`, unless
        `maxAhead` is set.

        Raises:
            DataError: the time of a tuple is null, the operator makes watermarks from times, and the annotation does
                not ignore nulls (EV54).
        """
        if port in self._unchanged:
            self._rests = self._rests and not len(batch)
            return batch
        if port not in self.role.outputs:
            return batch.without_watermarks()
        if self.clock is None:
            return self._placed(port, batch)
        before, tuples, codes = self.clock.emitted, batch.arrow, None
        names = [WHOLE]
        if batch.partitions is not None:
            codes = batch.partitions.indices.to_numpy(zero_copy_only=False)
            names = [str(each) for each in batch.partitions.dictionary.to_pylist()]
        steps = self.clock.advance(self._trusted(tuples), codes, names)
        if self.jumped is None and steps is not None and self.role.max_ahead is None:
            self._note_jump(before, steps, tuples)
        return batch if steps is batch.watermarks else batch.with_watermarks(steps)

    def _placed(self, port: int, batch: TupleBatch) -> TupleBatch:
        """Return a batch in which the watermarks that an operator has placed never fall at an output port (EV16).

        They would fall when the operator keeps a late tuple.
        """
        if batch.watermarks is None:
            return batch
        values, sent = batch.watermarks.values, self._sent_at.get(port, self._restored)
        if ((values < sent) & (values != IDLE)).any():
            values = np.where(values == IDLE, IDLE, np.maximum(values, sent))
            batch = batch.with_watermarks(Watermarks(batch.watermarks.places, values))
        self._sent_at[port] = int(values.max(initial=sent))
        highest = max(self._sent_at[port], IDLE if self._sent is None else self._sent)
        self._sent = None if highest == IDLE else highest
        return batch

    def _trusted(self, tuples: pa.RecordBatch) -> np.ndarray:
        """Return the times of tuples in ticks; replace and count null times and times far ahead of `aheadOf`.

        They become `NO_TIME`.
        """
        role = self.role
        times, missing = times_and_nulls(tuples, role)
        if missing is not None:
            self.counts["null_times"] += int(missing.sum())
            times = np.where(missing, NO_TIME, times)
        ahead_of = ahead_column(tuples, role)
        if ahead_of is not None and role.max_ahead is not None:
            known = ahead_of.is_valid().to_numpy(zero_copy_only=False)
            bound = pc.fill_null(ahead_of, 0).to_numpy(zero_copy_only=False)
            bound = np.where(bound > END - role.max_ahead, END, bound + role.max_ahead)
            ahead = (times > bound) | ~known
            self.counts["ahead"] += int((ahead & (times != NO_TIME)).sum())
            times = np.where(ahead, NO_TIME, times)
        return times

    def _note_jump(self, before: int | None, steps: Watermarks, tuples: pa.RecordBatch) -> None:
        """Store a warning about the first watermark that rises by more than a day."""
        told = steps.values != IDLE
        places, values = steps.places[told], steps.values[told]
        if not len(values):
            return
        rises = np.diff(np.r_[values[0] if before is None else before, values].astype(np.float64))
        days = rises / (_DAY_SECONDS * self.role.ticks)
        first = int((days > 1).argmax())
        if days[first] > 1:
            place = int(places[first])
            at = f" at tuple {place} of {tuples.num_rows}: {described_tuple(tuples, place - 1)}" if place else ""
            self.jumped = (
                f"the watermark jumps by {days[first]:,.1f} days{at}; tuples with earlier times are late from here on. "
                f"If times of {self.role.attribute} can be wrong, set maxAhead in eventTime"
            )

    @property
    def holder(self) -> Holder:
        """The connection, partition or kept tuple that keeps the watermark from rising."""
        if self.clock is not None:
            if self.clock.emitted == END:
                return Holder("end")
            return replace(self.clock.partitions.holder(), waiting=self._waiting)
        found = self.entries.holder()
        if self.role.mode == "manual" and self._sent != END:
            return Holder("operator", ticks=self._sent, inputs=found.inputs, idle=found.idle)
        if self._held is not None and self._reached is not None and self._held < self._reached:
            return Holder("tuple", ticks=self._held, inputs=found.inputs, idle=found.idle)
        return found

    def describe(self) -> dict[str, Any] | None:
        """Return the watermark and its holder as JSON, times in unix seconds.

        Return None if the operator's only connection has had no watermark: such an operator may run in several tasks,
        of which some see no watermark.
        """
        single = len(self.entries.values) == 1 and not self.role.imports
        if self.role.mode == "inputWatermark" and single and not self.entries.touched:
            return None
        return self.holder.document(self.value, self.role.ticks)

    def warning(self) -> str | None:
        """Return once the warning that a tuple advanced the watermark by more than a day; later an empty text.

        None before such a tuple.
        """
        warning, self.jumped = self.jumped, self.jumped and ""
        return warning

    def observed(self) -> dict[str, tuple[str, int]]:
        """Return the counters that have changed since the last call: a map from name to description and increase."""
        if self.clock is not None:
            self.counts["ahead"] += self.clock.partitions.take_ahead()
        found = {name: (_COUNTERS[name], number) for name, number in self.counts.items() if number}
        self.counts.clear()
        return found

    def passed(self, steps: Watermarks | None, held: int | None) -> Watermarks | None:
        """Return the watermarks that the operator sends after processing all tuples before given input watermarks.

        In the mode `inputWatermark` these are the input watermarks, in the mode `heldInput` the least of the input
        watermark and `held`, recorded as sent. An operator in that mode is idle while its input is and it keeps no
        tuple; a repeated watermark ends this (EV51). The result is None in other modes, and if nothing changes.

        Args:
            steps: changes of the input watermark, with no tuples between them; None if the operator may have released
                tuples for another reason.
            held: the least time of a tuple that the operator keeps (EV62); None without any.
        """
        if self.role.mode == "inputWatermark":
            return steps
        if self.role.mode != "heldInput":
            return None
        self._held = held
        rests = held is None and (self.entries.rests if steps is None else bool(steps.values[-1] == IDLE))
        if steps is not None and (values := steps.values[steps.values != IDLE]).size:
            self._reached = int(values[-1])
        due = self._reached if held is None or self._reached is None else min(self._reached, held)
        values = [] if due is None or (self._sent is not None and due <= self._sent) else [(0, due)]
        self._sent = due if values else self._sent
        if rests and not (self._rests and self._told):
            values.append((0, IDLE))
        elif self._rests and not rests and not values and self._sent is not None:
            values.append((0, self._sent))
        self._rests, self._told = rests, True
        return Watermarks.of(*values) if values else None

    def keeps(self, held: int | None) -> None:
        """Record the least time of a tuple that the operator keeps (EV62), and the input watermark as reached.

        Operators with `keeps_places` call this in place of `passed`.
        """
        self._held, self._reached = held, self.entries.watermark

    def set(self, watermark: int) -> Watermarks | None:
        """Set the watermark of an operator in the mode `manual`.

        Return the watermark to send, or None if it does not rise enough (EV23), or the operator has ended.

        The value `IDLE` means that the operator is idle until its next tuple (EV51).
        """
        if watermark == IDLE:
            self._rests = self._told = self._sent != END
            return Watermarks.of((0, IDLE)) if self._rests else None
        least = IDLE if self._sent is None else min(self._sent + max(self.role.minimum_gap, 1), END)
        if self._sent == END or watermark < least:
            return None
        self._sent, self._rests = watermark, False
        return Watermarks.of((0, watermark))

    def declared(self) -> Watermarks | None:
        """Return the watermark `IDLE` if `tell_again` was called for an idle operator in the mode `manual`, else None.

        The watermark is returned once for each call of `tell_again`.
        """
        if self.role.mode != "manual" or not self._rests or self._told:
            return None
        self._told = True
        return Watermarks.of((0, IDLE))

    def end(self) -> Watermarks | None:
        """End the operator's streams, and return the last watermark (EV25); None if it was returned before.

        In the mode `manual`, this ends the input watermark only. The operator has to set the one that it sends.
        """
        return self.entries.end() if self.clock is None else self.clock.end()

    def microseconds(self, *, own: bool = False) -> dict[str, int]:
        """Return the watermark of each connection in microseconds; `IDLE` if it has none, and `END` unchanged.

        None is below the operator's watermark, which an idle connection does not hold back: its later tuples are late.

        Args:
            own: add the operator's own watermark, if there is one, under the name `OWN`.
        """
        least = IDLE if self.entries.watermark is None else self.entries.watermark
        reached = {name: least if value is None else max(value, least) for name, value in self.entries.values.items()}
        if own and self.entries.watermark is not None:
            reached[OWN] = self.entries.watermark
        return {
            name: value if value in (IDLE, END) else value * 1_000_000 // self.role.ticks
            for name, value in reached.items()
        }

    def assign(self, names: Collection[str]) -> Watermarks | None:
        """Set the partitions that a source reads from now on. Return the resulting watermarks; None without any."""
        return None if self.clock is None else self.clock.assign(names)

    def too_far_ahead(self, names: Collection[str]) -> frozenset[str]:
        """Return the given partitions that a source must not read now (EV65), and keep their number for `holder`.

        The names are of partitions with further tuples. Without a limited drift, none is returned.
        """
        found = frozenset[str]()
        if self.clock is not None and self.role.max_drift is not None:
            found = self.clock.partitions.too_far_ahead(names, self.role.max_drift, self.slowest)
        self._waiting = len(found)
        return found

    def tell_again(self) -> None:
        """Let the operator send again that it is idle, if it is: a redeploy may have made new connections (EV45)."""
        self._told = not self._rests
        self.entries.tell_again()
        if self.clock is not None:
            self.clock.partitions.tell_again()

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON (EV43)."""
        if self.clock is not None:
            return self.clock.dump()
        kept = {"heldInput": {"resting": self._rests}, "manual": {"declared": self._rests}}
        own = kept.get(self.role.mode, {})
        return self.entries.dump() | {"sent": self._sent} | own

    def load(self, state: dict[str, Any]) -> None:
        """Restore a state that `dump` returned."""
        if self.clock is None:
            self.entries.load(state)
            self._reached, self._sent = state["watermark"], state.get("sent")
            self._rests = state.get("resting", False) or state.get("declared", False)
            self._sent_at, self._restored = {}, IDLE if self._sent is None else self._sent
        else:
            self.clock.load(state)


def _guard_of(role: EventTimeRole) -> AheadGuard | None:
    """Return the guard that compares times with the watermark.

    It is None without `maxAhead`, and with `aheadOf`, which has a test of its own.
    """
    if role.max_ahead is None or role.ahead_of is not None:
        return None
    return AheadGuard(role.max_ahead, role.confirmations)
