"""Type guards for the containers of parsed documents."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    """Return True for a mapping, whose keys are then known to be texts."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Return True for a list or a tuple."""
    return isinstance(value, list | tuple)
