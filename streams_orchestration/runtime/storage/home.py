"""The state directory: one place for the catalog, streams, state, results, logs and Dagster's storage."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from streams_orchestration.runtime.errors.errors import StateDirectoryError, StateDirectoryPlaceError
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.storage.stores import STORAGE, STORAGE_OPTIONS, store_at

MINIMUM_FREE_BYTES = 64 * 1024 * 1024
SAVEPOINTS = "savepoints"
"""Address of the directory with the savepoints of all applications, `APP/NAME`; dropping an application keeps them."""


@dataclass(frozen=True, slots=True)
class Home:
    """Paths under one state directory (`STREAMS_HOME`, default `.streams` in the working directory)."""

    root: Path
    variables: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Variables of `docs/operations.md` that hold for this directory, in place of the process's environment."""
    short_lived: str | None = field(default=None, compare=False, repr=False)
    """A clause that says why hosts which this process starts would end with it; None if they outlive the process.

    If it is set, only agents start hosts, on registered machines.
    """

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment for hosts: the environment of this process, with the variables of this directory."""
        return ChainMap(dict(self.variables), os.environ)

    @classmethod
    def default(cls) -> Home:
        """Return the state directory that STREAMS_HOME names, or else `.streams` in the working directory.

        The directory is not created.

        Raises:
            StateDirectoryError: a file is in the place of the directory, or of one of its parents.
        """
        home = cls(Path(os.environ.get("STREAMS_HOME") or ".streams").absolute())
        home._check_place()
        return home

    @property
    def existing(self) -> Path:
        """The state directory or, before it is created, its closest parent that exists."""
        return next((path for path in (self.root, *self.root.parents) if path.exists()), self.root)

    def _check_place(self) -> None:
        existing = self.existing
        if existing.exists() and not existing.is_dir():
            raise StateDirectoryPlaceError(self.root, existing)

    @property
    def store(self) -> Store:
        """The store of the catalog's files: in the state directory, or in the place that STREAMS_STORAGE names.

        Raises:
            StorageSettingError: STREAMS_STORAGE or STREAMS_STORAGE_OPTIONS cannot be used.
        """
        return store_at(self.root, self.environment.get(STORAGE, ""), self.environment.get(STORAGE_OPTIONS, ""))

    @property
    def catalog(self) -> Path:
        """The catalog's SQLite file, unless STREAMS_CATALOG names another place."""
        return self.root / "catalog.db"

    @property
    def place(self) -> Path:
        """The file that names the place of the catalog if that is not in the state directory."""
        return self.root / "catalog.place"

    @property
    def artifacts(self) -> Path:
        """The directory for the documents of the compilation stages, `<application>/<stage>.json`."""
        return self.root / "artifacts"

    @property
    def dagster(self) -> Path:
        """The directory for DAGSTER_HOME, if the environment does not name one."""
        return self.root / "dagster"

    @property
    def names(self) -> Path:
        """The directory with the names under which servers are reached."""
        return self.root / "names"

    def start_lock(self, application: str) -> Path:
        """Return the path of the file that a process locks while it starts the application."""
        return self.root / "locks" / f"{application}.lock"

    def data(self, application: str) -> Path:
        """Return the directory for Spark's disposable checkpoints of an application, and for its waiting outputs.

        Without STREAMS_STORAGE, it also holds streams and states of the application.
        """
        return self.root / data_of(application)

    def logs(self, application: str) -> Path:
        """Return the directory of one application's logs: `host-<n>.log` and `pe-<n>.log`."""
        return self.root / "logs" / application

    def host_log(self, application: str, host: int) -> Path:
        """Return the log of a host."""
        return self.logs(application) / f"host-{host}.log"

    def standby_log(self, machine: str) -> Path:
        """Return the log of a machine's standbys; the JVM of a former standby still writes there."""
        return self.logs(".standby") / f"{machine}.log"

    def results(self, application: str) -> Path:
        """Return the directory against which relative paths of an application's sinks are resolved.

        It is in the storage if STREAMS_STORAGE names a directory, otherwise in the state directory.

        Raises:
            StorageSettingError: STREAMS_STORAGE or STREAMS_STORAGE_OPTIONS cannot be used.
        """
        return (self.store.path("results") or self.root / "results") / application

    def prepare(self) -> Home:
        """Create the directory for its user only, check that a file can be written there, and return this object.

        An existing directory keeps its mode.

        Raises:
            StateDirectoryError: the directory cannot be written or is not a directory, or less than
                `MINIMUM_FREE_BYTES` are free on its disk.
        """
        self._check_place()
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root) as probe:
                probe.write(b"\0" * 4096)
        except OSError as error:
            raise StateDirectoryError(self.root, error.strerror or str(error)) from error
        free = shutil.disk_usage(self.root).free
        if free < MINIMUM_FREE_BYTES:
            reason = f"only {free // 2**20} MiB are free on its disk, {MINIMUM_FREE_BYTES // 2**20} MiB are needed"
            raise StateDirectoryError(self.root, reason)
        return self


def data_of(application: str) -> str:
    """Return the store's address for an application's streams, states, and files of sinks that wait."""
    return f"data/{application}"
