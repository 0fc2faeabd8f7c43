"""Applications of all shapes, cut into PEs in several ways."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration_tests.compiler.assignments import forward
from streams_orchestration_tests.runtime.applications import compiled, published
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.shapes import SHAPES, write_files

FUSIONS: list[dict[str, Any]] = [{"fusion": "legacy"}, {"fusion": "manual", "pes": 2}, {"fusion": "automatic"}]
"""The last one is decoupled: every second operator of a PE goes to a machine of its own."""


def results(local: LocalApplication, name: str) -> dict[str, Any]:
    return {sink: published(local.published(sink)) for sink in SHAPES[name].expected}


@functools.cache
def compilation(directory: Path, name: str, fusion: int) -> PlannedCompilation:
    graph, options = SHAPES[name].graph(*write_files(directory)), FUSIONS[fusion]
    done = compiled(graph, **options)
    if options["fusion"] != "automatic":
        return done
    steps = itertools.cycle([0, 1])
    return compiled(graph, **options, decoupling=forward(done, lambda: next(steps)))
