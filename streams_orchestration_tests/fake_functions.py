"""Replaces functions by fakes that can only be called like the real ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import pytest


def replace_function(
    monkeypatch: pytest.MonkeyPatch, owner: ModuleType | type, name: str, fake: Callable[..., Any]
) -> None:
    """Let calls of a module's function, or of a class's method, go to `fake`.

    A call that does not fit the real signature raises TypeError.
    """
    real = getattr(owner, name)
    signature = inspect.signature(real)

    @wraps(real)  # so that a fake which takes the place of this one is checked by the real signature, too
    def checked(*arguments: Any, **named: Any) -> Any:
        signature.bind(*arguments, **named)
        return fake(*arguments, **named)

    monkeypatch.setattr(owner, name, checked)
