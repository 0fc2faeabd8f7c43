"""Expressions of SPL over Arrow batches: computed by columns if the results are the same, else by a generated loop."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streams_orchestration.expressions.times import UTC
from streams_orchestration.expressions.tree import Literal
from streams_orchestration.expressions.types import VOID, Type
from streams_orchestration.operators.errors.errors import FaultyExpressionError
from streams_orchestration.operators.expressions.expression import Expression, note
from streams_orchestration.operators.expressions.spl.keys import (
    canonical_keys,
    matching_keys,
    ordered_decimals,
    unequal_to_themselves,
)
from streams_orchestration.operators.expressions.spl.natives import native_functions
from streams_orchestration.operators.expressions.spl.program_environment import run_of_expression
from streams_orchestration.operators.expressions.spl.text import SplText, place_of
from streams_orchestration.operators.expressions.spl.types import tuple_type, written_tuple_type
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.spl.programs.errors import ProgramError, RunError
from streams_orchestration.spl.programs.logic import read_functions
from streams_orchestration.spl.programs.natives import NativeFunction
from streams_orchestration.spl.programs.reading import ProgramTextError, labels_in, read_expression, tree_of
from streams_orchestration.spl.programs.run import Run
from streams_orchestration.spl.types.columns import has_canonical_column, may_hold_nan
from streams_orchestration.spl.types.types import DECIMALS, Optional, Tuple
from streams_orchestration.spl.types.types import Type as SplType
from streams_orchestration.spl.typing import typed

if TYPE_CHECKING:
    from streams_orchestration.expressions.vectors import SelectedTuples, VectorFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class SplExpression(Expression):
    """A typed expression of SPL over a stream.

    Attributes:
        program: its typed tree.
        natives: the native functions that it calls.
        port: the name and the type of the port.
        functions: the functions of the application that it calls.
        run: the surroundings of the operator.
        form: converts the values of the expression, given with its type; None to leave them as they are.
    """

    program: typed.Expression
    port: tuple[str, Tuple]
    natives: tuple[NativeFunction, ...]
    functions: tuple[typed.Function, ...]
    run: Run
    form: Callable[[pa.Array, SplType], pa.Array] | None = None

    @property
    def spl_type(self) -> SplType:
        """The SPL type of the expression's value."""
        return self.program.type

    @functools.cached_property
    def type(self) -> Type:  # type: ignore[override]
        """The type of the expression's value."""
        from streams_orchestration.expressions.arrow import type_of

        return type_of(self.arrow_type)

    @functools.cached_property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type of the expression's value."""
        from streams_orchestration.spl.programs.columns import arrow_type

        return arrow_type(self.program.type)

    @functools.cached_property
    def _compiled(self) -> tuple[tuple[str, ...], bool, Callable[[Mapping[str, pa.Array], int], pa.Array]]:
        """The attributes that the expression reads, whether evaluation may fail, and the function over columns."""
        from streams_orchestration.spl.programs.expression import compiled

        return compiled(self.program, self.port, self.run, natives=self.natives, functions=self.functions)

    @functools.cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The attributes that the expression uses."""
        return self._compiled[0]

    @functools.cached_property
    def may_fail(self) -> bool:  # type: ignore[override]
        """True if evaluation may fail for some tuples."""
        return self._compiled[1]

    @functools.cached_property
    def function(self) -> VectorFunction:  # type: ignore[override]
        """The function that evaluates the expression for all tuples of a batch.

        It raises FailedTupleError for a tuple without a value.
        """
        evaluate = self._compiled[2]

        def function(rows: SelectedTuples) -> pa.Array:
            from streams_orchestration.spl.programs.outcome import FailedError

            try:
                values = evaluate(rows.columns, rows.count)
                return values if self.form is None else self.form(values, self.program.type)
            except FailedError as error:
                raise rows.failure(str(error), error.position) from error

        return function

    def keyed(self) -> Expression:
        """Return the expression with values that Arrow compares as SPL compares keys; see `canonical_keys`."""
        return self if has_canonical_column(self.program.type) else replace(self, form=canonical_keys)

    def matched(self) -> Expression:
        """Return the expression as a key of a Join: null equals nothing, and values that are or hold NaN are null."""
        return replace(self, form=matching_keys)

    @property
    def equals_itself(self) -> bool:
        """False if values of the expression's type may be NaN or hold NaN."""
        return not may_hold_nan(self.program.type)

    def unequal(self, values: pa.Array) -> np.ndarray:
        """Return a mask of the expression's values that are NaN or hold NaN."""
        return unequal_to_themselves(values, self.program.type)

    def ordered(self) -> Expression:
        """Return the expression; decimals, which columns have as texts, are bytes in their order."""
        type_ = self.program.type
        decimals = (type_.content if isinstance(type_, Optional) else type_) in DECIMALS
        return replace(self, form=ordered_decimals) if decimals else self

    def canonical(self) -> str:
        """Return the expression's text, which is not brought into a canonical form."""
        return self.text

    def assigned(self, target: pa.DataType, *, required: bool = False) -> Expression:
        """Return the expression itself. The attribute must have the type of the expression's value.

        `required` has no effect.
        """
        if not self.faulty and self.arrow_type != target:
            self.refuse(f"the value is {self.program.type}, but the attribute is {type_name(target)}; cast it")
        return self


def read_spl(text: SplText, schema: pa.Schema, parameter: str, _zone: dt.tzinfo) -> Expression:
    """Parse an expression of SPL, check it against the stream's schema, and record it for `noted`.

    Raises:
        FaultyExpressionError: it has mistakes, or cannot be run here.
    """
    place = place_of(text.at)
    try:
        port = _port(text, schema)
        natives = native_functions(text.natives)
        scope, functions = read_functions(text.own_functions, place, natives)
        program = read_expression(text.text, [port], place, around=scope)
        expression = SplExpression(
            *(text, parameter, Literal(None, VOID), UTC),
            program=program,
            port=port,
            natives=natives,
            functions=tuple(functions),
            run=run_of_expression(text.constants),
        )
        _ = expression.names
    except (ProgramTextError, ProgramError, RunError, ValueError) as error:
        placed = isinstance(error, ProgramTextError | ProgramError) and text.at.partition(":")[0] in str(error)
        where = f"{text.at}: " if text.at and not placed else ""
        message = f"{where}{parameter}: {' '.join(text.split())!r}: {error}"
        raise FaultyExpressionError(message, parameter, text) from error
    note(parameter, text, expression.canonical)
    return expression


def _port(text: SplText, schema: pa.Schema) -> tuple[str, Tuple]:
    """Return the name and the type of the port, from the parameter if it has types, otherwise from the columns."""
    for label, written in text.types.items():
        return label, written_tuple_type(written, schema)
    labels = [each for each in sorted(labels_in(tree_of(text.text))) if each not in schema.names]
    return (labels or ["In"])[0], tuple_type(schema)
