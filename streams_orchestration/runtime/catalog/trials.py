"""Reads the row of the trial of an application's last redeploy."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import TrialRow

_t = tables.trial
_TRIAL = select(_t).where(_t.c.application == bindparam("of"))
_STATE = select(_t.c.state).where(_t.c.application == bindparam("of"))


def read_trial(connection: Connection, application: str) -> TrialRow | None:
    """Return the trial of the last redeploy; None if there was none."""
    return TrialRow.one_or_none(connection, _TRIAL, {"of": application})


def is_on_trial(connection: Connection, application: str) -> bool:
    """Return True if the last redeploy of an application is not decided yet."""
    return connection.scalar(_STATE, {"of": application}) == "OPEN"
