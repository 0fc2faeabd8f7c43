"""Join with `within`: pairs of tuples whose event times are near each other, whatever their order of arrival (EV57)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.event_time.moments import Moments, between_idle
from streams_orchestration.operators.event_time.times import times_of
from streams_orchestration.operators.inputs.event_time import (
    EventTimeInput,
    least_watermark,
    refuse_different_watermarks,
)
from streams_orchestration.operators.keys.comparison import key_schema
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.joining.join_within import Leaving, TimedSide, divided_sides
from streams_orchestration.operators.states.key_index import KeyIndex
from streams_orchestration.operators.states.rescaling import PortKeys, Route
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import FEW
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermarks

PAIRS_AT_ONCE = 1_000_000
"""The number of candidate pairs above which a batch is paired in several steps."""
_LOGS = {0: "0.tuples", 1: "1.tuples"}
Match = Callable[[int, "pa.RecordBatch", "np.ndarray", "np.ndarray"], "np.ndarray | None"]
"""A function that returns a mask of the candidate pairs that meet the condition.

Its arguments are the input port, its tuples, and for each pair the tuple's row and the partner's place in the other
log. The result None means that a pair failed, so tuples must be processed one by one.
"""
Send = Callable[["np.ndarray", "np.ndarray", "Watermarks | None"], bool]
"""A function that submits pairs, with the watermarks among them.

Its arguments are the places of left and right tuples in their logs; -1 means a missing partner. The result is True if a
tuple went to output port 0.
"""


class TimedJoin:
    """The join of two streams by event time, with the waiting tuples of both."""

    def __init__(
        self,
        operator: Operator,
        within: Sequence[float],
        discard_age: float,
        keys: tuple[list[str], list[str]],
        outer: tuple[bool, bool],
        match: Match,
        send: Send,
    ) -> None:
        """Start with no tuples.

        Args:
            operator: the Join.
            within: the least and the greatest difference, in seconds, of the time of a right tuple and the time of its
                left partner.
            discard_age: seconds behind the watermark from which a tuple is dropped.
            keys: the attributes of both sides that are compared.
            outer: True for each side whose unmatched tuples are submitted.
            match: decides which candidates are pairs.
            send: submits pairs.

        Raises:
            ValueError: there is no event time, or a length of time is not a whole number of ticks.
        """
        self._match = match
        self._send = send
        self.input = EventTimeInput(operator, "within", discard_age=discard_age)
        self._least, self._greatest = (self.input.ticks("within", each) for each in within)
        waits = [self.input.discard_age + self._greatest, self.input.discard_age - self._least]
        left = operator.context.inputs[0]
        self.index = KeyIndex(key_schema([left.field(name).type for name in keys[0]]))
        self.sides = [
            TimedSide(schema, self.input.role, own, self.index, wait, outer=kept)
            for schema, own, wait, kept in zip(operator.context.inputs, keys, waits, outer, strict=True)
        ]
        self._later_by = max([0, *(side.wait for side in self.sides if side.outer)])
        """The number of ticks to subtract from sent watermarks, since unmatched tuples may wait for so long."""

    def process(self, port: int, batch: TupleBatch) -> None:
        """Pair arriving tuples with tuples of the other side; submit the pairs, and the unmatched tuples that leave.

        Late tuples, and tuples without a time, are dropped and counted. Where the input becomes idle, send that on.

        Raises:
            DataError: a time is null, and the annotation does not ignore that (EV54); or with `onError: fail` an
                expression has no value for a pair.
        """
        for part, idle in between_idle(batch):
            late = self.input.judge(part, self.input.moments(part))[1]
            self._arrive(port, part.filter(~late) if late.any() else part)
            if idle:
                keeps = any(side.waits for side in self.sides)
                nothing = np.zeros(0, np.int64)
                self._send(nothing, nothing, self.input.resting(keeps=keeps, later_by=self._later_by))

    def _arrive(self, port: int, batch: TupleBatch) -> None:
        own, other = self.sides[port], self.sides[1 - port]
        if self.index.rows > 2 * sum(len(side.log) for side in self.sides) + FEW:
            self.index.clear()
            for side in self.sides:
                side.forget_keys()
        times = times_of(batch.arrow, self.input.role)
        low, high = (self._least, self._greatest) if port == 0 else (-self._greatest, -self._least)
        keys = [batch.arrow.column(name) for name in own.keys]
        partners = other.partners(keys, times, low, high)
        pairs = None
        if partners.total <= PAIRS_AT_ONCE or len(batch) == 1:
            pairs = self._met(port, batch, *partners.pairs())
        if pairs is None:
            half = len(batch) // 2
            self._arrive(port, batch.slice(0, half))
            self._arrive(port, batch.slice(half))
            return
        here, there = pairs
        other.meet(there)
        came = own.insert(batch.arrow, times, partners)
        own.meet(came[here])
        moments = self.input.moments(batch)
        self.input.advance(moments)
        left = [side.leave(moments, came if side is own else came[:0]) for side in self.sides]
        self._submit(moments, here, (came[here], there) if port == 0 else (there, came[here]), left)

    def _met(
        self, port: int, batch: TupleBatch, here: np.ndarray, there: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        met = self._match(port, batch.arrow, here, there)
        return None if met is None else (here[met], there[met])

    def _submit(
        self, moments: Moments, here: np.ndarray, pairs: tuple[np.ndarray, np.ndarray], left: list[Leaving]
    ) -> None:
        """Submit each pair when its tuple of this batch (`here`) arrives, and unmatched tuples when they leave."""
        at = moments.arrivals_of(here)
        if not any(len(side.places) for side in left):
            self._send(*pairs, moments.placed(at, self._later_by))
            return
        nothing = [np.full(len(side.places), -1) for side in left]
        ats = np.r_[at, left[0].moments, left[1].moments]
        order = np.lexsort((np.r_[here, left[0].ranks, left[1].ranks], ats))
        lefts = np.r_[pairs[0], left[0].places, nothing[1]][order]
        rights = np.r_[pairs[1], nothing[0], left[1].places][order]
        self._send(lefts, rights, moments.placed(ats[order], self._later_by))

    def checkpoint(self) -> State:
        """Return the tuples of both sides and the watermark."""
        return {**{name: self.sides[port].log for port, name in _LOGS.items()}, **self.input.dump()}

    def restore(self, state: State) -> None:
        """Restore a state that `checkpoint` returned.

        Raises:
            StateError: it counts the ticks of another attribute.
        """
        self.input.load(state)
        for port, name in _LOGS.items():
            self.sides[port].load(state[name])

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Divide the tuples of both sides by the channels of their streams; each part has the common watermark.

        Raises:
            RescaleError: the states have different watermarks.
        """
        if not states:
            return [{}] * route.width
        refuse_different_watermarks(states)
        return [{**part, **least_watermark(states)} for part in divided_sides(states, _LOGS, route)]

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the waiting tuples of each side as its keys; no side if the state is empty."""
        return [PortKeys(port, state[name].take(state[name].places())) for port, name in _LOGS.items() if state]
