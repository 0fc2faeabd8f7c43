"""Reads the last redeploy of an application: its changes, its outcome, and when it ended."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.documents import load
from streams_orchestration.compiler.fingerprint import difference
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import ApplicationRow, TrialRow
from streams_orchestration.runtime.catalog.states import TrialState
from streams_orchestration.runtime.catalog.trials import read_trial
from streams_orchestration.runtime.errors.errors import NotDeployedError, OtherVersionError
from streams_orchestration.runtime.programs.stored_compilation import read_stored
from streams_orchestration.runtime.units.reading import application_row


@dataclass(frozen=True, slots=True)
class LastRedeploy:
    """The last redeploy of an application. Times are unix seconds."""

    state: TrialState
    """`OPEN` while it is on trial, `PASSED`, or `REVERTED` if the trial was reverted."""
    restores: bool
    """True if the redeploy restored an earlier plan, since a user reverted its successor after the trial."""
    changes: str | None
    """The first kind of difference to the previous plan, in words; None if the catalog no longer has both plans."""
    ended_at: float | None
    """The end of the trial; None while it is open."""
    until: float
    """The time by which an open trial is decided, if the application runs."""
    cause: str | None
    """The reason for which the trial was reverted; None if it was not."""
    pause_seconds: float | None
    """The longest pause of a unit; None unless the trial has passed and a unit paused."""


def read_last_redeploy(catalog: Catalog, application: str) -> LastRedeploy | None:
    """Return the last redeploy of an application; None if it was never redeployed, or is not deployed."""
    try:
        with catalog.read() as connection:
            row, trial = application_row(connection, catalog.home, application), read_trial(connection, application)
    except NotDeployedError:
        return None
    if trial is None:
        return None
    return LastRedeploy(
        trial.state,
        trial.taken_back is not None,
        _changes(row, trial),
        trial.ended_at,
        trial.until,
        trial.cause,
        trial.pause,
    )


def _changes(row: ApplicationRow, trial: TrialRow) -> str | None:
    if trial.earlier is None:
        return None
    try:
        return difference(load(Compilation, trial.earlier), read_stored(row))
    except (ValidationError, OtherVersionError):
        return None
