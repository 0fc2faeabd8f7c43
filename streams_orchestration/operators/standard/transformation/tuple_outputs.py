"""Combines tuples that a function yields one at a time into batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from streams_orchestration.operators.contract.function import schema_for
from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.errors.errors import DataError, TupleError
from streams_orchestration.operators.tuples.batch import TupleBatch


class TupleOutputs:
    """Collects output tuples that are given as values by attribute, and submits them in batches.

    Marks keep their positions.
    """

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.tuples: dict[int, _Collected] = {}

    def add(self, position: int, port: int, part: Mapping[str, Any] | Punctuation) -> None:
        """Add one result of the function for the input tuple at a position: a tuple's values, or a mark.

        A mark is submitted at once, after the collected tuples of its port.

        Raises:
            ResultError: the attributes differ from the output stream, or the port does not exist.
            TupleError: a mark submits a tuple with a value that does not fit its attribute.
        """
        collected = self.tuples.get(port)
        if collected is not None and type(part) is dict and part.keys() == collected.names:
            collected.add(position, part)
        elif isinstance(part, Punctuation):
            self.submit(port)
            self.operator.punctuate(part, port)
        else:
            self._begin(port, part).add(position, part)

    def _begin(self, port: int, part: Mapping[str, Any]) -> _Collected:
        """Return the collected tuples of a port, after checking the attributes of a new one."""
        schema = schema_for(part, self.operator.context, port)
        return self.tuples.setdefault(port, _Collected(schema))

    def submit(self, port: int | None = None) -> None:
        """Submit the collected tuples of one output port, or of all.

        Raises:
            TupleError: a value does not fit its attribute.
        """
        for number in sorted(self.tuples) if port is None else [port]:
            if collected := self.tuples.pop(number, None):
                self.operator.submit(collected.batch(), number)


class _Collected:
    """Collected tuples of one output port, each with the position of its input tuple."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.names = dict.fromkeys(schema.names).keys()
        self.positions: list[int] = []
        self.tuples: list[Mapping[str, Any]] = []

    def add(self, position: int, part: Mapping[str, Any]) -> None:
        self.positions.append(position)
        self.tuples.append(part)

    def batch(self) -> TupleBatch:
        try:
            return self._columns(self.tuples)
        except DataError:
            for position, part in zip(self.positions, self.tuples, strict=True):
                try:
                    self._columns([part])
                except DataError as error:
                    raise TupleError(position) from error
            raise

    def _columns(self, tuples: list[Mapping[str, Any]]) -> TupleBatch:
        return TupleBatch.from_columns({name: [part[name] for part in tuples] for name in self.names}, self.schema)
