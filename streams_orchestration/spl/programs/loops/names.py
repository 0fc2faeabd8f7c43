"""The Python variables for the variables of an SPL program, block by block."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams_orchestration.spl.types.types import Type


@dataclass(frozen=True)
class PythonVariable:
    """The Python variable that holds the value of an SPL variable."""

    name: str
    type: Type
    mutable: bool


@dataclass
class Names:
    """The variables in the open blocks; an inner variable hides an outer one with the same name."""

    scopes: list[dict[str, PythonVariable]] = field(default_factory=lambda: [{}])
    count: int = 0

    def declare(self, name: str, type_: Type, *, mutable: bool) -> PythonVariable:
        """Declare an SPL variable in the innermost block, and return its fresh Python variable."""
        self.count += 1
        slot = PythonVariable(f"v{self.count}_{name}", type_, mutable)
        self.scopes[-1][name] = slot
        return slot

    def __getitem__(self, name: str) -> PythonVariable:
        return next(scope[name] for scope in reversed(self.scopes) if name in scope)

    def enter(self) -> None:
        """Open a block, whose variables may hide outer ones."""
        self.scopes.append({})

    def leave(self) -> None:
        """Close the innermost block."""
        self.scopes.pop()
