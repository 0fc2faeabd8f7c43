"""Lazy loading for the command line: the code of a command is loaded when that command is called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any


def load(place: str) -> Any:
    """Import a module and return its attribute of this name.

    Args:
        place: `package.module:name`.
    """
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def loaded(place: str) -> Callable[[Callable[..., None]], Callable[..., Any]]:
    """Return a decorator that makes a function without a body, whose docstring is the help, call another function.

    Args:
        place: the place of the other function, as `load` takes it. Its module is loaded when the command is called.
    """

    def declared(declaration: Callable[..., None]) -> Callable[..., Any]:
        @functools.wraps(declaration)
        def call(*arguments: Any, **named: Any) -> Any:
            return load(place)(*arguments, **named)

        return call

    return declared
