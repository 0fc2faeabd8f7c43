"""Operators and functions of bits."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from streams_orchestration.expressions.functions.arithmetic import numbers_of
from streams_orchestration.expressions.table import Binding, FunctionGroup, Operand, Resolved, TupleFunction
from streams_orchestration.expressions.types import (
    BIGINT,
    INT,
    INTEGRAL_RANGES,
    Type,
)

BITS = FunctionGroup("Bits")


def _whole_pair(operands: Sequence[Operand]) -> Resolved | None:
    kinds = numbers_of(operands)
    return Resolved(kinds, kinds[0]) if kinds is not None and kinds[0].is_integral else None


for _sign, _operation, _summary, _example in (
    ("&", operator.and_, "Return the bits that are set in both numbers.", ("6 & 3", "2")),
    ("|", operator.or_, "Return the bits that are set in at least one of the numbers.", ("6 | 3", "7")),
    ("^", operator.xor, "Return the bits that are set in exactly one of the numbers.", ("6 ^ 3", "5")),
):
    BITS.function(summary=_summary, examples=[_example], resolver=_whole_pair, name=_sign)(_operation)


def _one_whole(operands: Sequence[Operand]) -> Resolved | None:
    kinds = [each.type for each in operands]
    return Resolved((kinds[0],), kinds[0]) if len(kinds) == 1 and kinds[0].is_integral else None


BITS.function(summary="Invert all bits.", examples=[("~5", "-6")], resolver=_one_whole, name="~")(operator.inv)


def _shift(operands: Sequence[Operand]) -> Resolved | None:
    if len(operands) != 2 or not (operands[0].type.is_integral and operands[1].type.is_integral):
        return None
    kind = BIGINT if operands[0].type == BIGINT else INT
    return Resolved((kind, INT), kind)


def wrapped(value: int, kind: Type) -> int:
    """Reduce a value to the lowest bits of a type, as a signed number."""
    high = INTEGRAL_RANGES[kind.name][1] + 1
    return (value + high) % (2 * high) - high


def _shifter(shift: Callable[[int, int, int], int]) -> Callable[[Binding], TupleFunction]:
    def bind(binding: Binding) -> TupleFunction:
        bits = 64 if binding.result == BIGINT else 32
        return lambda value, by: wrapped(shift(value, by % bits, bits), binding.result)

    return bind


for _names, _shifted, _summary, _example in (
    (("<<", "shiftleft"), lambda value, by, _bits: value << by, "Shift the bits to the left.", "8"),
    ((">>", "shiftright"), lambda value, by, _bits: value >> by, "Shift the bits to the right; the sign is kept.", "0"),
    (
        (">>>", "shiftrightunsigned"),
        lambda value, by, bits: (value % (1 << bits)) >> by,
        "Shift the bits to the right, filling with zeros.",
        "0",
    ),
):
    for _name in _names:
        _call = f"{_name}(1, 3)" if _name.isalpha() else f"1 {_name} 3"
        BITS.bound(summary=_summary, examples=[(_call, _example)], resolver=_shift, name=_name)(_shifter(_shifted))


@BITS.function(
    "bit_count(value whole) -> int",
    "bit_count(value boolean) -> int",
    summary="Count the bits that are set.",
    examples=[("bit_count(7)", "3")],
    exact=True,
)
def _bit_count(value: int) -> int:
    return (value % (1 << 64)).bit_count()
