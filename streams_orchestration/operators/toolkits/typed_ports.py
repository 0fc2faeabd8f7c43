"""Values of SPL in the columns of ports, for operators that go through tuples one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.contract.parameters import Parameters
from streams_orchestration.operators.expressions.spl.types import written_tuple_type
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.spl.types.types import Tuple


class TypedPortParameters(Parameters):
    """Parameters with the SPL types of attributes that columns cannot express."""

    input_types: str = Field(
        default="",
        alias="inputTypes",
        description="Types of SPL for attributes of the input stream, as in tuple<set<int32> ids>.",
    )
    output_types: str = Field(
        default="", alias="outputTypes", description="Types of SPL for attributes of the first output stream."
    )

    vm_arg: str | list[str] = Field(
        default_factory=list[str],
        alias="vmArg",
        description="Arguments of a Java virtual machine; they have no effect here.",
    )

    def input_type(self, context: OperatorContext) -> Tuple:
        """Return the tuple type of the input port. Raises ValueError if `inputTypes` is faulty, or SPL lacks a type."""
        return written_tuple_type(self.input_types, context.inputs[0])

    def output_type(self, context: OperatorContext) -> Tuple:
        """Return the tuple type of the first output port.

        Raises ValueError if the port has no schema, SPL has no such type, or `outputTypes` is faulty.
        """
        return written_tuple_type(self.output_types, context.output_schema())

    def copied(self, context: OperatorContext) -> frozenset[str]:
        """Return the attributes that the input and the output have with the same type.

        Raises ValueError if `inputTypes` or `outputTypes` is faulty, SPL lacks a type, or the output has no schema.
        """
        given = self.input_type(context)
        own = self.output_type(context)
        return frozenset(each.name for each in own.attributes if given.type_of(each.name) == each.type)


def column_values(batch: TupleBatch, type_: Tuple, name: str) -> list[Any]:
    """Return the values of an attribute as SPL values. Raises RunError for a null of a type that is not optional."""
    from streams_orchestration.spl.programs.columns import values_of

    kind = type_.type_of(name)
    assert kind is not None
    return values_of(batch.arrow.column(name), kind)


def tuple_values(batch: TupleBatch, type_: Tuple) -> list[dict[str, Any]]:
    """Return the tuples of a batch as SPL values. Raises RunError for a null of a type that is not optional."""
    names = [each.name for each in type_.attributes]
    columns = [column_values(batch, type_, name) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def output_columns(
    found: Sequence[Mapping[str, Any]], type_: Tuple, others: Mapping[str, Sequence[Any]] | None = None
) -> dict[str, pa.Array]:
    """Return the columns of tuples whose values were found in part.

    Args:
        found: the values that were found for each tuple.
        type_: the type of the tuples.
        others: for some attributes, the value of each tuple that is taken if none was found; others have defaults.

    Raises:
        RunError: a value cannot be stored in a column.
    """
    from streams_orchestration.spl.programs.columns import array_of
    from streams_orchestration.spl.programs.values import default_of

    columns: dict[str, pa.Array] = {}
    for each in type_.attributes:
        given = (others or {}).get(each.name) or [default_of(each.type)] * len(found)
        values = [own.get(each.name, other) for own, other in zip(found, given, strict=True)]
        columns[each.name] = array_of(values, each.type)
    return columns
