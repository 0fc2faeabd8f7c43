"""Where the tasks of a PE read and write."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.runtime.storage.home import Home


@dataclass(frozen=True, slots=True)
class Directories:
    """Paths of one PE, as strings since they travel to the workers."""

    base: str
    """Relative input paths start here: the directory of the spec."""
    results: str
    outputs: str
    """What waits to be delivered."""
    streams: str
    states: str
    log: str
    compression: str | None = None
    """Of the segments that are written there: `lz4` or `zstd`."""


def directories_of(home: Home, application: str, pe: int, base: str = "", *, compression: str = "none") -> Directories:
    """The directories of one PE, with the settings that concern their files."""
    data = home.data(application)
    return Directories(
        base=base,
        results=str(home.results(application)),
        outputs=str(data / "outputs"),
        streams=str(data / "streams"),
        states=str(data / "states"),
        log=str(home.logs(application) / f"pe-{pe}.log"),
        compression=None if compression == "none" else compression,
    )
