"""The `output` clause: computes the attributes of an output stream, or copies them from the input by name."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence

from streams_orchestration.expressions.tokens import name_token
from streams_orchestration.operators.errors.errors import unknown_attribute
from streams_orchestration.operators.errors.faults import report, reported
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.expressions.evaluation import Expression, parse_expression
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.batch import TupleBatch


class Assignments:
    """The expressions that compute each attribute of an output stream."""

    def __init__(
        self,
        output: Mapping[str, str],
        source: pa.Schema,
        target: pa.Schema,
        zone: dt.tzinfo,
        required: Collection[str] = (),
    ) -> None:
        """Parse the expressions. While faults are gathered, they are reported instead of raised.

        Args:
            output: maps attributes to expressions. Other attributes are copied from the input by name.
            source: the input stream's schema.
            target: the output stream's schema.
            zone: the time zone of the application.
            required: attributes of the output stream that are NOT NULL. A null there is an error of the tuple.

        Raises:
            UnknownAttributeError: `output` or an expression names an attribute that its stream lacks.
            ValueError: an attribute has no expression and no input attribute, or an expression has the wrong type.
        """
        self.schema = target
        for name in output:
            if name not in target.names:
                report(unknown_attribute("output", name, target.names, "the output stream"))
        given = [name for name in target.names if name in output or name in source.names]
        for name in target.names:
            if name not in given:
                message = f"output: {name} has no value; give it an expression"
                report(ValueError(message))
        self.columns = {
            name: self._column(target.field(name), output.get(name), source, zone, required=name in required)
            for name in given
        }

    @staticmethod
    def _column(
        target: pa.Field, text: str | None, source: pa.Schema, zone: dt.tzinfo, *, required: bool
    ) -> Expression | None:
        """Return the expression of an attribute; None if it is copied unchanged, which a `required` one is not."""
        name = target.name
        if text is None and source.field(name).type == target.type and not required:
            return None
        written = name_token(name) if text is None else text
        return parse_expression(written, source, f"output.{name}", zone).assigned(target.type, required=required)

    @property
    def expressions(self) -> Iterator[Expression]:
        """The expressions of all attributes that are not copied unchanged."""
        return (each for each in self.columns.values() if each is not None)

    def apply(self, source: pa.RecordBatch) -> TupleBatch:
        """Compute the output tuples for input tuples, without watermarks.

        Raises DataError if an expression has no value for a tuple, or the value does not fit its attribute.
        """
        return self.of(Evaluated(TupleBatch(source)))

    def of(self, source: Evaluated) -> TupleBatch:
        """Compute the output tuples for tuples with already computed values, and keep their watermarks.

        Expressions with a known value are not evaluated again.

        Raises:
            DataError: an expression has no value for a tuple, or the value does not fit its attribute.
        """
        values = {
            name: source.arrow.column(name) if expression is None else source.value(expression)
            for name, expression in self.columns.items()
        }
        tuples = TupleBatch.from_columns(values, self.schema)
        tuples.watermarks = source.batch.watermarks
        return tuples


def assignments_of_ports(sources: Sequence[pa.Schema], target: pa.Schema | None, zone: dt.tzinfo) -> list[Assignments]:
    """Return one `Assignments` for each input port, copying all attributes by name.

    Args:
        sources: the schema of each input port.
        target: the schema of the output stream; None for the schema of the first input port.
        zone: the time zone of the expressions.

    Raises:
        ValueError: an input stream lacks an attribute of the output stream, or has it with a type that needs a `CAST`,
            and faults are not being gathered. The message names the port.
    """
    assignments: list[Assignments] = []
    for port, source in enumerate(sources):
        with reported(f"input port {port}: "):
            assignments.append(Assignments({}, source, target or sources[0], zone))
    return assignments
