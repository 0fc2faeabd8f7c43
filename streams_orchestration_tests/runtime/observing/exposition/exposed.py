"""The exposed application: the rows of a source, and an operator with metrics of its own."""

from __future__ import annotations

from streams_orchestration.operators import Operator, TupleBatch

COUNT = 60
"""Rows of the source."""


class Picky(Operator):
    """Drops even numbers, and has metrics of its own of which one has a name that the SDK uses for a counter."""

    def process(self, port: int, batch: TupleBatch) -> None:
        odd = batch.column("n") % 2 == 1
        self.context.metrics.dropped.add((~odd).sum())
        self.context.metrics.counter("odd").add(odd.sum())
        self.context.metrics.gauge("errors").set(0.5)
        self.context.metrics.lag(7, 1.5)
        self.submit(batch.filter(odd))
