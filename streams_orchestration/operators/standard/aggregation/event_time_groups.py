"""The windows of event time of an Aggregate: results of panes and the watermarks after them (EV21, EV28-EV37)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Punctuation
from streams_orchestration.operators.event_time.clause import CalendarWindow, IntervalWindow, SessionWindow
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.event_time.steps import NO_WATERMARK, Steps
from streams_orchestration.operators.event_time.times import as_given_times, time_type
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.inputs.event_time import LATE_PORT, check_ticks
from streams_orchestration.operators.inputs.failed_tuples import own_outputs
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.aggregation.firing_sender import FiringSender
from streams_orchestration.operators.standard.aggregation.group_results import GroupResults
from streams_orchestration.operators.standard.aggregation.number_measure import Measure
from streams_orchestration.operators.standard.aggregation.pane_arrivals import PaneArrivals, Panes
from streams_orchestration.operators.standard.aggregation.pane_functions import PaneFunction, column_type
from streams_orchestration.operators.standard.aggregation.parameters import PaneWindow
from streams_orchestration.operators.standard.aggregation.sent_results import PaneResults, SentResults
from streams_orchestration.operators.standard.aggregation.value_measures import Reached
from streams_orchestration.operators.states.rescaling import PortKeys, Route, renamed
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.windows.calendar_grid import CalendarGrid
from streams_orchestration.operators.windows.interval_grid import IntervalGrid
from streams_orchestration.operators.windows.interval_panes import IntervalPanes
from streams_orchestration.operators.windows.pane_cells import ALL, PaneCells
from streams_orchestration.operators.windows.pane_gathering import PaneTables, gathered_panes
from streams_orchestration.operators.windows.pane_numbers import Renumbered
from streams_orchestration.operators.windows.pane_rules import Arrivals, Due, Timing
from streams_orchestration.operators.windows.session_panes import SessionPanes

Refinement = Literal["accumulating", "discarding", "retracting"]
_TIMINGS = [each.name for each in Timing]


class GroupsOfPanes(NamedTuple):
    """The parameters of an Aggregate with a window of event time that define its groups."""

    window: PaneWindow
    refinement: Refinement
    keys: pa.Schema
    """The attributes of a group's key, beginning with the attributes of its partition."""
    partition: list[str]
    measures: Mapping[str, Measure]
    functions: Mapping[str, PaneFunction]

    @property
    def sliced(self) -> bool:
        """True if overlapping panes may share slices, whose values are combined when a pane fires."""
        combined = not any(measure.by_arrival for measure in self.measures.values())
        return combined and _may_share(self.window, self.refinement)

    def channels(self, state: State, replica: int, route: Route) -> np.ndarray:
        """Return the channel of every key in the state of a replica; without partitions, `replica` modulo width."""
        if not self.partition:
            return np.full(len(state["keys"]), replica % route.width)
        return route.channels(self.partition_keys(state))

    def partition_keys(self, state: State) -> pa.RecordBatch | None:
        """Return the partition of every key in a state; None if there are no partitions."""
        keys = state["keys"].keys_table()
        names = self.partition
        return renamed(keys.select(keys.column_names[: len(names)]), names) if names else None

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the partition keys in a state; none without partitions, since any channel may then hold the tuples."""
        keys = self.partition_keys(state) if state else None
        return () if keys is None else (PortKeys(0, keys),)


class EventTimeGroups:
    """The open panes of one Aggregate."""

    wake: float | None = None
    """Always None, since the clock closes no pane."""

    def __init__(self, operator: Operator, role: EventTimeRole, groups: GroupsOfPanes, results: GroupResults) -> None:
        """Start with no panes.

        Raises:
            ValueError: the stream lacks the event-time attribute, or a length of the window is not a whole number of
                its ticks.
        """
        self._operator = operator
        self._role = role
        self.groups = groups
        self._results = results
        source = operator.context.inputs[0]
        self._time = time_type(source, role)
        self.cells = PaneCells(groups.keys, groups.partition, groups.measures)
        self.panes = panes_of(groups, role.ticks)
        self.sent = SentResults(groups.measures) if groups.refinement == "retracting" else None
        self.watermark = NO_WATERMARK
        expressions = [each for measure in groups.measures.values() for each in measure.expressions]
        used = dict.fromkeys([*groups.keys.names, *(name for each in expressions for name in each.names)])
        self._used = None if any(each.may_fail for each in expressions) else list(used) or source.names[:1]
        """The attributes that the groups need; None for all, since a failure shows the whole tuple."""
        divides = len(own_outputs(operator.context, operator.parameters)) > LATE_PORT
        self._arrivals = PaneArrivals(operator, role, self.panes, divides=divides)
        self._sender = FiringSender(operator, placed=0 in role.outputs)

    def on_time(self) -> None:
        """Do nothing: the clock closes no pane."""

    def on_mark(self, mark: Punctuation) -> None:
        """Forget all at the final mark, in front of which the greatest watermark has come."""
        if mark is Punctuation.FINAL:
            self.cells.clear()
            self.panes.clear()
            if self.sent is not None:
                self.sent.sent.clear()
            self.watermark = NO_WATERMARK

    def process(self, tuples: Evaluated) -> None:
        """Add the tuples to their panes, and submit the panes that fire at the watermarks between them.

        Late tuples are dropped and counted, or submitted to their port.

        Raises:
            DataError: a tuple has no time (EV54), or its panes exceed the range of event time; or lists of a group
                differ in size; or with `onError: fail` a tuple or a group has no value.
        """
        steps = Steps.of(tuples.batch.watermarks, self.watermark)
        self._sender.begin(tuples.batch.watermarks)
        source, count = tuples.arrow, len(tuples)
        times, seen, kept = self._arrivals.kept(tuples.batch, steps)
        passed = tuples.without_watermarks()
        if kept is not None:
            passed = (passed if self._used is None else passed.only(self._used)).filter(pa.array(kept))
            source = passed.arrow
        if count:
            keys, partitions = self.cells.number(source)
            arrivals = Arrivals(times, partitions, seen)
            self._process(passed, keys, arrivals, steps)
        elif len(steps):
            nothing = np.zeros(0, np.int64)
            self._process(passed, nothing, Arrivals(nothing, nothing, nothing), steps)
        self.watermark = steps.last
        self._arrivals.show_open(self.watermark)
        self._sender.end()

    def _process(self, tuples: Evaluated, keys: np.ndarray, arrivals: Arrivals, steps: Steps) -> None:
        closed = False
        pieces = self.panes.pieces(arrivals, steps)
        for piece in pieces:
            own, mine, some, numbers = steps, arrivals, tuples, keys
            if len(pieces) > 1:
                part = slice(piece.start, piece.stop)
                own = steps.part(piece.first_step, piece.stop_step)
                seen = arrivals.seen[part] - piece.first_step
                mine = Arrivals(arrivals.times[part], arrivals.partitions[part], seen)
                some, numbers = tuples.slice(piece.start, piece.stop - piece.start), keys[part]
            entries = self.panes.take(mine, own)
            if entries.places is not None:
                some, numbers = some.take(entries.places), numbers[entries.places]
            self.cells.add(entries.slices, numbers, some, entries.pairs)
            due = self.panes.due(own, self.cells)
            if due is not None:
                self._fire(due, own)
            gone = self.panes.close(own, self.cells)
            if gone is not None:
                closed = True
                if self.sent is not None:
                    self.sent.forget(gone)
        if closed:
            self.cells.forget_keys()

    def _fire(self, due: Due, steps: Steps) -> None:
        """Submit the groups of the panes that fire. Each firing is followed by the watermark that caused it.

        If a pane is complete, all its partitions fire. With `discarding`, partitions that fired early and got no tuple
        since then have no result in that firing (EV63, EV64).
        """
        discards = self.groups.refinement == "discarding"
        groups = self.cells.read(due.ranges, due.ranges.partition != ALL if discards else None)
        firsts = groups.firings()
        ranges = groups.range[firsts]
        fired = self.panes.fired(due, ranges, groups.partition[firsts], steps)
        firings = np.repeat(np.arange(len(firsts)), np.diff(np.r_[firsts, len(groups.key)]))
        if discards:
            self.cells.restart(groups.rows)
            groups, firings = groups.only(groups.fresh), firings[groups.fresh]
        of = groups.range
        results = PaneResults(
            groups.key,
            groups.partition,
            due.panes[of],
            due.starts[of],
            due.ends[of],
            fired.nth[firings],
            fired.timing[firings],
            np.zeros(len(of), bool),
            firings,
            {name: measure.result(*groups.running[name]) for name, measure in self.groups.measures.items()},
        )
        if self.sent is not None:
            results = self.sent.retracting(results, due.last_panes[of])
        at = due.steps[ranges]
        result, there = self._results.tuples(
            self.cells.key_columns(results.keys),
            dict(results.reached) | self._values(results),
            steps.places[at][results.firings] - 0.5,
        )
        sizes = np.bincount(results.firings[there], minlength=len(firsts))
        self._sender.send(result, sizes, steps.marks[at])

    def _values(self, results: PaneResults) -> dict[str, Reached]:
        """Return the values of the functions over panes."""
        make: dict[str, Callable[[pa.DataType], pa.Array]] = {
            "intervalStart": lambda kind: as_given_times(results.starts, self._role, kind),
            "intervalEnd": lambda kind: as_given_times(results.ends, self._role, kind),
            "paneTime": lambda kind: as_given_times(results.ends - 1, self._role, kind),
            "paneTiming": lambda _: pa.array(_TIMINGS).take(pa.array(results.timing)),
            "paneIndex": lambda kind: pa.array(results.nth).cast(kind),
            "isRetraction": lambda _: pa.array(results.retracts),
        }
        target = self._operator.context.output_schema()
        wanted = {
            name: target.field(name).type if name in target.names else column_type(name)
            for name in self.groups.functions
        }
        return {
            name: Reached(make[function.name](function.result_type(self._time, wanted[name])))
            for name, function in self.groups.functions.items()
        }

    def checkpoint(self) -> State:
        """Return the panes, cells, keys and sent results, the watermark, and the attribute and unit of its ticks."""
        own: dict[str, Any] = {
            "watermark": self.watermark,
            "attribute": self._role.attribute,
            "ticks": self._role.ticks,
            **self.cells.dump(),
            **self.panes.dump(),
        }
        return own if self.sent is None else own | {"sent": self.sent.sent}

    def restore(self, state: State) -> None:
        """Restore a state that `checkpoint` returned.

        Raises:
            StateError: the times in the state are of another attribute or unit.
        """
        check_ticks(state, self._role)
        self.watermark = state["watermark"]
        self.cells.load(state)
        self.panes.load(state, self.cells)
        if self.sent is not None and "sent" in state:
            self.sent.sent = state["sent"]

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the partition keys in a state; none without partitions."""
        return self.groups.keys_of(state)

    def rescale(self, states: Sequence[State], route: Route) -> list[State]:
        """Divide the panes of old replicas, at least one, among new ones by their partitions.

        Without partitions, all panes of replica i go to channel i modulo the width. All new replicas get the least
        watermark (EV46).
        """
        own = [self.groups.channels(state, number, route) for number, state in enumerate(states)]
        tables = [PaneTables.of(state) for state in states] if self.sent is None else []
        common = {name: states[0][name] for name in ("attribute", "ticks")}
        common["watermark"] = min(state["watermark"] for state in states)
        divided: list[State] = []
        for channel in range(route.width):
            chosen = [channels == channel for channels in own]
            if tables and (gathered := gathered_panes(states, tables, chosen, len(self.groups.partition))) is not None:
                divided.append(common | gathered)
                continue
            cells, panes, moves = _merged_panes(self.groups, self._role.ticks, states, chosen)
            parts = common | cells.dump() | panes.dump()
            if self.sent is not None:
                sent = SentResults(self.groups.measures)
                for state, moved in zip(states, moves, strict=True):
                    if "sent" in state:
                        sent.absorb(state["sent"], moved)
                parts["sent"] = sent.sent
            divided.append(parts)
        return divided


