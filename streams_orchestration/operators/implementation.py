"""Finds the class that implements an operator, by its name in the spec."""

from __future__ import annotations

import importlib
from typing import Any

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.contract import Operator, SourceOperator


class ImplementationError(ValueError):
    """An operator cannot run: no class implements it, or the class cannot be imported."""


def import_operator(name: str) -> type[Operator]:
    """Import the class `package.module:Class`, or a function under `@operator`.

    Raises:
        ImplementationError: no such module or class, or it is no `Operator`.
    """
    imported = import_name(name, Operator)
    if not _is_class(imported, Operator):
        message = f"{name}: this is no subclass of streams_orchestration.operators.Operator"
        if callable(imported) and not isinstance(imported, type):
            message += ", nor a function under @operator"
        raise ImplementationError(message)
    return imported


def import_name(name: str, kind: type = object) -> Any:
    """Import `package.module:name`.

    Args:
        name: of the module and of what is in it.
        kind: of the classes whose names may be meant instead.

    Raises:
        ImplementationError: no such module, or nothing of that name in it.
    """
    module_name, _, inner = name.partition(":")
    if not module_name or not inner:
        message = f"{name}: package.module:name is wanted"
        raise ImplementationError(message)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        message = f"{name}: the module cannot be imported: {error}; is its package installed here?"
        raise ImplementationError(message) from error
    except (Exception, SystemExit) as error:  # whatever the code of a user's module raises
        message = f"{name}: the module cannot be imported: {type(error).__name__}: {error}"
        raise ImplementationError(message) from error
    imported: Any = getattr(module, inner, None)
    if imported is None:
        names = [n for n, value in vars(module).items() if kind is object or _is_class(value, kind)]
        message = f"{name}: the module has no {inner}{nearest(inner, names)}"
        raise ImplementationError(message)
    return imported


def _is_class(value: Any, kind: type) -> bool:
    return isinstance(value, type) and issubclass(value, kind)


def keeps_tuples(implementation: type[Operator]) -> bool:
    """Whether the class keeps anything between calls, so that one instance must process all tuples."""
    return implementation.stateful


def missing_method(kind: type[Operator], inputs: int) -> str | None:
    """Describe the method for tuples that a class lacks: `process`, or `produce` of a source; None where it has one.

    Args:
        kind: the class.
        inputs: how many input ports it has.
    """
    if issubclass(kind, SourceOperator):
        name, lacks = "produce", kind.produce is SourceOperator.produce
    else:
        silent = kind.process is Operator.process and kind.on_punctuation is Operator.on_punctuation
        name, lacks = "process", inputs > 0 and silent
    if not lacks:
        return None
    own = [each for each, value in vars(kind).items() if callable(value) and not each.startswith("__")]
    what = "every tuple that arrives would be dropped" if name == "process" else "it would never make a tuple"
    return f"{kind.__name__} has no method {name}, so {what}{nearest(name, own)}"
