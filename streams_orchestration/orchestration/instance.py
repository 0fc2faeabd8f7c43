"""The Dagster instance of a state directory, and runs of jobs in this process that show in its UI."""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import dagster as dg
import yaml

from streams_orchestration.model.collector import uncollected
from streams_orchestration.runtime import api

LOCATION = "streams"
"""Name of the code location, as in `workspace.yaml`. Runs are tagged with it, so that the UI lists them by job."""
REPOSITORY = "__repository__"
"""Dagster's name for the one repository of a code location that is made of definitions."""
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
NOT_AGAIN = {"dagster/max_retries": "0"}
"""Tag of runs that Dagster's daemon must not retry, because their failure is reported at once."""
RETRIES_USED_UP = "DagsterMaxRetriesExceededError"
"""Name of the class of the error that Dagster raises when retries are used up; the class is not public."""
STORAGE = "history"
"""The directory in which Dagster keeps runs and events in SQLite."""
SETTINGS, UNCAPTURED_SETTINGS = "dagster.yaml", "uncaptured.yaml"
NO_CAPTURE = {"module": "dagster.core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
"""Dagster's setting `compute_logs` that leaves the output of steps uncaptured."""
OWN_WARNING = "Parameter `owners` of initializer `SensorDefinition"
"""Start of a warning that Dagster causes itself whenever it copies a sensor."""


def dagster_home(home: api.Home) -> Path:
    """Return the directory of the Dagster instance: DAGSTER_HOME, else a directory inside the state directory."""
    return Path(os.environ.get("DAGSTER_HOME") or home.dagster).absolute()


def settings_file() -> Path:
    """Return the `dagster.yaml` for a new instance: from the working directory, or else from the package."""
    here = Path(SETTINGS)
    if here.is_file():
        return here.absolute()
    packaged = Path(__file__).with_name(SETTINGS)
    # In a checkout the file lies at the top and only the wheel carries a copy.
    return packaged if packaged.is_file() else Path(__file__).parents[2] / SETTINGS


def dagster_instance(home: api.Home, *, captured: bool = True) -> dg.DagsterInstance:
    """Return the Dagster instance of a state directory; use it as a context manager.

    An instance that DAGSTER_HOME names keeps its `dagster.yaml` and is not migrated; its directory is made if it is
    missing. The state directory's own instance gets a copy of `dagster.yaml`, and its storage is created and migrated.
    While another process opens the instance, this one waits. With `captured`, the standard output of steps that run in
    this process is captured. Dagster then starts a child process for each step, which Ctrl-C interrupts too.

    Raises:
        StateDirectoryError: the directory of the instance cannot be written, or its disk is nearly full.
    """
    directory = dagster_home(home)
    try:
        if directory == home.dagster.absolute():
            home.prepare()
        directory.mkdir(parents=True, exist_ok=True)
        # Two processes that create or migrate SQLite storage at once corrupt it (dagster#27390).
        with _lock(directory), uncollected():
            own = directory == home.dagster.absolute()
            was_there = (directory / STORAGE).exists()
            if own and not (directory / SETTINGS).exists():
                shutil.copyfile(settings_file(), directory / SETTINGS)
            settings = SETTINGS if captured else _write_uncaptured_settings(directory)
            instance = dg.DagsterInstance.from_config(str(directory), settings)
            if own:
                is_new = not was_there and (directory / STORAGE).exists()
                _migrate(instance, directory / ".migrated", is_new=is_new)
            return instance
    except OSError as error:
        raise api.StateDirectoryError(directory, error.strerror or str(error)) from error


def _write_uncaptured_settings(directory: Path) -> str:
    """Write a copy of the instance's settings that captures no output, and return the name of its file."""
    settings = directory / SETTINGS
    kept = yaml.safe_load(settings.read_bytes()) if settings.exists() else None
    (directory / UNCAPTURED_SETTINGS).write_text(yaml.safe_dump({**(kept or {}), "compute_logs": NO_CAPTURE}))
    return UNCAPTURED_SETTINGS


def _migrate(instance: dg.DagsterInstance, marker: Path, *, is_new: bool) -> None:
    """Migrate an existing storage to the schema of this Dagster, and write this version to the marker file.

    Do nothing if the marker file names this version. A new storage is only marked.
    """
    if marker.exists() and marker.read_text() == dg.__version__:
        return
    if not is_new:
        with redirect_stdout(io.StringIO()):  # Dagster reports the steps of an upgrade on standard output
            instance.upgrade()
    marker.write_text(dg.__version__)


@contextmanager
def _lock(directory: Path) -> Generator[None]:
    with (directory / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run_job_in_process(
    instance: dg.DagsterInstance,
    job_name: str,
    defs: dg.Definitions,
    run_config: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
) -> dg.DagsterRun:
    """Run a job to its end in this process, recorded like a run that the UI started.

    Nothing is printed. The log of the ops is stored with the run. The tags are added to the tags of the job.

    Raises:
        Exception: an op failed; its own exception is raised, without Dagster's wrapping.
        KeyboardInterrupt: Ctrl-C or SIGTERM came while it ran; the run is recorded as failed.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", OWN_WARNING)
        job = defs.resolve_job_def(job_name)
    filed = {".dagster/repository": f"{REPOSITORY}@{LOCATION}"}
    try:
        return job.execute_in_process(
            {**(run_config or {}), **QUIET}, instance=instance, tags={**NOT_AGAIN, **filed, **(tags or {})}
        ).dagster_run
    except dg.DagsterExecutionInterruptedError:
        raise KeyboardInterrupt from None
    except (dg.Failure, dg.RetryRequested, dg.DagsterError) as error:
        original = _original(error)
        raise original from (original.__cause__ if original is error else None)


def _original(error: BaseException) -> BaseException:
    """Return the error that an op raised, without the errors that it or Dagster wrapped around it."""
    while isinstance(error, dg.Failure | dg.RetryRequested) or type(error).__name__ == RETRIES_USED_UP:
        inner = error.__cause__ or error.__context__
        if inner is None:
            break
        error = inner
    return error
