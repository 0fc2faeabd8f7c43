"""Annotations of hand-written graphs, and the regions that they make."""

from __future__ import annotations

from typing import Any

from streams_orchestration.compiler.logical_graph import ConsistentAnnotation, LogicalGraph
from streams_orchestration.compiler.regions.regions import map_regions
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration_tests.compiler.graphs import expanded


def periodic(scope: str, composite: bool = False, **values: Any) -> ConsistentAnnotation:
    """Return a periodic region, 1 second unless said otherwise."""
    return ConsistentAnnotation("consistent", scope, composite, "periodic", {"period": 1.0, **values})


def driven(scope: str, composite: bool = False) -> ConsistentAnnotation:
    """Return an operator-driven region."""
    return ConsistentAnnotation("consistent", scope, composite, "operatorDriven")


def autonomous(scope: str, composite: bool = False) -> ConsistentAnnotation:
    """No region."""
    return ConsistentAnnotation("autonomous", scope, composite)


def codes(diagnostics: list[Diagnostic], severity: str = "error") -> list[str]:
    """Codes of one severity."""
    return sorted(each.code for each in diagnostics if each.severity == severity)


def mapped(logical: LogicalGraph) -> tuple[dict[int, list[str]], list[Diagnostic]]:
    """Members of every region by name, and the findings."""
    regions, diagnostics = map_regions(logical, expanded(logical))
    names = [each.name for each in logical.operators]
    return {each.index: [names[member] for member in each.operators] for each in regions.logical}, diagnostics
