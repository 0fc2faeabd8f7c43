"""Limits of expansion: composites that contain themselves, and the number of expanded bodies."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.spl.language import tree
from streams_orchestration.spl.typing.spans import Report

MOST_BODIES = 10000
"""The most invocations of composites in an application; one with more is refused."""


@dataclass
class Bodies:
    """A counter of the composite bodies that were expanded."""

    count: int = 0

    def refuse(self, kind: str, chain: tuple[str, ...], name: tree.Name, report: Report) -> bool:
        """Count an expansion. Return True if the composite cannot be expanded, and report the reason (the limit once).

        Args:
            kind: the composite.
            chain: the composites around the invocation, the main composite first.
            name: the name in the invocation.
            report: takes the mistake.
        """
        if kind in chain:
            path = " -> ".join((*chain, kind))
            report("CDISP0459E", f"the composite {kind} contains itself: {path}", name)
            return True
        self.count += 1
        if self.count == MOST_BODIES + 1:
            report("SO0707", f"the application invokes composites more than {MOST_BODIES} times", name)
        return self.count > MOST_BODIES
