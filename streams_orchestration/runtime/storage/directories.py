"""Where the tasks of a PE read and write."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.runtime.storage.home import Home, data_of
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.storage.waiting import waiting_of


@dataclass(frozen=True, slots=True)
class Directories:
    """Paths and addresses of one PE, as strings since they travel to the workers."""

    base: str
    """Relative input paths start here: the directory of the spec."""
    results: str
    outputs: str
    """What waits to be delivered."""
    log: str
    store: Store
    """Of the files that commits name."""
    streams: str
    """Address of the directory for segments."""
    states: str
    """The same for states."""
    waiting: str
    """The same for files of sinks."""
    here: frozenset[str] = frozenset()
    """Streams that only this machine reads, and that a reset makes anew."""
    compression: str | None = None
    """Of the segments that are written there: `lz4` or `zstd`."""


def directories_of(
    home: Home, application: str, pe: int, base: str = "", *, compression: str = "none",
    here: frozenset[str] = frozenset(),
) -> Directories:  # fmt: skip
    """The directories of one PE, with what concerns the files in them."""
    data = data_of(application)
    return Directories(
        base=base,
        results=str(home.results(application)),
        outputs=str(home.data(application) / "outputs"),
        log=str(home.logs(application) / f"pe-{pe}.log"),
        store=home.store,
        streams=f"{data}/streams/pe-{pe}",
        states=f"{data}/states/pe-{pe}",
        waiting=waiting_of(application, pe),
        here=here if home.store.address else frozenset(),
        compression=None if compression == "none" else compression,
    )
