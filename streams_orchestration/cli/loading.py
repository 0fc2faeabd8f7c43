"""The lazy border of the command line: what a command does is loaded when that command is called."""

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
    """Declare a command by a function without a body, whose docstring is the help; another one does the work.

    Args:
        place: of that function, see `load`. Its module is loaded when the command is called.
    """

    def declared(declaration: Callable[..., None]) -> Callable[..., Any]:
        @functools.wraps(declaration)
        def call(*arguments: Any, **named: Any) -> Any:
            return load(place)(*arguments, **named)

        return call

    return declared
