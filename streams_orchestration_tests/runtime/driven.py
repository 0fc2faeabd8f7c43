"""A region that its Beacon drives, and the epochs that it has published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration_tests.runtime.applications import compiled, node, published, sink
from streams_orchestration_tests.runtime.local import LocalApplication

DRIVEN: dict[str, Any] = {"annotations": {"consistent": {"trigger": "operatorDriven"}}}


def beacon(iterations: int, count: int, **options: Any) -> PlannedCompilation:
    beacon = {
        "name": "Rows",
        "operator": "Beacon",
        "outputs": [{"stream": "Rows", "schema": "Row"}],
        "parameters": {
            "iterations": iterations, "triggerCount": count, "output": {"k": "'a'", "n": "IterationCount()"}
        },
        **DRIVEN,
    }  # fmt: skip
    graph = [beacon, node("Held", "Holding", "Rows"), node("Passed", "Passing", "Held"), sink("Out", "Passed")]
    return compiled(graph, **options)


def epochs(application: LocalApplication) -> list[list[int]]:
    """Return the values of `n` that every epoch published: a part is named by its epoch."""
    parts: dict[int, list[Path]] = {}
    for path in application.published("Out"):
        parts.setdefault(int(path.name.split("-")[1]), []).append(path)
    return [[n for _, n in published(parts[epoch])] for epoch in sorted(parts)]
