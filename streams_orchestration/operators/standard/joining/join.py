"""Join: pairs the tuples of two streams that are in their windows at the same time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from streams_orchestration.operators.contract.clock_operator import ClockOperator
from streams_orchestration.operators.contract.operator import OperatorContext, Punctuation
from streams_orchestration.operators.inputs.failed_tuples import FailureFilter
from streams_orchestration.operators.inputs.key_columns import KeyColumns, has_expressions
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.joining.join_by_time import TimedJoin
from streams_orchestration.operators.standard.joining.join_columns import compile_join
from streams_orchestration.operators.standard.joining.join_parameters import JoinParameters
from streams_orchestration.operators.standard.joining.join_side import JoinSide, taken_with
from streams_orchestration.operators.standard.joining.join_within import TimedSide
from streams_orchestration.operators.states.rescaling import PortKeys, Route, Sharding
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermarks
from streams_orchestration.operators.windows.clause import ARRIVAL, Window
from streams_orchestration.operators.windows.clock import PER_SECOND, nanoseconds

PAIRS_AT_ONCE = 1_000_000
"""The largest number of candidate pairs formed at once when there are no equality attributes."""


class Join(ClockOperator):
    """Adds each tuple to its window and pairs it with the tuples in the other window, in their order.

    In `match` and `output`, an attribute of one stream has its own name; an attribute of both is `lhs_name` or
    `rhs_name`. A tuple of an outer side that leaves its window unmatched is submitted with nulls for the other side, or
    with the values of `absent` and `defaultTupleLHS`. At the end of the streams all these tuples are submitted, unless
    `atEnd` drops them. A null never matches. Which tuples meet depends only on their order of arrival. With `by:
    clock`, tuples also leave time windows by the clock. With `within` there are no windows: two tuples meet if the
    difference of their event times is in its range.
    """

    heeds_marks = False
    Parameters = JoinParameters
    clock_by_choice = True
    stateful = True
    free_parameters = frozenset(
        (
            *("match", "output", "algorithm", "window", "within", "discard_age", "on_error", "absent"),
            *("default_tuple_lhs", "default_tuple_rhs", "window_markers", "at_end"),
        )
    )

    @classmethod
    def keeps_state(cls, before: JoinParameters, after: JoinParameters) -> bool:
        """Return True if windows change only their sizes, no side becomes outer, and fixed parameters stay the same.

        A side that becomes outer would lack the flags of matched tuples.
        """
        outer = {"inner": set[int](), "leftOuter": {0}, "rightOuter": {1}, "outer": {0, 1}}
        if not outer[after.algorithm] <= outer[before.algorithm]:
            return False
        if before.within is not None or after.within is not None:
            return before.window is None and after.window is None and super().keeps_state(before, after)
        windows = [[_without_sizes(each.window_of(side)) for side in (0, 1)] for each in (before, after)]
        return windows[0] == windows[1] and super().keeps_state(before, after)

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: JoinParameters) -> Sharding:
        """Return how the state can be divided: by any attributes, or by the partition if windows count tuples.

        Windows of partitions by expressions, or of partitions that are evicted, cannot be divided.
        """
        keys: list[tuple[str, ...]] = []
        if has_expressions(*parameters.partitions):
            return Sharding(refusal="is windows partitioned by expressions; by attributes, they could be divided")
        for side, schema in enumerate(context.inputs):
            window = None if parameters.window is None else parameters.window_of(side)
            if window is not None and window.partitions is not None:
                given_up = window.partitions.kind
                return Sharding(refusal=f"is partitions of one channel, which {given_up}(...) gives up there")
            counts = window is not None and window.eviction.kind == "count"
            if counts and not parameters.partitions[side]:
                return Sharding(
                    refusal="is windows that count the tuples of one channel; delta, time and partitions use values"
                )
            keys.append(tuple(parameters.partitions[side] if counts else schema.names))
        return Sharding(keys=tuple(keys))

    @classmethod
    def check(cls, context: OperatorContext, parameters: JoinParameters) -> None:
        """Raise ValueError if a window, an attribute, an expression, a default tuple or an output port does not fit."""
        columns = KeyColumns(context, by_clock=parameters.by == "clock")
        parameters = parameters.keyed(columns)
        compile_join(columns.context, parameters)

    def setup(self) -> None:
        """Compile windows and expressions, and add columns for keys."""
        self.columns = KeyColumns(self.context, by_clock=self.parameters.by == "clock")
        self.parameters = self.parameters.keyed(self.columns)
        self.context.inputs = self.columns.inputs
        compiled = compile_join(self.context, self.parameters)
        self.variables, self.joined = compiled.variables, compiled.joined
        self.match, self.assignments = compiled.match, compiled.assignments
        self.absent, self.alone = compiled.absent, compiled.alone
        self.matched = FailureFilter(self, [] if self.match is None else [self.match])
        self.computed = FailureFilter(self, self.assignments.expressions)
        keys = (self.parameters.equality_lhs, self.parameters.equality_rhs)
        outer = self.parameters.outer
        self.timed: TimedJoin | None = None
        """The tuples of both streams for a join with `within`; None for a join of windows."""
        if self.parameters.within is not None:
            age = self.parameters.discard_age
            self.timed = TimedJoin(self, self.parameters.within, age, keys, outer, self._met, self._send)
            self.keeps_places = True
            self.sides: Sequence[JoinSide | TimedSide] = self.timed.sides
            return
        self.windows = [
            JoinSide(schema, window, key, partition, outer=kept)
            for schema, window, key, partition, kept in zip(
                self.context.inputs, compiled.windows, keys, self.parameters.partitions, outer, strict=True
            )
        ]
        self.sides = self.windows

    def on_time(self) -> None:
        """Evict the tuples that are too old by the clock, the oldest first; submit unmatched ones of outer sides.

        Nothing is done if the windows are not by the clock. Raises DataError if a pair fails with `onError: fail`.
        """
        if self.parameters.by != "clock":
            return
        now = nanoseconds(self.context.now)
        left = [side.expired(now) for side in self.windows]
        nothing = [np.full(len(places), -1) for places in left]
        when = [side.leaves_at(places) for side, places in zip(self.windows, left, strict=True)]
        order = np.argsort(np.concatenate(when), kind="stable")
        self._send(np.r_[left[0], nothing[1]][order], np.r_[nothing[0], left[1]][order])

    def variables_now(self) -> Sequence[pa.Array]:
        """Return the present values of the variables of SPL logic, each in a column of one row; none without logic."""
        return ()

    def wake(self) -> float | None:
        """Return the unix time at which the clock next evicts an unmatched tuple of an outer side, or None."""
        timed = [side for side in self.windows if side.policy.attribute == ARRIVAL]
        return min(
            (side.leaves_at(side.alone()[:1])[0] / PER_SECOND for side in timed if len(side.alone())), default=None
        )

    def process(self, port: int, batch: TupleBatch) -> None:
        """Add the tuples to their window, pair them with the other one, and submit pairs and unmatched tuples."""
        batch = self.columns.extended(port, batch)
        if self.timed is not None:
            self.timed.process(port, batch)
            return
        size = len(batch)
        if not self.parameters.equality_lhs:
            size = max(1, PAIRS_AT_ONCE // max(len(self.windows[1 - port].log), 1))
        for start in range(0, len(batch), max(size, 1)):
            self._arrive(port, batch.arrow.slice(start, size))

    def _arrive(self, port: int, batch: pa.RecordBatch) -> None:
        own, other = self.windows[port], self.windows[1 - port]
        here, there = other.partners([batch.column(name) for name in own.keys], batch.num_rows)
        met = self._met(port, batch, here, there)
        if met is None:
            half = batch.num_rows // 2
            self._arrive(port, batch.slice(0, half))
            self._arrive(port, batch.slice(half))
            return
        here, there = here[met], there[met]
        other.meet(there)
        came = own.insert(batch)
        own.meet(came[here])
        left_at, left = own.evict(came)
        # as in Streams, a tuple that is evicted is submitted after the pairs of the tuple that evicts it
        order = np.lexsort((np.r_[np.ones(len(left)), np.zeros(len(here))], np.r_[left_at, here]))
        mine = np.r_[left, came[here]][order]
        theirs = np.r_[np.full(len(left), -1), there][order]
        places = (mine, theirs) if port == 0 else (theirs, mine)
        at = np.r_[left_at, here][order]
        variables = [batch.column(name).take(pa.array(at)) for name in self.variables]
        if not self.parameters.window_markers:
            self._send(*places, variables=variables)
            return
        # a marker follows what each tuple gave
        bounds = np.r_[0, np.flatnonzero(np.diff(at)) + 1, len(at)] if len(at) else np.zeros(1, np.int64)
        for first, last in itertools.pairwise(bounds.tolist()):
            own = [each.slice(first, last - first) for each in variables]
            if self._send(*(each[first:last] for each in places), variables=own):
                self.punctuate(Punctuation.WINDOW)

    def _met(self, port: int, batch: pa.RecordBatch, here: np.ndarray, there: np.ndarray) -> np.ndarray | None:
        """Return a mask of the candidate pairs that meet `match`, and set failed pairs aside.

        Return None if a pair failed and the batch has several tuples. The caller must then process the tuples one by
        one, so that failed pairs are set aside in the order of their tuples.
        """
        met = np.ones(len(here), bool)
        if self.match is None:
            return met
        mine = batch.take(pa.array(here))
        yours = self.sides[1 - port].log.take(there)
        variables = mine.select(self.variables).columns
        pairs = TupleBatch(self._join(*((mine, yours) if port == 0 else (yours, mine)), variables))
        compared, failures = self.matched.split(pairs)
        if failures and batch.num_rows > 1:
            return None
        self.matched.set_aside(pairs.arrow, failures)
        met[list(failures)] = False
        truth = pc.fill_null(compared.value(self.match), fill_value=False)
        met[met] = truth.to_numpy(zero_copy_only=False)
        return met

    def _join(self, left: pa.RecordBatch, right: pa.RecordBatch, variables: Sequence[pa.Array]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([*left.columns, *right.columns, *variables], schema=self.joined)

    def _send(
        self,
        left: np.ndarray,
        right: np.ndarray,
        watermarks: Watermarks | None = None,
        variables: Sequence[pa.Array] | None = None,
    ) -> bool:
        """Submit the joined tuples at pairs of positions in the two logs, with the watermarks among them.

        A position of -1 means no partner. A tuple without a partner goes to the port of its side, if that exists.
        Without values of the variables of SPL logic for each pair, all pairs get the present ones.

        Returns True if any tuple was submitted to port 0. Raises DataError for a pair if `onError` is `fail`.
        """
        if not len(left) and watermarks is None:
            return False
        places = [left, right]
        if variables is None:
            variables = [pa.repeat(each[0], len(left)) for each in self.variables_now()]
        for number, (side, output) in enumerate(zip(self.sides, self.alone, strict=True)):
            if output is None:
                continue
            lonely = places[1 - number] < 0
            tuples = output.apply(side.log.take(places[number][lonely]))
            self.submit(tuples, self.parameters.alone(number))
            places = [each[~lonely] for each in places]
            variables = [each.filter(pa.array(~lonely)) for each in variables]
            if watermarks is not None:
                watermarks = watermarks.taken(np.flatnonzero(~lonely))
        if watermarks is not None and not len(places[0]):
            self.submit(TupleBatch.bearing(watermarks, self.context.output_schema()))
            return False
        lefts, rights = (
            taken_with(side.log, each, absent)
            for side, each, absent in zip(self.sides, places, self.absent, strict=True)
        )
        joined = self._join(lefts, rights, variables)
        pairs = self.assignments.of(self.computed(TupleBatch(joined, watermarks=watermarks)))
        self.submit(pairs)
        return len(pairs) > 0

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Once both streams end, submit unmatched tuples unless `atEnd` drops them (see `_send`), and clear all."""
        if mark is not Punctuation.FINAL or self.timed is not None:  # the greatest watermark comes in front of the mark
            return
        self.windows[port].ended = True
        if all(side.ended for side in self.windows):
            for number, side in enumerate(self.windows if self.parameters.at_end == "submit" else ()):
                alone = side.alone()
                nothing = np.full(len(alone), -1)
                self._send(*((alone, nothing) if number == 0 else (nothing, alone)))
            for side in self.windows:
                side.clear()

    def checkpoint(self) -> State:
        """Return the tuples in the windows of both sides, and which stream has ended; with `within` the watermark."""
        if self.timed is not None:
            return self.timed.checkpoint()
        return {
            name: value for number, side in enumerate(self.windows) for name, value in side.dump(str(number)).items()
        }

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Reassign the tuples of both windows to channels by the splitter, in window order; see `TimedJoin.rescale`."""
        states = [state for state in states if state]
        if self.timed is not None:
            return self.timed.rescale(states, route)
        sides = [side.divided(states, str(number), route, number) for number, side in enumerate(self.windows)]
        return [left | right for left, right in zip(*sides, strict=True)] if states else [{}] * route.width

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the tuples in the windows of both sides, by port; none if the state is empty."""
        if self.timed is not None:
            return self.timed.keys_of(state)
        logs = [state[f"{number}.tuples"] for number in range(len(self.sides))] if state else []
        return [PortKeys(port, log.take(log.places())) for port, log in enumerate(logs)]

    def restore(self, state: State) -> None:
        """Restore the windows of both sides from a state; with `within` see `TimedJoin.restore`."""
        if self.timed is not None:
            self.timed.restore(state)
            return
        for number, side in enumerate(self.windows):
            side.load(state, str(number))


def _without_sizes(window: Window) -> Window:
    """Return a window with 0 as the size of its policies, which may change without a change of the state."""
    partitions = None if window.partitions is None else replace(window.partitions, size=0)
    return replace(window, eviction=replace(window.eviction, size=0), partitions=partitions)
