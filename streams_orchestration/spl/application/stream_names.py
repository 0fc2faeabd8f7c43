"""The names of the streams of a composite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streams_orchestration.spl.types.types import Tuple
from streams_orchestration.spl.typing.scopes import Meaning, StreamName

NOTHING = Tuple(())
"""The type of a stream of which no type is known."""


class StreamNames(dict[str, Meaning]):
    """The names of a composite; types of streams are found out when they are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.heads: dict[str, Callable[[], Tuple]] = {}

    def get(self, name: str, default: Any = None) -> Any:  # type: ignore[override]
        """Return the meaning of a name."""
        head = self.heads.pop(name, None)
        if head is not None:
            self[name] = StreamName(NOTHING)  # for a type that refers to itself
            self[name] = StreamName(head())
        return super().get(name, default)
