"""The applications of a simulation, and what they publish and remember when nothing happens to them."""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from streams_orchestration import world
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.chaos.shapes import OPTIONS, SHAPES, Make, Shape
from streams_orchestration_tests.chaos.undisturbed import Outcome, outcome
from streams_orchestration_tests.runtime.local import LocalApplication

SECONDS = 6.0
"""Simulated seconds for which a source has tuples."""
SOURCE_LIMIT = 40
HURRY = 100
"""Times that the clock of sources is faster when nothing happens: their tuples depend on numbers, not on time."""


@cache
def shape_at(name: str, variant: int) -> Shape:
    """Return a shape of `chaos`, whose sources are Beacons that last for `SECONDS`."""
    return SHAPES[name](Make(random.Random(f"{name} {variant}"), SECONDS))


@cache
def compiled(name: str, variant: int) -> Compilation:
    """Return the compiled application of a shape."""
    document = shape_at(name, variant).spec(Path("hurry"))
    for node in document["graph"]:
        if node["operator"] == "Paced":
            node["operator"] = "Beacon"
            node["parameters"] = _without_hurry(node["parameters"])
    document["operators"] = {name: each for name, each in document["operators"].items() if name != "Paced"}
    return compile_application(application_from_mapping(document), OPTIONS)


def _without_hurry(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name != "hurry"}


@cache
def undisturbed(name: str, variant: int) -> Outcome:
    """Return what the application leaves when it is stepped by hand."""
    with tempfile.TemporaryDirectory() as directory, _hurried():
        home = Home(Path(directory))
        with LocalApplication(home, compiled(name, variant), source_limit=5_000) as local:
            local.run()
            return outcome(shape_at(name, variant), home, local.programs)


@contextlib.contextmanager
def _hurried() -> Iterator[None]:
    monotonic = world.monotonic
    began = monotonic()
    world.monotonic = lambda: began + HURRY * (monotonic() - began)
    try:
        yield
    finally:
        world.monotonic = monotonic
