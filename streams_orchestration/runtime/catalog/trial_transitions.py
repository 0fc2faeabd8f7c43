"""The acts that change the row of an application's trial, a function for each; no other module changes these rows.

Dropping an application deletes its rows of all tables.
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select, update

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.kept_rows import PreviousPlan
from streams_orchestration.runtime.catalog.rows import TrialRow
from streams_orchestration.runtime.catalog.states import TrialState
from streams_orchestration.runtime.clocks import clock

_a, _t = tables.application, tables.trial


def replace_trial(connection: Connection, application: str, within: float, before: PreviousPlan) -> None:
    """Put the deployed plan of an application on trial, in place of an earlier trial.

    Args:
        connection: a connection in a write transaction.
        application: the name of the application.
        within: the seconds that the trial may take.
        before: the previous plan.
    """
    plan = connection.execute(select(_a.c.plan, _a.c.fingerprint).where(_a.c.name == application)).one()
    connection.execute(delete(_t).where(_t.c.application == application))
    connection.execute(
        insert(_t).values(
            application=application,
            plan=plan.plan,
            fingerprint=plan.fingerprint,
            state="OPEN",
            within=within,
            until=clock.now() + within,
            before=before.dump(),
            files=before.files,
            earlier=before.compilation,
        )
    )


def pass_trial(connection: Connection, application: str, pause: float | None) -> None:
    """Mark a trial as PASSED, with the longest pause of a unit in seconds; its previous plan is dropped."""
    _end(connection, application, "PASSED", pause=pause)


def revert_trial(connection: Connection, application: str, cause: str) -> None:
    """Mark a trial as REVERTED for a cause in words; its previous plan, which is deployed again, is dropped."""
    _end(connection, application, "REVERTED", cause=cause, earlier=None)


def _end(connection: Connection, application: str, state: TrialState, **values: object) -> None:
    mine = update(_t).where(_t.c.application == application)
    connection.execute(mine.values(state=state, ended_at=clock.now(), before=None, files=[], **values))


def note_plan_taken_back(connection: Connection, application: str, fingerprint: str) -> None:
    """Record the fingerprint of the plan that the last redeploy has taken back."""
    connection.execute(update(_t).where(_t.c.application == application).values(taken_back=fingerprint))


def begin_time_again(connection: Connection, application: str) -> None:
    """Give an open trial its whole time again; do nothing if the application has none."""
    open_trial = (_t.c.application == application, _t.c.state == "OPEN")
    connection.execute(update(_t).where(*open_trial).values(until=clock.now() + _t.c.within))


def set_trial_end(connection: Connection, trial: TrialRow, until: float) -> None:
    """Set the time at which an open trial is reverted, in unix seconds."""
    connection.execute(update(_t).where(_t.c.application == trial.application).values(until=until))
