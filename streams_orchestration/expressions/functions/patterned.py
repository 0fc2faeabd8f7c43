"""Typing of functions that parse or format dates and times by a pattern."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from streams_orchestration.expressions.datetime_patterns import pattern_of
from streams_orchestration.expressions.errors import MisfitError, PatternError
from streams_orchestration.expressions.table import FunctionSignature, Operand, Resolved
from streams_orchestration.expressions.times import SECOND
from streams_orchestration.expressions.types import BINARY, STRING, TIMESTAMP, VOID, Type


def check_pattern(operands: Sequence[Operand]) -> None:
    """Check a constant second argument as a pattern.

    Raises:
        MisfitError: the pattern is invalid; the message says why.
    """
    constant = operands[1].constant if len(operands) == 2 else None
    if constant is not None and isinstance(constant[0], str):
        try:
            pattern_of(constant[0])
        except PatternError as error:
            raise MisfitError(*error.args) from error


def patterned(signature: str) -> Callable[[Sequence[Operand]], Resolved | None]:
    """Return a resolver for a signature whose second parameter is a date pattern.

    The resolver raises MisfitError for an invalid constant pattern.
    """
    form = FunctionSignature.of(signature)

    def resolve(operands: Sequence[Operand]) -> Resolved | None:
        check_pattern(operands)
        return form.resolve(operands)

    return resolve


def saturated(seconds: float) -> int | None:
    """Convert seconds since 1970 to a timestamp; NaN and infinite values become NULL, as None.

    Finite values out of range become the first or the last timestamp.
    """
    return int(min(max(seconds * SECOND, -(2**63)), 2**63 - 1)) if math.isfinite(seconds) else None


def text_or(kind: Type) -> Callable[[Sequence[Operand]], Resolved | None]:
    """Return a resolver for functions that parse a text, by an optional pattern, as a date or time.

    The argument may also be a date or a time, for which the pattern is ignored. An invalid constant pattern raises
    MisfitError.
    """

    def resolve(operands: Sequence[Operand]) -> Resolved | None:
        if not 1 <= len(operands) <= 2 or any(each.type.is_nested or each.type.is_interval for each in operands):
            return None
        check_pattern(operands)
        if operands[0].type in (STRING, VOID, BINARY):
            return Resolved((STRING, STRING)[: len(operands)], kind)
        return Resolved((kind,), kind) if operands[0].type.is_datetime else None

    return resolve


def text_number_or(kind: Type) -> Callable[[Sequence[Operand]], Resolved | None]:
    """Return a resolver like `text_or` that also takes numbers.

    For the result type timestamp, a number is a count of seconds, and a pattern with it raises MisfitError; otherwise
    the number's digits are parsed as a text.
    """

    def resolve(operands: Sequence[Operand]) -> Resolved | None:
        number = operands[0].type if operands and operands[0].type.is_numeric else None
        if number is None or len(operands) > 2 or operands[-1].type.is_nested or operands[-1].type.is_interval:
            return text_or(kind)(operands)
        if kind == TIMESTAMP:
            if len(operands) == 2:
                message = "only a text has a pattern; CAST the number AS STRING"
                raise MisfitError(message)
            return Resolved((number,), kind)
        check_pattern(operands)
        return Resolved((STRING, STRING)[: len(operands)], kind)

    return resolve
