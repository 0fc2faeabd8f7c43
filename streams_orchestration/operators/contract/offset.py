"""The offsets of sources, as operators, batches and the catalog hold them."""

from __future__ import annotations

from typing import Any

Offset = dict[str, Any]
"""A source's position as a JSON object, which only the source interprets."""
Offsets = dict[str, Offset]
"""Name of a source -> its offset."""


def offset_without(offset: Offset, name: str) -> Offset:
    """Return an offset without one of its entries, which may be missing."""
    return {each: value for each, value in offset.items() if each != name}
