"""Variables of a program: the Python variable for each of them, and those that may change."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams_orchestration.spl.types.types import Type


@dataclass(frozen=True)
class PythonVariable:
    """The Python variable for a variable of SPL."""

    name: str
    type: Type
    mutable: bool


@dataclass
class Names:
    """The variables of the blocks that are open; an inner variable hides an outer one of the same name."""

    scopes: list[dict[str, PythonVariable]] = field(default_factory=lambda: [{}])
    count: int = 0

    def declare(self, name: str, type_: Type, *, mutable: bool) -> PythonVariable:
        """Make a Python variable for a new name in the innermost block."""
        self.count += 1
        slot = PythonVariable(f"v{self.count}_{name}", type_, mutable)
        self.scopes[-1][name] = slot
        return slot

    def __getitem__(self, name: str) -> PythonVariable:
        return next(scope[name] for scope in reversed(self.scopes) if name in scope)

    def enter(self) -> None:
        """Begin a block, in which further names may hide outer ones."""
        self.scopes.append({})

    def leave(self) -> None:
        """End a block."""
        self.scopes.pop()
