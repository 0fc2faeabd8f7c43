"""Runs of the reset job: their tags, and a search for a run that is queued or under way."""

from __future__ import annotations

import dagster as dg

UNIT_TAG = "streams/region"
"""Run tag with the unit of a reset; with this tag, `dagster.yaml` limits the runs of a unit to one at a time."""
FAILURE_TAG = "streams/failure"
"""Run tag with the failure that the run resets; a second run for the same failure would repeat the reset."""
UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def unit_tags(application: str, unit: str) -> dict[str, str]:
    """Return the tags of a run that resets a unit."""
    return {UNIT_TAG: f"{application}/{unit}"}


def failure_tags(application: str, unit: str, generation: int, life: str) -> dict[str, str]:
    """Return the tags of a run that resets a unit because it failed."""
    return unit_tags(application, unit) | {FAILURE_TAG: f"{application}:{life}:{unit}:{generation}"}


def run_under_way(instance: dg.DagsterInstance, application: str, unit: str) -> str | None:
    """Return the id of a run that resets this unit and has not ended, or None."""
    waiting = dg.RunsFilter(tags=unit_tags(application, unit), statuses=UNDER_WAY)
    records = instance.get_run_records(waiting, limit=1)
    return records[0].dagster_run.run_id if records else None


def is_recorded(instance: dg.DagsterInstance, tags: dict[str, str]) -> bool:
    """Return True if a run with all of these tags has succeeded, or is queued or under way."""
    statuses = [dg.DagsterRunStatus.SUCCESS, *UNDER_WAY]
    return bool(instance.get_run_records(dg.RunsFilter(tags=tags, statuses=statuses), limit=1))
