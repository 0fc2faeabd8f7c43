"""What a query in a consistent region must not hold: a replay of its batches would come to something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CLOCKS = {
    "CurrentTimestamp": "current_timestamp()",
    "CurrentTimestampLike": "current_timestamp()",
    "CurrentBatchTimestamp": "current_timestamp()",
    "CurrentDate": "current_date()",
    "CurrentTime": "current_time()",
    "Now": "now()",
    "LocalTimestamp": "localtimestamp()",
}


class UnrepeatableError(ValueError):
    """A query that is not repeatable."""


def refuse_unrepeatable(frame: DataFrame) -> None:
    """Look for the clock, for chance, and for timers of processing time.

    Raises:
        UnrepeatableError: names what there is, with the remedy.
    """
    plan: Any = frame._jdf.queryExecution().analyzed()  # type: ignore[operator]
    for node in _nodes(plan):
        name = str(node.getClass().getSimpleName())
        if "WithState" in name and (mode := _mode(node)):
            message = f"{mode} goes by the clock, so a replay would fire its timers elsewhere; use event time"
            raise UnrepeatableError(message)
        for expression in _each(node.expressions()):
            for part in _nodes(expression):
                kind = str(part.getClass().getSimpleName())
                if CLOCKS.get(kind):
                    message = f"{CLOCKS[kind]} gives another time when a batch is replayed; use a tuple's attribute"
                    raise UnrepeatableError(message)
            if not expression.deterministic():
                text = str(expression.sql())[:80]
                message = (
                    f"{text} gives other values when a batch is replayed; make the value before the region, or declare "
                    "the function deterministic if it is"
                )
                raise UnrepeatableError(message)


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in _each(node.children()):
        yield from _nodes(child)


def _each(sequence: Any) -> Iterator[Any]:
    for place in range(sequence.size()):
        yield sequence.apply(place)


def _mode(node: Any) -> str:
    """The clock that a node with state goes by, if it is that of the machine."""
    for name in ("timeMode", "timeout"):
        if any(method.getName() == name for method in node.getClass().getMethods()):
            text = str(getattr(node, name)().toString())
            if "ProcessingTime" in text or "processing" in text.lower():
                return text.partition("(")[0]
    return ""
