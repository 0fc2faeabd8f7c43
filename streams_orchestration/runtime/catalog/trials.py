"""Reads the row of the trial of an application's last redeploy."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import TrialRow

_t = tables.trial
_TRIAL = select(_t).where(_t.c.application == bindparam("of"))
_WANTED = select(tables.application.c.wanted).where(tables.application.c.name == bindparam("of"))
_STATE = select(_t.c.state).where(_t.c.application == bindparam("of"))


def read_trial(connection: Connection, application: str) -> TrialRow | None:
    """Return the trial of the last redeploy; None if there was none."""
    return TrialRow.one_or_none(connection, _TRIAL, {"of": application})


def is_on_trial(connection: Connection, application: str) -> bool:
    """Return True if the last redeploy of an application is not decided yet."""
    return connection.scalar(_STATE, {"of": application}) == "OPEN"


def is_trial_under_way(connection: Connection, application: str) -> bool:
    """Return True if the last redeploy is not decided yet, and the application is wanted to run, so that it can be."""
    return is_on_trial(connection, application) and connection.scalar(_WANTED, {"of": application}) == "RUNNING"
