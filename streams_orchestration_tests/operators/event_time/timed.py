"""Operators by event time under test: items are tuples and watermarks, and what comes out is compared item by item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import yaml

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END, IDLE, Watermarks
from streams_orchestration_tests.operators.harness import Bench, Row
from streams_orchestration_tests.specs import CASES

EVENT_TIME: dict[str, Any] = {case["id"]: case for case in yaml.safe_load((CASES / "event_time.yaml").read_text())}
"""The worked cases by their names."""
MILLISECONDS = EventTimeRole("at", 1000, "inputWatermark", 0, 1, (0, 1), (0,))
IGNORES_NULLS = replace(MILLISECONDS, on_null="ignore")
W = int
"""A watermark among the items of a stream."""
Item = Row | W
IDLES: W = IDLE
ENDS: W = END


class Timed(Bench):
    """An operator in an event-time graph, whose items have the steps of its own watermark, on whatever port."""

    def __init__(
        self,
        kind: type[Operator],
        inputs: Sequence[str],
        outputs: Sequence[str | None],
        role: EventTimeRole | None = MILLISECONDS,
        **parameters: Any,
    ) -> None:
        self.role = role
        super().__init__(kind, inputs, outputs, **parameters)

    def _create(self) -> Operator:
        self.context.event_time = self.role
        return super()._create()

    def items_in(self, items: Sequence[Item], port: int = 0) -> Timed:
        """Send tuples and watermarks as one batch."""
        rows, marks = list[Row](), list[tuple[int, int]]()
        for item in items:
            if isinstance(item, tuple):
                rows.append(item)
            else:
                marks.append((len(rows), item))
        schema = self.context.inputs[port]
        columns = {name: [row[i] for row in rows] for i, name in enumerate(schema.names)}
        batch = TupleBatch.from_columns(columns, schema)
        before = len(self.sent)
        steps = Watermarks.of(*marks) if marks else None
        self.operator.process(port, batch.with_watermarks(steps).const())
        came = [item for number, item in self.sent[before:] if not number and isinstance(item, TupleBatch)]
        placed = sum(len(item.watermarks or ()) for item in came)
        assert placed == len(marks), "each watermark is placed in the output"
        return self

    def items_out(self, port: int = 0) -> list[Item]:
        """Return the tuples and watermarks of an output port, without watermarks that do not rise."""
        shown: list[Item] = []
        last = IDLE
        for number, batch in self.sent:
            if number != port or not isinstance(batch, TupleBatch):
                continue
            rows, done = [tuple(row.values()) for row in batch.to_pylist()], 0
            for place, value in batch.watermarks or ():
                shown += rows[done:place]
                done = place
                if value == IDLE or value > last:
                    shown.append(value)
                    last = max(value, last)
            shown += rows[done:]
        return shown


def rising(items: Sequence[Item]) -> list[Item]:
    """Return the items with the watermarks that rise, and the end of the stream behind them."""
    kept: list[Item] = []
    last = IDLE
    for item in [*items, END]:
        if isinstance(item, tuple) or item > last:
            kept.append(item)
            last = last if isinstance(item, tuple) else item
    return kept


def parts(items: Sequence[Item], cuts: Sequence[int]) -> Iterator[Sequence[Item]]:
    """Yield the items in runs that end at the cuts, modulo their number."""
    for first, last in pairwise(sorted({0, len(items), *(cut % len(items) for cut in cuts)})):
        yield items[first:last]


def of_case(case: dict[str, Any]) -> list[Item]:
    """Return the tuples of a worked case in milliseconds, with the watermarks that its source makes (EV17)."""
    lag, items, reached = case["source"]["eventTime"]["lag"], list[Item](), IDLE
    for at, *values in case["source"]["tuples"]:
        reached = max(reached, (at - lag) * 1000)
        items += [(at * 1000, *values), reached]
    return rising(items)


def wanted(case: dict[str, Any], *names: str) -> list[list[Row]]:
    """Return the tuples in milliseconds that a worked case expects."""
    return [[(at * 1000, *values) for at, *values in case["expect"][name]] for name in names]
