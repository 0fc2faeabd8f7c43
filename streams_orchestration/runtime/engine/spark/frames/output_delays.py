"""Finds by how much the results of a query may be behind its watermark, by walking Spark's analysed plan (EV66)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streams_orchestration.runtime.engine.spark.frames.origins import INPUT_ALIAS
from streams_orchestration.runtime.engine.spark.frames.plans import analysed, each, kind_of, nodes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MILLISECOND = 1_000
"""Microseconds of Spark's smallest step of a watermark."""
_HAS_WATERMARK, _IS_SESSION = "spark.watermarkDelayMs", "spark.sessionWindow"
"""Keys in the metadata of columns: for a column by which Spark removes state, and for a session window."""
_FAR = 10**12
"""An arbitrary watermark in milliseconds; Spark computes for it down to which time a join keeps its state."""


class UnknownDelayError(ValueError):
    """The plan does not tell by how much results may be behind the watermark."""


@dataclass(frozen=True, slots=True)
class OutputDelay:
    """The delay of the results at an output port of a query."""

    waits: bool = False
    """True if results may wait for Spark's watermark; that watermark follows the input's watermark one batch later."""
    microseconds: int | None = 0
    """The time by which results may be behind the watermark; None if it is unknown."""

    def behind(self, other: OutputDelay) -> OutputDelay:
        """Return the delay of results that pass a node with the delay `other` and then a node with this delay.

        Both delays must be known.
        """
        assert self.microseconds is not None
        assert other.microseconds is not None
        return OutputDelay(self.waits or other.waits, self.microseconds + other.microseconds)


NO_DELAY = OutputDelay()
UNKNOWN_DELAY = OutputDelay(waits=True, microseconds=None)


def declared_delay(seconds: float, *, waits: bool) -> OutputDelay:
    """Return the delay that a user declares in seconds, rounded to microseconds.

    It is a millisecond longer if results wait for Spark's watermark, since Spark removes state up to that much later.
    """
    return OutputDelay(waits, round(seconds * 1_000_000) + (MILLISECOND if waits else 0))


def delays_results(frame: DataFrame) -> bool:
    """Return True if some result of a query may come later than the tuples that it is made of."""
    return any(_keeps_back(node) for node in nodes(analysed(frame)))


def output_delay(frame: DataFrame) -> OutputDelay:
    """Return the delay of a query's results: the lengths of its windows and join intervals along the longest path.

    Input that comes from operators of the same query (`INPUT_ALIAS`) is not followed beyond the view of the port.

    Raises:
        UnknownDelayError: the plan has a node whose delay is not known; the message says why.
    """
    jvm: Any = frame.sparkSession._jvm  # pyright: ignore[reportPrivateUsage] - there is no public way
    return _Walk(jvm).delay_of(analysed(frame), ())


def _keeps_back(node: Any) -> bool:
    kind = kind_of(node)
    if kind == "Join":
        return bool(node.left().isStreaming() and node.right().isStreaming())
    return (kind in ("Aggregate", "Distinct") or "WithState" in kind) and bool(node.isStreaming())


