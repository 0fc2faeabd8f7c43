"""SPL expressions as parameters of user-defined operators."""

from __future__ import annotations

import functools
from collections.abc import Container, Mapping
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from streams_orchestration.expressions.times import UTC
from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.programs import CONSTANTS, FUNCTIONS, LOGIC, is_native, is_program
from streams_orchestration.operators.expressions.evaluation import Expression, evaluate, parse_expression
from streams_orchestration.operators.expressions.spl.natives import NativeEntry
from streams_orchestration.operators.expressions.spl.text import SplText, call_of
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.batch import TupleBatch


class Evaluable:
    """An expression of SPL as a parameter; `evaluate` returns its value for every tuple of a batch.

    Attributes:
        text: the expression.
        at: its place in the source, `file:line:column`.
        function: the output function that the operator's model declares and the expression calls, or an empty text.
        arguments: the arguments of that call.
    """

    def __init__(self, program: Mapping[str, Any], logic: Mapping[str, Any] | None = None) -> None:
        """Read a program of the spec.

        Args:
            program: the program.
            logic: the functions and submission-time values of the operator's invocation.

        Raises:
            ValueError: the program reads several input ports.
        """
        self.text: str = program[LOGIC]
        self.at: str = program.get("at", "")
        self.function: str = program.get("call", "")
        types: Mapping[str, str] = program.get("types", {})
        if len(types) > 1:
            message = f"{self.text!r:.60} reads the attributes of several input ports: {', '.join(types)}"
            raise ValueError(message)
        shared = logic or {}
        written = [*program.get(FUNCTIONS, ()), *shared.get(FUNCTIONS, ())]
        functions = tuple(NativeEntry.model_validate(each) if is_native(each) else str(each) for each in written)
        constants = {**shared.get(CONSTANTS, {}), **program.get(CONSTANTS, {})}
        self._program = SplText(self.text, self.at, dict(types), functions, constants)
        self.arguments: tuple[Evaluable, ...] = self._arguments(program, shared) if self.function else ()

    def _arguments(self, program: Mapping[str, Any], shared: Mapping[str, Any]) -> tuple[Evaluable, ...]:
        call = call_of(self._program)
        rest = {key: value for key, value in program.items() if key != "call"}
        return tuple(Evaluable({**rest, LOGIC: each.text}, shared) for each in (call.arguments if call else ()))

    def evaluate(self, batch: TupleBatch) -> pa.Array:
        """Return the value of the expression for every tuple of a batch of its input port.

        Raises:
            DataError: the expression has no value for a tuple; the message shows the place and the tuple.
            FaultyExpressionError: the expression does not fit the attributes of the batch.
        """
        return self._compiled(batch.schema)(batch.arrow)

    @functools.lru_cache(maxsize=8)  # noqa: B019  an operator has few of them, and one schema
    def _compiled(self, schema: pa.Schema) -> Any:
        expression: Expression = parse_expression(self._program, schema, "parameter", UTC)
        return lambda batch: evaluate(expression, batch)

    def _key(self) -> tuple[Any, ...]:
        return (self._program, self.function)

    def __eq__(self, other: object) -> bool:
        """Compare programs, not places, so that a moved program is the same."""
        return isinstance(other, Evaluable) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Evaluable({self.text!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the Pydantic schema of a field with an `Evaluable`; a constant is accepted, too."""
        return core_schema.no_info_plain_validator_function(_evaluable)


class ConstantEvaluable(Evaluable):
    """A constant given for a parameter that takes an expression."""

    def __init__(self, value: Any) -> None:
        super().__init__({LOGIC: repr(value)})
        self.value = value

    def evaluate(self, batch: TupleBatch) -> pa.Array:
        """Return the constant for every tuple."""
        return pa.array([self.value] * len(batch))


def _evaluable(value: Any) -> Evaluable:
    if isinstance(value, Evaluable):
        return value
    return Evaluable(value) if is_program(value) else ConstantEvaluable(value)


def with_evaluables(data: Any, fields: Container[str]) -> Any:
    """Return the parameters of an operator with each SPL program converted to an `Evaluable`.

    Programs in lists and nested mappings are converted, too. Each `Evaluable` gets the functions and submission-time
    values of the parameter `spl`. That parameter is removed if the operator has no field for it, and the parameter has
    nothing else. Data that are not a mapping are returned unchanged.

    Raises:
        ValueError: a program reads several input ports.
    """
    if not is_mapping(data):
        return data
    logic = data.get(LOGIC)
    shared: Mapping[str, Any] = logic if is_mapping(logic) else {}
    hidden = LOGIC not in fields and shared and not shared.keys() - {FUNCTIONS, CONSTANTS, "at"}
    return {key: _converted(value, shared) for key, value in data.items() if not (hidden and key == LOGIC)}


def _converted(value: Any, shared: Mapping[str, Any]) -> Any:
    if is_program(value):
        return Evaluable(value, shared)
    if is_list(value):
        return [_converted(each, shared) for each in value]
    if is_mapping(value):
        return {key: each if key == LOGIC else _converted(each, shared) for key, each in value.items()}
    return value
