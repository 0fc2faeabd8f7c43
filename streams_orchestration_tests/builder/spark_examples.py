"""Functions of three examples in Spark's guide to Structured Streaming, as they are there but for their watermarks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 (as everywhere)
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

GAP_MILLISECONDS = 300_000
SESSION = "user string, events bigint, seconds bigint"


def word_counts(words: DataFrame) -> DataFrame:
    """Windowed grouped aggregation."""
    return words.groupBy(F.window(words.timestamp, "10 minutes", "5 minutes"), words.word).count()


def clicked(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Return an outer join of two streams, in a range of time."""
    return impressions.join(
        clicks,
        F.expr(
            "clickAdId = impressionAdId AND clickTime >= impressionTime AND "
            "clickTime <= impressionTime + interval 1 hour"
        ),
        "leftOuter",
    )


def sessions(events: DataFrame) -> DataFrame:
    """Arbitrary stateful processing: a session of a user ends when nothing has come for five minutes."""
    return events.groupBy("user").transformWithState(Sessions(), SESSION, "Append", "EventTime")


class Sessions(StatefulProcessor):
    """Keeps the first and the last time of a session, and how many events it has."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Keep the handle and the value of a session; called by Spark."""
        self.handle = handle
        self.session: Any = handle.getValueState("session", "first bigint, last bigint, events bigint")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Rows of a user, in any order."""
        for at in sorted(int(row.timestamp.timestamp() * 1000) for row in rows):
            first, events = at, 0
            if self.session.exists():
                first, last, events = self.session.get()
                self.handle.deleteTimer(last + GAP_MILLISECONDS)
                if at - last > GAP_MILLISECONDS:
                    yield self._ended(key, first, last, events)
                    first, events = at, 0
            self.session.update((first, at, events + 1))
            self.handle.registerTimer(at + GAP_MILLISECONDS)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Nothing has come."""
        if self.session.exists():
            yield self._ended(key, *self.session.get())
            self.session.clear()

    def close(self) -> None:
        """Do nothing; called by Spark."""

    def _ended(self, key: Any, first: int, last: int, events: int) -> Row:
        return Row(user=key[0], events=events, seconds=(last - first) // 1000)
