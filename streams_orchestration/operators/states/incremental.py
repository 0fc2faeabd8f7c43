"""The interface of a state part that can be stored as changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from streams_orchestration.operators.libraries import pa

Pieces = dict[str, "pa.Table"]
"""A part of a state, or its changes, as named tables."""


class Incremental(ABC):
    """A part of an operator's state that knows its changes since it was stored.

    Stored versions have increasing numbers. Changes since any version are known, until storing the part whole drops all
    earlier ones.
    """

    kind: ClassVar[str]
    """Names the class in stored states."""

    def __init__(self) -> None:
        self._held: tuple[str, int] | None = None
        self.clock = 0
        """Version of a change made now: it is after all stored versions below it."""
        self._changed = -1
        """The clock when anything was changed last."""

    def follows(self, name: str, version: int) -> bool:
        """Return True if the part was stored or loaded as this version under this name, and only changed since."""
        return self._held == (name, version)

    def stored(self, name: str, version: int) -> None:
        """Note that a version was stored; from now on changes are those since this version."""
        self._held, self.clock = (name, version), version + 1

    def touch(self) -> None:
        """Note that something is changed now."""
        self._changed = self.clock

    def has_changed(self, since: int) -> bool:
        """Return True if anything was changed after a version."""
        return self._changed > since

    def forget_stored(self) -> None:
        """Note that the whole part was replaced: it is stored whole the next time."""
        self._held = None

    @abstractmethod
    def whole(self) -> Pieces:
        """Return the whole part; data that only distinguishes changes from earlier versions may be dropped."""

    @abstractmethod
    def changes(self, since: int) -> Pieces:
        """Return the changes since a version."""

    @classmethod
    @abstractmethod
    def load(cls, pieces: Pieces) -> Incremental:
        """Return the part from what `whole` returned."""

    @abstractmethod
    def apply(self, pieces: Pieces) -> None:
        """Apply what `changes` returned."""
