"""Functions of `spl.math` and `spl.time` over decimals, which round to the digits of their type.

>>> from streams_orchestration.spl.types.types import Primitive
>>> decimal = Primitive("decimal32")
>>> BUILTINS["sqrt"][0][1].make((decimal,), decimal)(Decimal(2))
Decimal('1.414214')
"""

from __future__ import annotations

# pyright: standard
import decimal
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from streams_orchestration.spl.programs.library.registry import BUILTINS, plain, typed
from streams_orchestration.spl.programs.library.spl_time import checked
from streams_orchestration.spl.programs.wrapping import context_of
from streams_orchestration.spl.types.types import DECIMALS, Type

__all__ = ["BUILTINS"]


def decimals_first(types: tuple[Type, ...]) -> bool:
    """Return True if the first argument is a decimal."""
    return bool(types) and types[0] in DECIMALS


def _function(name: str, method: str) -> None:
    """Register a function over decimals that a method of the type's `decimal.Context` computes."""
    typed(name, when=decimals_first, first=True)(lambda types, _: getattr(context_of(types[0]), method))


for _name, _method in {
    "sqrt": "sqrt",
    "exp": "exp",
    "ln": "ln",
    "log": "ln",
    "log10": "log10",
    "lg": "log10",
    "pow": "power",
    "abs": "abs",
    "isNaN": "is_nan",
    "isInf": "is_infinite",
}.items():
    _function(_name, _method)


def _rounding(name: str, rounding: str) -> None:
    def call(value: Decimal) -> Decimal:
        return value.to_integral_value(rounding) if value.is_finite() else value

    plain(name, when=decimals_first, first=True)(call)


_rounding("floor", decimal.ROUND_FLOOR)
_rounding("ceil", decimal.ROUND_CEILING)
_rounding("round", decimal.ROUND_HALF_UP)


@plain("toDecimal128")
def to_decimal(stamp: int) -> Decimal:
    """Convert a timestamp, in nanoseconds since 1970, to seconds as a decimal without trailing zeros."""
    return Decimal(stamp).scaleb(-9).normalize()


@typed("fromDecimal128")
def _from_decimal(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    context = context_of(types[0])
    return lambda seconds: checked(int(context.scaleb(seconds, 9)))
