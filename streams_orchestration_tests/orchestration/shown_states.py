"""The states of assets and checks that Dagster's page shows; Dagster computes them with private classes only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import dagster as dg
from dagster._core.definitions.asset_health.asset_check_health import AssetCheckHealthState
from dagster._core.definitions.data_version import CachingStaleStatusResolver
from dagster._core.loader import LoadingContextForTest


def stale_states(instance: dg.DagsterInstance, defs: dg.Definitions, assets: Iterable[str]) -> set[str]:
    """Return the states of the application `demo`'s assets beside the versions of their inputs, such as FRESH."""
    graph, context = defs.resolve_asset_graph(), LoadingContextForTest(instance)
    statuses = CachingStaleStatusResolver(instance, graph, context)
    return {statuses.get_status(dg.AssetKey(["demo", name])).value for name in assets}


def not_evaluated(instance: dg.DagsterInstance, checks: Iterable[dg.AssetCheckKey]) -> set[str]:
    """Return the names of the checks without a result for the latest materialization of their asset."""
    keys = list(checks)
    records = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)

    def has_result(key: dg.AssetCheckKey) -> bool:
        context, record = LoadingContextForTest(instance), records[key]
        ended = asyncio.run(record.resolve_status(context)).value in ("SUCCEEDED", "FAILED")
        return ended and asyncio.run(record.targets_latest_materialization(context))

    return {key.name for key in keys if key not in records or not has_result(key)}


def health(instance: dg.DagsterInstance, checks: Iterable[dg.AssetCheckKey]) -> str:
    """Return the health of an asset by its checks."""
    state = AssetCheckHealthState.compute_for_asset_checks(set(checks), LoadingContextForTest(instance))
    return asyncio.run(state).health_status.value
