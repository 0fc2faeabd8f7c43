"""The tuples that arrive at windows of event time: those in time for their panes, and those that are too late."""

from __future__ import annotations

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.event_time.steps import Steps
from streams_orchestration.operators.event_time.times import described_tuple, times_and_nulls
from streams_orchestration.operators.inputs.event_time import LATE_PORT, submit_late
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.windows.interval_panes import IntervalPanes
from streams_orchestration.operators.windows.session_panes import SessionPanes

Panes = IntervalPanes | SessionPanes
"""The open panes of windows by event time, which are panes of a grid or sessions."""


class PaneArrivals:
    """Selects the tuples that are in time for their panes. Late tuples are counted, and sent to their port (EV30)."""

    def __init__(self, operator: Operator, role: EventTimeRole, panes: Panes, *, divides: bool) -> None:
        """Initialize for an operator.

        Args:
            operator: the operator.
            role: its role in the event-time graph.
            panes: its panes.
            divides: True if there is an output port for late tuples.
        """
        self._operator = operator
        self._role = role
        self._panes = panes
        self._divides = divides
        metrics = operator.context.metrics
        self._taken = metrics.counter("late_taken", "late tuples that were processed")
        self._dropped = metrics.counter("late_dropped", "late tuples that were dropped")
        self._null = metrics.counter("null_times", "tuples without a time") if role.on_null == "ignore" else None
        self._open = metrics.gauge("open_panes", "panes that have tuples and are not closed")

    def kept(self, batch: TupleBatch, steps: Steps) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Submit or drop late tuples; return the times of the others, the steps before each, and a mask of the tuples.

        The mask is None if all tuples are in time. Tuples without a time are counted, and go the way of late tuples.

        Raises:
            DataError: a time is null, and the annotation does not ignore that (EV54); or the panes of a tuple exceed
                the range of event time.
        """
        times, missing = times_and_nulls(batch.arrow, self._role)
        seen, current = steps.seen(len(times)), steps.current(len(times))
        if missing is not None:
            times = np.where(missing, current, times)
        late, dropped = self._panes.judge(times, current)
        if late:
            gone = 0 if dropped is None else int(np.count_nonzero(dropped))
            self._taken.add(late - gone)
            self._dropped.add(gone)
        if missing is not None:
            if self._null is not None:
                self._null.add(int(np.count_nonzero(missing)))
            dropped = missing if dropped is None else dropped | missing
        kept = None if dropped is None else ~dropped
        if dropped is not None and self._divides:
            submit_late(self._operator, batch.filter(dropped), LATE_PORT)
        if kept is not None:
            times, seen = times[kept], seen[kept]
        if len(times) and (beyond := self._panes.outside_range(times)) is not None:
            self._refuse(batch.arrow if kept is None else batch.arrow.filter(pa.array(kept)), int(beyond.argmax()))
        return times, seen, kept

    def _refuse(self, tuples: pa.RecordBatch, place: int) -> None:
        message = (
            f"the event time {self._role.attribute} of the tuple {described_tuple(tuples, place)} is in a pane that "
            "begins or ends beyond the range of its type"
        )
        raise DataError(message)

    def show_open(self, watermark: int) -> None:
        """Set the gauge to the number of panes that are open at a watermark in ticks."""
        self._open.set(self._panes.open_panes(watermark))