class _Walk:
    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        self._common: dict[int, OutputDelay] = {}
        """Number of a common table expression -> the delay of its rows."""

    def delay_of(self, node: Any, conditions: tuple[Any, ...]) -> OutputDelay:
        """Return the delay of a node's rows; `NO_DELAY` for a node that is not streamed.

        The conditions belong to filters directly above the node.
        """
        kind = kind_of(node)
        if kind == "SubqueryAlias" and str(node.alias()).startswith(INPUT_ALIAS):
            return NO_DELAY
        if kind == "CTERelationRef":
            return self._common.get(node.cteId(), NO_DELAY)
        above = (*conditions, node.condition()) if kind == "Filter" else ()
        below = _longest(self.delay_of(child, above) for child in each(node.children()))
        if kind == "CTERelationDef":
            self._common[node.id()] = below
        return self._own(node, kind, conditions).behind(below) if node.isStreaming() else NO_DELAY

    def _own(self, node: Any, kind: str, conditions: tuple[Any, ...]) -> OutputDelay:
        """Return the delay that a node adds."""
        if "WithState" in kind:
            message = "a function with state may return results at any time"
            raise UnknownDelayError(message)
        if kind == "Aggregate":
            _check_groups(node)
            return OutputDelay(waits=True)
        if kind == "Distinct":
            return OutputDelay(waits=True)
        if kind == "Join" and node.left().isStreaming() and node.right().isStreaming():
            return OutputDelay(waits=True, microseconds=self._interval(node, conditions))
        return OutputDelay(microseconds=max((_window_length(struct) for struct in _structs(node)), default=0))

    def _interval(self, join: Any, conditions: tuple[Any, ...]) -> int:
        """Return the longest time that a row of a join waits for its partner, in microseconds: 0 for equal times."""
        own = join.condition()
        known = [own.get()] if kind_of(own) == "Some" else []
        known += conditions if str(join.joinType().toString()) == "Inner" else ()
        if any(_equates_times(part) for condition in known for part in _conjuncts(condition)):
            return 0
        waits = [
            self._wait(side, other, known) for side, other in ((join.left(), join.right()), (join.right(), join.left()))
        ]
        return max(waits) * MILLISECOND

    def _wait(self, side: Any, other: Any, conditions: list[Any]) -> int:
        """Return the milliseconds that rows of one side of a join wait, as Spark computes them to remove state."""
        helper = self._jvm.org.apache.spark.sql.catalyst.analysis.StreamingJoinHelper
        some = self._jvm.scala.Option.apply
        found = [
            helper.getStateValueWatermark(side.outputSet(), other.outputSet(), some(condition), some(_FAR))
            for condition in conditions
        ]
        waits = [_FAR - int(watermark.get()) for watermark in found if watermark.isDefined()]
        if not waits:
            message = "no condition of a join limits the distance of the event times of its two streams"
            raise UnknownDelayError(message)
        return max(0, *waits)


def _longest(delays: Iterable[OutputDelay]) -> OutputDelay:
    known = list(delays)
    lengths = [delay.microseconds for delay in known if delay.microseconds is not None]
    return OutputDelay(any(delay.waits for delay in known), max(lengths, default=0))


def _check_groups(aggregate: Any) -> None:
    """Check that the event time of a group's results is known from the window or the time that it is grouped by."""
    groups = [
        part for part in each(aggregate.groupingExpressions()) if kind_of(part) in ("AttributeReference", "Alias")
    ]
    if any(part.metadata().contains(_IS_SESSION) for part in groups):
        message = "a session window may be of any length"
        raise UnknownDelayError(message)
    if not any(part.metadata().contains(_HAS_WATERMARK) for part in groups):
        message = "it groups by neither a window nor the event time"
        raise UnknownDelayError(message)


def _structs(node: Any) -> Iterator[Any]:
    """Yield the structs that a projection makes; none for a node that does not project columns."""
    if kind_of(node) in ("Project", "Expand"):
        for expression in each(node.expressions()):
            yield from (part for part in nodes(expression) if kind_of(part) == "CreateNamedStruct")


def _window_length(struct: Any) -> int:
    """Return the microseconds of a window of time that Spark's analyser has made a struct of; 0 for another struct."""
    if [str(part.sql()).strip("'") for part in each(struct.nameExprs())] != ["start", "end"]:
        return 0
    end = _unwrapped(struct.valExprs().apply(1))
    if kind_of(end) != "Add" or kind_of(end.right()) != "Literal":
        return 0
    value = end.right().value()
    return int(value) if isinstance(value, int) else 0


def _unwrapped(expression: Any) -> Any:
    while kind_of(expression) in ("KnownNullable", "PreciseTimestampConversion"):
        expression = expression.child()
    return expression


def _conjuncts(condition: Any) -> Iterator[Any]:
    if kind_of(condition) == "And":
        yield from _conjuncts(condition.left())
        yield from _conjuncts(condition.right())
    else:
        yield condition


def _equates_times(condition: Any) -> bool:
    """Return True for an equality of two columns with watermarks, which are times or windows."""
    if kind_of(condition) not in ("EqualTo", "EqualNullSafe"):
        return False
    sides = condition.left(), condition.right()
    return all(kind_of(side) == "AttributeReference" and side.metadata().contains(_HAS_WATERMARK) for side in sides)
