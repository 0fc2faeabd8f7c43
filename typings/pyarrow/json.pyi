"""PyArrow has no types of its own: every name is accepted, and has any type."""

from typing import Any

def __getattr__(name: str) -> Any: ...
