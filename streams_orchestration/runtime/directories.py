"""Where the tasks of a PE read and write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.runtime.home import Home


@dataclass(frozen=True, slots=True)
class Directories:
    """Paths of one PE, as strings since they travel to the workers."""

    base: str
    """Relative input paths start here: the directory of the spec."""
    results: str
    streams: str
    states: str
    log: str


def directories_of(home: Home, application: str, pe: int, base: str = "") -> Directories:
    """The directories of one PE."""
    data = home.data(application)
    return Directories(
        base=base,
        results=str(home.results(application)),
        streams=str(data / "streams"),
        states=str(data / "states"),
        log=str(home.logs(application) / f"pe-{pe}.log"),
    )


def base_directory(compilation: Compilation) -> Path:
    """The directory of the spec; the working directory for an application that was built in Python."""
    locations = (operator.location for operator in compilation.logical.operators)
    file = next((location.file for location in locations if location is not None), None)
    return Path(file).absolute().parent if file else Path.cwd()