def keeps_panes(before: PaneWindow, refined: Refinement, after: PaneWindow, refining: Refinement) -> bool:
    """Return True if open panes stay valid when window and refinement change.

    `discardAge`, `discardBy` and `early` may change. A change is refused if overlapping panes would begin or cease to
    share slices.
    """
    common: dict[str, Any] = {"discard_age": Fraction(0)}
    if isinstance(before, IntervalWindow) and isinstance(after, IntervalWindow):
        shares = _may_share(before, refined) == _may_share(after, refining)
        if before.duration > before.period and not shares:
            return False
        common |= {"discard_by": "tuple", "early": None}
    return type(before) is type(after) and replace(before, **common) == replace(after, **common)


def _may_share(window: PaneWindow, refinement: Refinement) -> bool:
    early = isinstance(window, IntervalWindow) and window.early is not None
    return refinement != "discarding" and not early


def panes_of(groups: GroupsOfPanes, ticks: int) -> Panes:
    """Return the panes of a window; `ticks` is the number of ticks in a second of event time.

    Raises:
        ValueError: a length of the window is not a whole number of ticks, or too large.
    """
    window = groups.window
    if isinstance(window, SessionWindow):
        return SessionPanes(*window.in_ticks(ticks))
    if isinstance(window, CalendarWindow):
        return IntervalPanes(CalendarGrid(window.unit, window.zone, ticks), *window.in_ticks(ticks))
    duration, period, offset, age, early = window.in_ticks(ticks)
    grid = IntervalGrid(duration, period, offset)
    return IntervalPanes(grid, age, by_pane=window.discard_by == "pane", early=early, sliced=groups.sliced)


