"""Runs of the reset job: the tags that they carry, and which of them is queued or under way."""

from __future__ import annotations

import dagster as dg

UNIT_TAG = "streams/region"
"""Run tag of every reset; `dagster.yaml` lets one run of a unit work at a time."""
FAILURE_TAG = "streams/failure"
"""Run tag of the reset of a failure: where there is a run for it, another one would do the same again."""
UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def unit_tags(application: str, unit: str) -> dict[str, str]:
    """Tags of a run that resets a unit."""
    return {UNIT_TAG: f"{application}/{unit}"}


def failure_tags(application: str, unit: str, generation: int, deployment: int) -> dict[str, str]:
    """Tags of a run that resets a unit because it failed.

    Args:
        application: its name.
        unit: of it.
        generation: in which it failed.
        deployment: unix seconds when the application was deployed.
    """
    return unit_tags(application, unit) | {FAILURE_TAG: f"{application}:{deployment}:{unit}:{generation}"}


def run_under_way(instance: dg.DagsterInstance, application: str, unit: str) -> str | None:
    """Return the id of a run that resets this unit and has not ended, or None."""
    waiting = dg.RunsFilter(tags=unit_tags(application, unit), statuses=UNDER_WAY)
    records = instance.get_run_records(waiting, limit=1)
    return records[0].dagster_run.run_id if records else None


def is_recorded(instance: dg.DagsterInstance, tags: dict[str, str]) -> bool:
    """Return True if a run with the tags of this failure exists, whatever its outcome."""
    return bool(instance.get_run_records(dg.RunsFilter(tags=tags), limit=1))
