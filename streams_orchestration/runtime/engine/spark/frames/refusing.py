"""Refuses queries whose replay would give other results, and queries whose last windows would never close."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streams_orchestration.runtime.engine.spark.descriptor import MARKER
from streams_orchestration.runtime.engine.spark.frames.plans import analysed, each, kind_of, nodes

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
    """A query is not repeatable."""


class OwnWatermarkError(ValueError):
    """A query has a watermark that its parameters do not declare."""


def refuse_own_watermarks(frame: DataFrame) -> None:
    """Refuse watermarks that the parameters do not declare, since the end of the input advances only declared ones.

    Raises:
        OwnWatermarkError: the query sets a watermark itself; the message names its column and the remedy.
    """
    for node in nodes(analysed(frame)):
        if kind_of(node) == "EventTimeWatermark":
            child = node.children().apply(0)
            if MARKER not in list(child.schema().fieldNames()):
                time = str(node.eventTime().name())
                message = f"it sets a watermark itself, on {time}; declare the watermark instead: "
                message += f"watermarks: {{Stream: {{attribute: {time}, delay: ...}}}}"
                raise OwnWatermarkError(message)


def refuse_unstreamable(frame: DataFrame, mode: str) -> None:
    """Let Spark check that it can run a query as a stream, as it does when a query starts.

    Raises:
        AnalysisException: Spark cannot stream the query; it holds Spark's reason.
    """
    jvm: Any = frame.sparkSession._jvm  # pyright: ignore[reportPrivateUsage] - there is no public way
    sql = jvm.org.apache.spark.sql
    modes = sql.streaming.OutputMode
    checker = sql.catalyst.analysis.UnsupportedOperationChecker
    checker.checkForStreaming(analysed(frame), modes.Append() if mode == "append" else modes.Update())


def refuse_unrepeatable(frame: DataFrame) -> None:
    """Refuse uses of the clock, of random numbers, and of timers in processing time.

    Raises:
        UnrepeatableError: the query uses one of these; the message names the use and the remedy.
    """
    for node in nodes(analysed(frame)):
        name = kind_of(node)
        if "WithState" in name and (mode := _mode(node)):
            message = f"{mode} depends on the clock, so a replay would fire its timers at other tuples; use event time"
            raise UnrepeatableError(message)
        for expression in each(node.expressions()):
            for part in nodes(expression):
                kind = kind_of(part)
                if CLOCKS.get(kind):
                    message = f"{CLOCKS[kind]} gives another time when a batch is replayed; use a tuple's attribute"
                    raise UnrepeatableError(message)
            if not expression.deterministic() and MARKER not in str(expression.sql()):
                text = str(expression.sql())[:80]
                message = (
                    f"{text} gives other values when a batch is replayed; make the value before the region, or declare "
                    "the function deterministic if it is"
                )
                raise UnrepeatableError(message)


def _mode(node: Any) -> str:
    """Return the clock mode of a node with state if it is processing time, else an empty text."""
    for name in ("timeMode", "timeout"):
        if any(method.getName() == name for method in node.getClass().getMethods()):
            text = str(getattr(node, name)().toString())
            if "ProcessingTime" in text or "processing" in text.lower():
                return text.partition("(")[0]
    return ""
