"""Sort with panes of event time: the tuples of each firing in order, then a window marker (EV40)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.event_time.steps import Steps
from streams_orchestration.operators.event_time.times import times_of
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.inputs.event_time import LATE_PORT, EventTimeInput, least_watermark
from streams_orchestration.operators.inputs.failed_tuples import own_outputs
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.aggregation.event_time_groups import (
    GroupsOfPanes,
    divided_panes,
    panes_of,
)
from streams_orchestration.operators.standard.aggregation.pane_arrivals import PaneArrivals
from streams_orchestration.operators.standard.aggregation.parameters import PaneWindow
from streams_orchestration.operators.standard.sorting.sort_by_time import Ranks
from streams_orchestration.operators.states.rescaling import PortKeys, Route
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermarks
from streams_orchestration.operators.windows.pane_cells import PaneCells
from streams_orchestration.operators.windows.pane_rules import Arrivals, Due
from streams_orchestration.operators.windows.rescaling import divided_logs


class PaneOrder:
    """The tuples of open panes, which are submitted in order when a pane fires."""

    def __init__(self, operator: Operator, window: PaneWindow, partition: Sequence[str], ranks: Ranks) -> None:
        """Start with no tuples.

        Args:
            operator: the Sort.
            window: its window.
            partition: the attributes of a partition; empty if there is only one.
            ranks: ranks the tuples of a firing.

        Raises:
            ValueError: the stream has no event time, or a length of the window is not a whole number of its ticks.
        """
        self._ranks = ranks
        source = operator.context.inputs[0]
        self.input = EventTimeInput(operator, "the window")
        keys = pa.schema([source.field(name) for name in partition])
        self.groups = GroupsOfPanes(window, "accumulating", keys, list(partition), {}, {})
        self.cells = PaneCells(keys, self.groups.partition, {})
        self.panes = panes_of(self.groups, self.input.role.ticks)
        divides = len(own_outputs(operator.context, operator.parameters)) > LATE_PORT
        self._arrivals = PaneArrivals(operator, self.input.role, self.panes, divides=divides)
        self.waiting = TupleLog(source, {"time": np.int64, "partition": np.int64})
        """The tuples of panes that are not closed."""

    def add(self, batch: TupleBatch) -> None:
        """Add the tuples that are in time to their panes; count late ones, and submit them if they have a port.

        Raises:
            DataError: a tuple has no time and may not (EV54), or its panes exceed the range of event time.
        """
        steps = Steps.of(None, self.input.watermark)
        times, seen, kept = self._arrivals.kept(batch, steps)
        tuples = batch.arrow if kept is None else batch.arrow.filter(pa.array(kept))
        if len(times):
            keys, partitions = self.cells.number(tuples)
            entries = self.panes.take(Arrivals(times, partitions, seen), steps)
            within = np.arange(len(times)) if entries.places is None else entries.places
            self.cells.add(entries.slices, keys[within], Evaluated(TupleBatch(tuples.take(pa.array(within)))))
            once = np.unique(within)
            self.waiting.append(tuples.take(pa.array(once)), time=times[once], partition=partitions[once])
        self._arrivals.show_open(self.input.watermark)

    def reach(self, watermark: int, send: Callable[[pa.RecordBatch], None]) -> None:
        """Send the tuples of each firing that a step of the watermark causes, and forget closed panes."""
        steps = Steps.of(Watermarks.of((0, watermark)), self.input.watermark)
        nothing = np.zeros(0, np.int64)
        self.panes.take(Arrivals(nothing, nothing, nothing), steps)
        if (due := self.panes.due(steps, self.cells)) is not None:
            for tuples in self._fired(due, steps):
                send(tuples)
        self.input.watermark = steps.last
        if self.panes.close(steps, self.cells) is not None:
            places, ends = self._last_ends()
            self.waiting.remove(places[ends <= self.panes.closed_before(watermark)])
            self.cells.forget_keys()
        self._arrivals.show_open(watermark)

    def _fired(self, due: Due, steps: Steps) -> Iterator[pa.RecordBatch]:
        """Yield the sorted tuples of each partition in each pane that fires, in the order of rule EV36."""
        groups = self.cells.read(due.ranges)
        firsts = groups.firings()
        ranges, partitions = groups.range[firsts], groups.partition[firsts]
        self.panes.fired(due, ranges, partitions, steps)
        places = self.waiting.places()
        tuples = self.waiting.take(places)
        times, owners = (self.waiting.notes[name][places] for name in ("time", "partition"))
        ranks = self._ranks(tuples)
        order = np.lexsort((times, owners))
        times, owners = times[order], owners[order]
        for pane, partition in zip(ranges.tolist(), partitions.tolist(), strict=True):
            low, high = np.searchsorted(owners, [partition, partition + 1])
            first, last = low + np.searchsorted(times[low:high], [due.starts[pane], due.ends[pane]])
            inside = order[first:last]
            yield tuples.take(pa.array(inside[np.argsort(ranks[inside])]))

    def held(self) -> int | None:
        """Return the least time in ticks of a tuple in a pane that is not complete (EV62); None without any."""
        places, ends = self._last_ends()
        times = self.waiting.notes["time"][places][ends > self.input.watermark]
        return int(times.min()) if len(times) else None

    def _last_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the place of each tuple, and the end of its last pane."""
        places = self.waiting.places()
        times, partitions = (self.waiting.notes[name][places] for name in ("time", "partition"))
        return places, self.panes.last_ends(times, partitions)

    def checkpoint(self) -> State:
        """Return the tuples, the panes and the watermark."""
        return {"waiting": self.waiting, **self.input.dump(), **self.cells.dump(), **self.panes.dump()}

    def restore(self, state: State) -> None:
        """Restore a state that `checkpoint` returned.

        Raises:
            StateError: it counts the ticks of another attribute.
        """
        self.input.load(state)
        self.waiting = state["waiting"]
        self.cells.load(state)
        self.panes.load(state, self.cells)
        places = self.waiting.places()
        tuples = self.waiting.take(places)
        self.waiting.notes = {name: np.zeros(self.waiting.size, np.int64) for name in ("time", "partition")}
        if len(places):
            self.waiting.notes["time"][places] = times_of(tuples, self.input.role)
            self.waiting.notes["partition"][places] = self.cells.number(tuples)[1]

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Divide the panes and tuples of old replicas by their partitions.

        Without partitions, all tuples of replica i go to channel i modulo width. All get the least watermark.
        """
        if not states:
            return [{}] * route.width
        own = [self.groups.channels(state, number, route) for number, state in enumerate(states)]
        divided = divided_panes(self.groups, self.input.role.ticks, states, own, route.width)
        logs = divided_logs([state["waiting"] for state in states], route)
        reached = least_watermark(states)
        return [
            {"waiting": log, **reached, **cells.dump(), **panes.dump()}
            for log, (cells, panes, _) in zip(logs, divided, strict=True)
        ]

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the partition keys in a state; none without partitions."""
        return self.groups.keys_of(state)
