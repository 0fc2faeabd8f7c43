"""What parsed documents are made of besides texts, numbers and truth values, in words that the type checker knows."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether it is a mapping; its keys are texts."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether it is a list, of a document or as Python has it."""
    return isinstance(value, list | tuple)
