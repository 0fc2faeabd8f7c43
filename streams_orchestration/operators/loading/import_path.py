"""Import of a spec's operators and functions. The module is small, since a host imports it before its engine."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from streams_orchestration.model.names import nearest

LOGIC_SUFFIX = "+logic"
"""The end of the name of an implementation whose operator has logic of SPL: `package.module:Class+logic`."""


def import_from(directory: str) -> None:
    """Add a directory to the end of this process's module search path, unless it is empty or already in the path."""
    if directory and directory not in sys.path:
        sys.path.append(directory)


class ImplementationError(ValueError):
    """An operator cannot run: no class implements it, or the class cannot be imported."""


def import_name(name: str, kind: type = object) -> Any:
    """Import `package.module:name`.

    Args:
        name: the module and the name in it.
        kind: if the name is missing, the error suggests similar classes of this kind.

    Raises:
        ImplementationError: `name` has another form, or the module cannot be imported or does not have the name.
    """
    module_name, _, inner = name.partition(":")
    if not module_name or not inner:
        message = f"{name}: package.module:name is expected"
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
        names = [n for n, value in vars(module).items() if kind is object or is_class(value, kind)]
        message = f"{name}: the module has no {inner}{nearest(inner, names)}"
        raise ImplementationError(message)
    return imported


def is_class(value: Any, kind: type) -> bool:
    """Return True if a value is a class, namely `kind` or one of its subclasses."""
    return isinstance(value, type) and issubclass(value, kind)
