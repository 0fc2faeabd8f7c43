"""Type guards for the values of parsed documents."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    """Return True for a dict. Type checkers then treat its keys as texts, although the keys are not examined."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Return True for a list or a tuple."""
    return isinstance(value, list | tuple)


def is_true(value: object) -> bool:
    """Return True for the boolean true, or for a text that means true, as a submission-time value may be."""
    return value is True or (isinstance(value, str) and value.strip().lower() in ("true", "t", "yes", "y", "on", "1"))
