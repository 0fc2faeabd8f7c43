"""Results that an operator computes tuple by tuple, beside attributes that it copies from its input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.toolkits.typed_ports import column_values, default_values, output_column
from streams_orchestration.operators.tuples.batch import TupleBatch


class TypedResults:
    """The first output port of an operator whose results are SPL values.

    An attribute without a result comes from the input attribute of the same name and type, or is its default.
    """

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.given = operator.parameters.input_type(operator.context)
        self.made = operator.parameters.output_type(operator.context)
        self.copied = operator.parameters.copied(operator.context)

    def submit(self, batch: TupleBatch, found: Sequence[dict[str, Any]]) -> None:
        """Submit a tuple for each tuple of the input, with the attributes that were found for it.

        Raises RunError if a value cannot be stored in its column.
        """
        columns: dict[str, Any] = {}
        for each in self.made.attributes:
            name = each.name
            if name in self.copied and not any(name in values for values in found):
                columns[name] = batch.arrow.column(name)
                continue
            copied = name in self.copied
            given = column_values(batch, self.given, name) if copied else default_values(each.type, len(batch))
            values = [own.get(name, other) for own, other in zip(found, given, strict=True)]
            columns[name] = output_column(values, self.made, name)
        self.operator.submit(TupleBatch.from_columns(columns, self.operator.context.output_schema()))
