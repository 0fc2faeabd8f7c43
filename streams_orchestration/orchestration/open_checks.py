"""Checks that a run planned but ended without evaluating, so that Dagster shows them as not evaluated."""

from __future__ import annotations

from collections.abc import Collection

import dagster as dg

from streams_orchestration.orchestration.cut_checks import CHECKS
from streams_orchestration.orchestration.previews import KEEPS_STATE

RECENT = 20
"""Number of a check's latest executions that are searched for an evaluation."""


def left_open(instance: dg.DagsterInstance, deployments: Collection[dg.AssetKey]) -> set[dg.AssetCheckKey]:
    """Return the checks of these deployments whose last run ended, or was deleted, without evaluating them."""
    keys = [dg.AssetCheckKey(asset, name) for asset in deployments for name in (*CHECKS, KEEPS_STATE)]
    if not keys:
        return set()
    last = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    planned = {key: record.run_id for key, record in last.items() if record.status.value == "PLANNED"}
    runs = {run: instance.get_run_by_id(run) for run in set(planned.values())}
    ended = {run for run, found in runs.items() if found is None or found.is_finished}
    return {key for key, run in planned.items() if run in ended}


def repeat_evaluation(instance: dg.DagsterInstance, key: dg.AssetCheckKey) -> dg.AssetCheckEvaluation | None:
    """Return a copy of a check's last evaluation to record it again; None if its `RECENT` last executions have none."""
    history = instance.event_log_storage.get_asset_check_execution_history(key, limit=RECENT)
    evaluations = (record.evaluation for record in history)
    made = next((each for each in evaluations if isinstance(each, dg.AssetCheckEvaluation)), None)
    return None if made is None else repeated(made)


def repeated(made: dg.AssetCheckEvaluation) -> dg.AssetCheckEvaluation:
    """Return a copy of an evaluation without the materialization that it was made for."""
    return dg.AssetCheckEvaluation(
        asset_key=made.asset_key,
        check_name=made.check_name,
        passed=made.passed,
        severity=made.severity,
        description=made.description,
        metadata=made.metadata,
    )
