"""The directories in which the tasks of a PE read and write."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.runtime.log_rotation import LOG_BYTES
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
    """Directory for outputs that wait to be delivered."""
    log: str
    store: Store
    """Store of the files that commits name."""
    streams: str
    """Address of the directory for segments."""
    states: str
    """Directory in the store for states."""
    waiting: str
    """Directory in the store for files of sinks."""
    here: frozenset[str] = frozenset()
    """Streams that only processes of this machine read, and that a reset makes again."""
    compression: str | None = None
    """Compression of the segments that are written there: `lz4` or `zstd`; None for none."""
    log_size: int = LOG_BYTES
    """Bytes at which the log is rotated; 0 for never."""


def directories_of(
    home: Home, application: str, pe: int, base: str = "", *, compression: str = "none",
    here: frozenset[str] = frozenset(), log_size: int = LOG_BYTES,
) -> Directories:  # fmt: skip
    """Return the directories of one PE, with what concerns the files in them."""
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
        log_size=log_size,
    )