def needed_role(context: OperatorContext, window: str) -> EventTimeRole:
    """Return the event time of an Aggregate's stream.

    Raises:
        ValueError: the operator is in no event-time graph.
    """
    if context.event_time is None:
        message = (
            f"window: {window!r} needs event time, but the stream has none; name its time attribute in the "
            "annotation eventTime "
            "of the operator that makes it"
        )
        raise ValueError(message)
    return context.event_time


def divided_panes(
    groups: GroupsOfPanes, ticks: int, states: Sequence[State], channels: Sequence[np.ndarray], width: int
) -> Iterator[tuple[PaneCells, Panes, list[Renumbered]]]:
    """Divide the panes and cells of old replicas among new ones.

    Args:
        groups: the groups.
        ticks: the number of ticks in a second.
        states: the states of the old replicas.
        channels: the new channels of the keys, state by state.
        width: the number of new replicas.

    Yields:
        Cells and panes of a new replica, and for each state the new numbers of the keys that moved there.
    """
    for channel in range(width):
        yield _merged_panes(groups, ticks, states, [own == channel for own in channels])


def _merged_panes(
    groups: GroupsOfPanes, ticks: int, states: Sequence[State], chosen: Sequence[np.ndarray]
) -> tuple[PaneCells, Panes, list[Renumbered]]:
    """Merge the panes and cells of chosen keys of each state; see `divided_panes`."""
    cells = PaneCells(groups.keys, groups.partition, groups.measures)
    panes = panes_of(groups, ticks)
    moves: list[Renumbered] = []
    for state, mine in zip(states, chosen, strict=True):
        moved = cells.absorb(state, mine)
        panes.absorb(state, moved.partitions_before, moved.partitions)
        moves.append(moved)
    return cells, panes, moves
