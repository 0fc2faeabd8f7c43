"""The directories in which the tasks of a PE read and write."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.runtime.logs.log_rotation import LOG_BYTES
from streams_orchestration.runtime.storage.home import Home, data_of
from streams_orchestration.runtime.storage.pending_files import waiting_of
from streams_orchestration.runtime.storage.store import Store


@dataclass(frozen=True, slots=True)
class Directories:
    """The paths and addresses of one PE, as strings, since they are sent to the workers."""

    base: str
    """The directory of the spec, from which relative input paths start."""
    results: str
    outputs: str
    """The directory for outputs that wait to be delivered."""
    log: str
    store: Store
    """The store of the files that commits name."""
    streams: str
    """The address of the directory for segments."""
    states: str
    """The address of the directory for states."""
    waiting: str
    """The address of the directory for files of sinks."""
    here: frozenset[str] = frozenset()
    """Streams that only processes of this machine read, and whose segments a reset writes again."""
    compression: str | None = None
    """The compression of written segments: `lz4` or `zstd`; None for none."""
    application: str = ""
    """The name of the deployed application."""
    names: str = ""
    """The directory with the names under which servers are reached."""
    log_size: int = LOG_BYTES
    """The size in bytes at which the log is rotated; 0 for never."""


def directories_of(
    home: Home,
    application: str,
    pe: int,
    base: str = "",
    *,
    compression: str = "none",
    here: frozenset[str] = frozenset(),
    log_size: int = LOG_BYTES,
) -> Directories:
    """Return the directories of one PE, with the settings of the files in them.

    `base` is the directory of the spec. The streams in `here` are read by processes of this machine only; they are
    ignored if all files are in the state directory.

    Raises:
        StorageSettingError: STREAMS_STORAGE or STREAMS_STORAGE_OPTIONS cannot be used.
    """
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
        application=application,
        names=str(home.names),
        log_size=log_size,
    )
