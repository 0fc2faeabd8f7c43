"""The interface of a state part that can be stored incrementally."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from streams_orchestration.operators.loading.libraries import pa

Pieces = dict[str, "pa.Table"]
"""A state part, or its changes, as named tables."""


class Incremental(ABC):
    """A part of an operator's state that tracks its changes since it was stored.

    Stored versions have increasing numbers. The changes since any stored version are known, until the part is stored as
    a whole.
    """

    kind: ClassVar[str]
    """The name of the class in stored states."""

    def __init__(self) -> None:
        self._held: tuple[str, int] | None = None
        self.clock = 0
        """The version to which current changes belong: one more than the last stored version."""
        self._changed = -1
        """The clock at the last change; -1 if there was none."""

    def follows(self, name: str, version: int) -> bool:
        """Return True if the part was last stored or loaded under this name and with this version."""
        return self._held == (name, version)

    def stored(self, name: str, version: int) -> None:
        """Record that a version was stored. Later changes count as changes since this version."""
        self._held, self.clock = (name, version), version + 1

    def touch(self) -> None:
        """Record that the part is being changed."""
        self._changed = self.clock

    def has_changed(self, since: int) -> bool:
        """Return True if the part was changed after a version."""
        return self._changed > since

    def forget_stored(self) -> None:
        """Record that the whole part was replaced, so that the next store is whole."""
        self._held = None

    @abstractmethod
    def whole(self) -> Pieces:
        """Return the whole part. Data that only serves to distinguish changes since earlier versions may be dropped."""

    @abstractmethod
    def changes(self, since: int) -> Pieces:
        """Return the changes since a version."""

    @abstractmethod
    def rows_to_store(self, since: int) -> tuple[int, int]:
        """Return a lower bound of the number of rows changed since a version, and the number of rows in all."""

    @classmethod
    @abstractmethod
    def load(cls, pieces: Pieces) -> Incremental:
        """Return a part from the pieces that `whole` returned."""

    @abstractmethod
    def apply(self, pieces: Pieces) -> None:
        """Apply the changes that `changes` returned."""
