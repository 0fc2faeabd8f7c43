"""Events of a newly deployed plan: the materialization of the deployment, then all its checks.

Dagster shows a check as not evaluated if its asset was materialized after it. So the deployment is materialized only
for another plan, and then together with every check.
"""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import dagster as dg

from streams_orchestration.orchestration.asset_keys import AssetKeys
from streams_orchestration.orchestration.cut_checks import Judgement
from streams_orchestration.orchestration.deployment_checks import evaluation
from streams_orchestration.orchestration.epochs import LIFE_DIGITS, VERSION_TAG
from streams_orchestration.orchestration.open_checks import repeated
from streams_orchestration.orchestration.previews import KEEPS_STATE
from streams_orchestration.runtime import api


def plan_events(
    keys: AssetKeys,
    instance: dg.DagsterInstance,
    status: api.ApplicationStatus,
    metrics: api.ApplicationMetrics,
    judgements: Iterable[Judgement],
) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
    """Yield the materialization of a working plan and all its checks; nothing if they are recorded already.

    There is nothing either while the application is stopped or one of its units does not work.
    """
    if status.state == "STOPPED" or not all(unit.works for unit in status.units):
        return
    plan = plan_event(keys, status, metrics)
    records = instance.fetch_materializations(plan.asset_key, limit=1).records
    last = records[0].asset_materialization if records else None
    if last is not None and (last.tags or {}).get(VERSION_TAG) == (plan.tags or {})[VERSION_TAG]:
        return
    yield plan
    for judgement in judgements:
        yield evaluation(keys, status.application, judgement)
    yield _keeps_state(instance, plan.asset_key, records[0].timestamp if records else 0.0)


def plan_event(
    keys: AssetKeys, status: api.ApplicationStatus, metrics: api.ApplicationMetrics
) -> dg.AssetMaterialization:
    """Return the deployment's materialization, with the facts that are fixed for the plan."""
    return dg.AssetMaterialization(
        keys.of(status.application, "deployment"),
        description=f"{status.application} was deployed with this plan",
        metadata={
            "streams/fingerprint": status.fingerprint,
            "streams/deployed_at": dg.MetadataValue.timestamp(datetime.fromtimestamp(status.deployed_at, UTC)),
            "streams/hosts": len(status.hosts),
            "streams/pes": len(status.pes),
            "streams/regions": sum(unit.row.region is not None for unit in status.units),
            "streams/logs": dg.MetadataValue.path(status.log_places),
        },
        tags={VERSION_TAG: f"{status.fingerprint}@{metrics.life[:LIFE_DIGITS]}"},
    )


def _keeps_state(instance: dg.DagsterInstance, key: dg.AssetKey, since: float) -> dg.AssetCheckEvaluation:
    """Return the passed check `redeploy_keeps_state` of a new plan: the check of the run that redeployed, or a new one.

    `since` is the time when the previous plan was recorded, in unix seconds.
    """
    record = instance.get_latest_asset_check_evaluation_record(dg.AssetCheckKey(key, KEEPS_STATE))
    made = record.evaluation if record is not None and record.create_timestamp > since else None
    # a failed evaluation is of a refused redeploy, whose plan is not deployed
    if isinstance(made, dg.AssetCheckEvaluation) and made.passed:
        return repeated(made)
    words = "compiling the stored spec gives this plan"
    return dg.AssetCheckEvaluation(asset_key=key, check_name=KEEPS_STATE, passed=True, description=words)
