"""Native functions in programs: Python functions that are called with Python values.

A function with `mutable` parameters returns a tuple: its result, unless it is void, and then the new value of each
mutable parameter. If there is only one such value, it is returned without a tuple.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from streams_orchestration.spl.functions.signatures import Signature
from streams_orchestration.spl.programs.errors import ProgramError, RunError
from streams_orchestration.spl.types.types import FLOATS, VOID, Collection, Optional, Tuple, Type
from streams_orchestration.spl.typing import typed

_REMEMBERED = 4096
"""The number of results of a pure function that are cached."""


@dataclass(frozen=True, slots=True)
class NativeFunction:
    """A native function: its signature, the Python function that implements it, and that function's name `python`."""

    signature: Signature
    python: str
    function: Callable[..., Any]


def called(
    native: NativeFunction, types: tuple[Type, ...], call: typed.Call
) -> tuple[Callable[..., Any], tuple[int, ...]]:
    """Return the function over SPL values for a call, and the positions of the arguments to which it assigns.

    It raises RunError if the Python function fails or returns a wrong value. Results of pure functions are cached.

    Raises:
        ProgramError: a parameter or the result has a type that only compiles.
    """
    from streams_orchestration.spl.programs.columns import is_carried

    for type_ in (*types, call.type):
        if type_ != VOID and not is_carried(type_):
            message = f"{native.signature.full_name}: values of type {type_} compile but cannot run (SO0720)"
            raise ProgramError(message, call.span)
    changed = tuple(at for at, each in enumerate(native.signature.parameters) if each.mutable)
    function = _function(native, types, call.type, changed)
    if native.signature.is_pure and all(map(_is_remembered, (*types, call.type))):
        function = functools.lru_cache(maxsize=_REMEMBERED)(function)
    return function, changed


def _is_remembered(type_: Type) -> bool:
    """Return True if calls with values of a type may be cached: equal values are interchangeable and unchangeable."""
    if isinstance(type_, Optional):
        return _is_remembered(type_.content)
    return not isinstance(type_, Tuple | Collection) and type_ not in FLOATS and type_ != VOID


def _function(
    native: NativeFunction, types: tuple[Type, ...], result: Type, changed: tuple[int, ...]
) -> Callable[..., Any]:
    from streams_orchestration.spl.programs.python_values import from_python, to_python

    name, python = native.signature.full_name, native.python
    inward = tuple(map(to_python, types))
    given = [*([] if result == VOID else [("its result", from_python(result))])]
    given += [(f"the new value of argument {at + 1}", from_python(types[at])) for at in changed]

    def call(*arguments: Any) -> Any:
        values = [convert(each) for convert, each in zip(inward, arguments, strict=True)]
        try:
            returned: Any = native.function(*values)
        except (Exception, SystemExit) as error:  # whatever the function of a user raises
            message = f"{name}: {python} raised {type(error).__name__}: {error}"
            raise RunError(message) from error
        if not given:
            return None
        parts: list[Any] = [returned]
        if len(given) > 1 and isinstance(returned, tuple):
            parts = list(cast("tuple[Any, ...]", returned))
        if len(parts) != len(given):
            wanted = ", ".join(what for what, _ in given)
            message = f"{name}: {python} returned {returned!r:.60}; it must return a tuple of {wanted}"
            raise RunError(message)
        converted: list[Any] = []
        for (what, convert), part in zip(given, parts, strict=True):
            try:
                converted.append(convert(part))
            except RunError as error:
                message = f"{name}: {python} returned a wrong value: {what}: {error}"
                raise RunError(message) from error
        if not changed:
            return converted[0]
        return tuple([None, *converted] if result == VOID else converted)

    return call
