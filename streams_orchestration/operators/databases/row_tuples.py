"""Converts database rows to tuples of a source. `onBadTuple` decides about rows that do not fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import Field

from streams_orchestration.operators.contract.context import OperatorContext
from streams_orchestration.operators.contract.operator import Parameters, SourceOperator
from streams_orchestration.operators.databases.values import attribute_values
from streams_orchestration.operators.formats.bad_tuples import BadTuples, OnBadTuple, check_bad_port
from streams_orchestration.operators.formats.checks import NULL
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import nulls_in, type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

MALFORMED: dict[str, str] = dict.fromkeys(("table", "place", "column", "reason", "text"), "string")
"""The attributes that describe a row that does not fit, with their types."""


class RowParameters(Parameters):
    """The parameters shared by sources of rows."""

    columns: dict[str, str] = Field(
        default_factory=dict, description="Maps an attribute to its column where the names differ."
    )
    on_bad_tuple: OnBadTuple = Field(
        default="fail",
        alias="onBadTuple",
        description="Policy for a row that does not fit. stream: send it to the second output port.",
    )


def check_outputs(context: OperatorContext, on_bad_tuple: OnBadTuple) -> None:
    """Check the output ports of a source of rows.

    Raises:
        ValueError: the stream has no schema or a type that no column can have, or the second output port is missing,
            superfluous, or has other attributes than `MALFORMED`.
    """
    for field in context.output_schema():
        if pa.types.is_nested(field.type):
            message = f"the attribute {field.name}: it is {type_name(field.type)}, which no column can hold"
            raise ValueError(message)
    check_bad_port(context, on_bad_tuple, MALFORMED, "the rows that do not fit")


class RowTuples:
    """Submits the rows of one table or query for a source."""

    def __init__(self, source: SourceOperator, columns: Mapping[str, str], on_bad_tuple: OnBadTuple) -> None:
        """Prepare for the first output port. Its attributes are `columns` and the `extra` of `submit`.

        Args:
            source: the source that submits the tuples.
            columns: maps attributes to columns, in the order of the values of a row.
            on_bad_tuple: the policy for rows that do not fit.
        """
        self._source = source
        self._schema = source.context.output_schema()
        self._columns = dict(columns)
        self._bad_tuples = BadTuples(source, on_bad_tuple, "rows")

    def submit(
        self,
        table: str,
        rows: Sequence[Sequence[Any]],
        place: Callable[[int], str],
        extra: Mapping[str, pa.Array] | None = None,
        bad: Mapping[int, tuple[str, str]] | None = None,
    ) -> None:
        """Submit the rows that fit. The parameter `on_bad_tuple` says if the others are dropped, submitted or an error.

        The source's first `LOGGED` rows that do not fit are logged, and dropped rows are counted.

        Args:
            table: the table's name, for errors.
            rows: values as the driver returns them.
            place: returns the description of a row for errors, given its number.
            extra: maps attributes that come from no column to their values.
            bad: maps the number of each row already known not to fit to the column and the reason.

        Raises:
            DataError: a row does not fit, and `on_bad_tuple` is `fail`.
        """
        arrays = dict(extra or {})
        wrong = dict(bad or {})
        for number, (attribute, column) in enumerate(self._columns.items()):
            values = [row[number] for row in rows]
            arrays[attribute], misfits = attribute_values(values, self._schema.field(attribute).type)
            wrong |= {each.row: (column, each.reason) for each in misfits if each.row not in wrong}
        for row, attribute in nulls_in(arrays, self._source.context.required_at()).items():
            wrong.setdefault(row, (self._columns.get(attribute, attribute), NULL))
        batch = pa.RecordBatch.from_arrays([arrays[name] for name in self._schema.names], schema=self._schema)
        if wrong:
            self._set_aside(table, rows, place, dict(sorted(wrong.items())))
            batch = batch.filter(pa.array([row not in wrong for row in range(len(rows))]))
        self._source.submit(TupleBatch(batch))

    def _set_aside(
        self,
        table: str,
        rows: Sequence[Sequence[Any]],
        place: Callable[[int], str],
        bad: Mapping[int, tuple[str, str]],
    ) -> None:
        """Handle the rows that do not fit, each with column and reason, by `on_bad_tuple`."""
        faults = [f"{table}, {place(row)}, column {wrong}: {reason}" for row, (wrong, reason) in bad.items()]
        texts = [json.dumps(dict(zip(self._columns.values(), rows[row], strict=False)), default=str) for row in bad]
        values = {
            "table": [table] * len(bad),
            "place": [place(row) for row in bad],
            "column": [wrong for wrong, _ in bad.values()],
            "reason": [reason for _, reason in bad.values()],
            "text": texts,
        }
        self._bad_tuples.set_aside(faults, values)
