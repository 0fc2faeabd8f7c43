"""Operators with their parameters before they are added to a graph, and conversion of values for a spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from streams_orchestration.builder.columns import Column, Summary
from streams_orchestration.builder.references import Reference
from streams_orchestration.model.containers import is_list
from streams_orchestration.model.operators import OperatorModel


@dataclass(frozen=True)
class Use:
    """An operator with its parameters, not yet added to a graph."""

    operator: str
    """The name of a standard or declared operator, or `package.module:Class`."""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values by the parameter names of a spec."""
    declaration: Mapping[str, Any] | None = None
    """The declaration of a class or function that describes its ports or its watermark mode; else None."""
    typed: bool = False
    """True if a parameter was given as a column; the operator is then checked where it is added."""


def use(operator: str | type | Callable[..., Any], **parameters: Any) -> Use:
    """Return any operator with its parameters, ready to be added to an application.

    Args:
        operator: a class, a function decorated with `@operator`, or a name as in a spec.
        parameters: values by the parameter names of a spec; None leaves a parameter out.

    Raises:
        ValueError: a class or function is local or a lambda, so hosts cannot import it.
    """
    if isinstance(operator, str):
        return named_use(operator, parameters)
    model, mode = getattr(operator, "model", None), getattr(operator, "watermark_mode", None)
    if not isinstance(model, OperatorModel):
        if mode is None:
            return named_use(import_path(operator), parameters)
        model = OperatorModel()
    declaration = model.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if mode is not None:
        declaration["watermarkMode"] = mode
    more = {"stateful": True} if getattr(operator, "stateful", False) else {}
    declaration |= more | {"implementation": import_path(operator)}
    return replace(named_use(operator.__name__, parameters), declaration=declaration)


def named_use(operator: str, parameters: Mapping[str, Any]) -> Use:
    """Return an operator by its name in a spec; parameters that are None are left out.

    A local class, local function or lambda is refused with a ValueError.
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    return Use(operator, {name: plain(value) for name, value in given.items()}, typed=_has_columns(given))


def _has_columns(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_columns, cast("Mapping[str, object]", value).values()))
    if is_list(value):
        return any(map(_has_columns, value))
    return isinstance(value, Column | Summary)


def import_path(thing: type | Callable[..., Any]) -> str:
    """Return `package.module:name` of a class or function; `__main__` is replaced by the script's module name.

    Raises:
        ValueError: it is local or a lambda, so other processes cannot import it.
    """
    code = getattr(getattr(thing, "function", thing), "__code__", None)
    name: str = getattr(thing, "__qualname__", "")
    if not name or "<" in name:
        where = "" if code is None else f" in line {code.co_firstlineno}"
        message = f"{name or thing!r}{where} cannot be imported by the hosts: define it at the top of a module"
        raise ValueError(message)
    module = thing.__module__
    if module == "__main__":
        module = _script() if code is None else Path(code.co_filename).stem
    return f"{module}:{name}"


def _script() -> str:
    import __main__

    return Path(getattr(__main__, "__file__", None) or "__main__").stem


def plain(value: Any) -> Any:
    """Return a value in JSON's types. A class or function becomes its import path, a set a sorted list.

    Raises:
        ValueError: the class or function is local or a lambda, so other processes cannot import it.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in cast("Mapping[object, object]", value).items()}
    if isinstance(value, set | frozenset):
        return [plain(part) for part in sorted(cast("Set[str]", value))]
    if is_list(value):
        return [plain(part) for part in value]
    if isinstance(value, Reference | Column | Summary):
        return str(value)
    if isinstance(value, Path):
        return value.as_posix()
    return import_path(value) if callable(value) else value
