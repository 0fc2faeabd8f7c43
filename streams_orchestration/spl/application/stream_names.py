"""The names that the graph of a composite defines: its streams, with types that are computed on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streams_orchestration.spl.types.types import Tuple
from streams_orchestration.spl.typing.scopes import Meaning, StreamName

UNKNOWN_TUPLE = Tuple(())
"""The tuple type that represents an unknown one: a tuple without attributes."""


class StreamNames(dict[str, Meaning]):
    """The meanings of names in the graph of a composite. A stream's type is computed when it is first looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.heads: dict[str, Callable[[], Tuple]] = {}

    def get(self, name: str, default: Any = None) -> Any:  # type: ignore[override]
        """Return the meaning of a name; for a stream in `heads`, compute its type first."""
        head = self.heads.pop(name, None)
        if head is not None:
            self[name] = StreamName(UNKNOWN_TUPLE)  # for a type that refers to itself
            self[name] = StreamName(head())
        return super().get(name, default)
