"""Marks: which kinds of faults came while which kinds of processes worked, in which phases of the application.

>>> marks = Marks()
>>> marks.add({("query", "held"), ("host", "held")}, {("kill", "query", "held")})
True
>>> marks.add({("query", "held")}, {("kill", "query", "held")})
False
>>> marks.report(("kill", "zombie"))
'marks 1 of 3; not hit: kill x host x held, zombie x query x held'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from streams_orchestration_tests.simulation.fault_kinds import KINDS
from streams_orchestration_tests.simulation.faults import OF_MACHINES, Place, may_come

SHOWN = 12
"""Marks that were not hit of which a report shows the first ones."""


@dataclass
class Marks:
    """The marks of several runs."""

    places: set[Place] = field(default_factory=set[Place])
    hits: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])

    def add(self, places: set[Place], hits: set[tuple[str, str, str]]) -> bool:
        """Add the marks of a run; return True if it has hit one that no run before has hit."""
        new = not hits <= self.hits
        self.places |= places
        self.hits |= hits
        return new

    def report(self, kinds: Iterable[str] = KINDS) -> str:
        """Return how many marks were hit of those that steps of the runs allowed, and some that were not hit."""
        machines = any(process == "agent" for process, _ in self.places)
        possible = {
            (kind, process, phase)
            for kind in kinds
            for process, phase in self.places
            if may_come(kind, "", process) and (machines or kind not in OF_MACHINES)
        }
        missing = [" x ".join(mark) for mark in sorted(possible - self.hits)]
        text = f"marks {len(possible & self.hits)} of {len(possible)}"
        if not missing:
            return text
        return f"{text}; not hit: {', '.join(missing[:SHOWN])}{', ...' if len(missing) > SHOWN else ''}"
