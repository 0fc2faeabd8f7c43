"""`spl.math`: functions of numbers.

>>> from streams_orchestration.spl.types.types import FLOAT64
>>> BUILTINS["round"][-1][1].make((FLOAT64,), FLOAT64)(-2.5)
-3.0
"""

from __future__ import annotations

# pyright: standard
import math
import operator
from collections.abc import Callable
from typing import Any

from streams_orchestration.spl.programs.library.registry import BUILTINS, collections_first, plain, typed
from streams_orchestration.spl.programs.values import same
from streams_orchestration.spl.programs.wrapping import ordering, truncated, wrapper
from streams_orchestration.spl.types.types import FLOATS, INTEGERS, Primitive, Type

__all__ = ["BUILTINS"]


def _of_scalars(types: tuple[Type, ...]) -> bool:
    return not collections_first(types)


def _float_function(name: str, function: Callable[..., float]) -> None:
    """Register a function of floats; outside of its domain it returns NaN or an infinity, as in C."""

    def make(types: tuple[Type, ...], _: Type) -> Callable[..., float]:
        wrap = wrapper(types[0])
        narrow = isinstance(types[0], Primitive) and types[0] in FLOATS and FLOATS[types[0]] == 32

        def call(*values: float) -> float:
            try:
                value = function(*values)
            except ValueError:
                return math.nan
            except OverflowError:
                return math.inf
            return wrap(value) if narrow else value

        return call

    typed(name, when=_of_scalars)(make)


def _log(value: float, base: Callable[[float], float]) -> float:
    return -math.inf if value == 0 else base(value)


for _name, _function in {
    "exp": math.exp,
    "ln": lambda value: _log(value, math.log),
    "log10": lambda value: _log(value, math.log10),
    "lg": lambda value: _log(value, math.log10),
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "fmod": math.fmod,
}.items():
    _float_function(_name, _function)


@typed("sqrt", when=_of_scalars)
def _sqrt(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    wrap, whole = wrapper(types[0]), types[0] in INTEGERS

    def sqrt(value: Any) -> Any:
        root = math.sqrt(value) if value >= 0 else math.nan
        return truncated(root) if whole else wrap(root)

    return sqrt


def _is_number(types: tuple[Type, ...]) -> bool:
    return len(types) == 1 and isinstance(types[0], Primitive) and (types[0] in FLOATS or types[0] in INTEGERS)


def _rounding(name: str, function: Callable[[float], float]) -> None:
    typed(name, when=_is_number)(
        lambda types, _: (
            (lambda value: value)
            if types[0] in INTEGERS
            else (lambda value: math.copysign(function(value), value) if math.isfinite(value) else value)
        )
    )


_rounding("ceil", math.ceil)
_rounding("floor", math.floor)
_rounding("round", lambda value: math.trunc(abs(value)) + (math.modf(abs(value))[0] >= 0.5))


@typed("log", when=_is_number)
def _natural(types: tuple[Type, ...], result: Type) -> Callable[..., float]:
    return BUILTINS["ln"][-1][1].make(types, result)


@typed("abs", when=_of_scalars)
def _abs(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    wrap = wrapper(types[0])
    return abs if types[0] in FLOATS else lambda value: wrap(abs(value))


@typed("pow")
def _pow(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    wrap, floats = wrapper(types[0]), types[0] in FLOATS

    def power(base: Any, exponent: Any) -> Any:
        if not floats and exponent >= 0:
            return wrap(pow(base, exponent, 2**64))
        if not floats:
            return int(base in (1, -1)) * (base if exponent % 2 else 1)
        try:
            return wrap(math.pow(base, exponent))
        except OverflowError:
            return math.copysign(math.inf, base if exponent % 2 == 1 else 1.0)
        except ValueError:
            return math.copysign(math.inf, base if exponent % 2 == 1 else 1.0) if base == 0 else math.nan

    return power


def _extreme(name: str, keeps: Callable[[Any, Any], bool]) -> None:
    """Register a function that returns the first of two numbers if a comparison with the second one is true."""

    def make(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
        key = ordering(types[0]) or same
        return lambda one, other: one if keeps(key(one), key(other)) else other

    typed(name, when=_of_scalars)(make)


_extreme("max", operator.ge)
_extreme("min", operator.le)
plain("PI")(lambda: math.pi)
plain("isNaN")(math.isnan)
plain("isInf")(math.isinf)
plain("nanl", "nanw")(lambda: math.nan)
plain("infl", "infw")(lambda: math.inf)
plain("random", when=lambda types: not types, run=True)(lambda run: run.random())
plain("random", when=bool, run=True)(lambda run, count: [run.random() for _ in range(count)])


@plain("srand", run=True)
def srand(run: Any, seed: int) -> int:
    """Seed the operator's random number generator; return 0."""
    run.seed(seed)
    return 0
