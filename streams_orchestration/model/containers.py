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


def listed(value: Any) -> Any:
    """Return a text as a list with it alone, any other value unchanged."""
    return [value] if isinstance(value, str) else value


def plain_value(value: Any) -> Any:
    """Return the value as plain dicts and lists without line numbers, to be compared, copied and stored."""
    if is_mapping(value):
        return {key: plain_value(entry) for key, entry in value.items()}
    return [plain_value(entry) for entry in value] if is_list(value) else value


def scalar_text(value: Any) -> str:
    """Return a value as it is written in YAML and on command lines."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
