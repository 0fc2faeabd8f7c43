"""One operator by itself: what it submits, as the runtime would see it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streams_orchestration.operators.arrow_types import arrow_schema
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.operator import Operator, OperatorContext, ProducedTo, Punctuation, SourceOperator

Row = tuple[Any, ...]


class Bench:
    """An operator that is set up, and everything that it has sent."""

    def __init__(
        self,
        kind: type[Operator],
        inputs: Sequence[str] = (),
        outputs: Sequence[str | None] = (),
        base: Path = Path(),
        results: Path = Path(),
        channel: int = -1,
        **parameters: Any,
    ) -> None:
        self.context = OperatorContext(
            name="Op",
            inputs=tuple(arrow_schema(ddl) for ddl in inputs),
            outputs=tuple(None if ddl is None else arrow_schema(ddl) for ddl in outputs),
            base=base,
            results=results,
            channel=channel,
            submit=lambda port, batch: self.sent.append((port, batch)),
            punctuate=lambda port, mark: self.sent.append((port, mark)),
        )
        self.sent: list[tuple[int, TupleBatch | Punctuation]] = []
        self.parameters: Any = kind.Parameters.model_validate(parameters)
        kind.check(self.context, self.parameters)
        self.operator = kind(self.context, self.parameters)
        self.operator.setup()

    def send(self, rows: Sequence[Row], port: int = 0) -> Bench:
        schema = self.context.inputs[port]
        columns = {name: [row[i] for row in rows] for i, name in enumerate(schema.names)}
        self.operator.process(port, TupleBatch.from_columns(columns, schema).const())
        return self

    def mark(self, mark: Punctuation, port: int = 0) -> Bench:
        self.operator.on_punctuation(port, mark)
        return self

    def produce(self, offset: dict[str, Any] | None = None, limit: int = 1000) -> ProducedTo:
        assert isinstance(self.operator, SourceOperator)
        return self.operator.produce(self.operator.initial_offset() if offset is None else offset, limit)

    def rows(self, port: int = 0) -> list[Row]:
        """All tuples sent so far."""
        batches = (item for number, item in self.sent if number == port and isinstance(item, TupleBatch))
        return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]

    def items(self, port: int = 0) -> list[Row | Punctuation]:
        """All tuples and marks sent so far, in order."""
        found: list[Row | Punctuation] = []
        for number, item in self.sent:
            if number == port and isinstance(item, TupleBatch):
                found += [tuple(row.values()) for row in item.to_pylist()]
            elif number == port:
                assert isinstance(item, Punctuation)
                found.append(item)
        return found


def division(rows: Sequence[Row], cuts: Sequence[int]) -> list[Sequence[Row]]:
    """The rows in runs that end at the cuts (modulo their number); empty ones are left out."""
    bounds = [0, *sorted(cut % (len(rows) + 1) for cut in cuts), len(rows)]
    return [rows[a:b] for a, b in itertools.pairwise(bounds) if a < b]
