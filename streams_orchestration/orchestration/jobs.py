"""The jobs of one application.

All run in one process: their steps take milliseconds, a process for each would take a second. Steps share what
they know through the catalog and the run's tags, never through an IO manager, which is the user's.
"""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import dagster as dg

from streams_orchestration.compiler.stage import LOGICAL
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG, AssetKeys
from streams_orchestration.orchestration.definition_names import job_name
from streams_orchestration.orchestration.ops import await_unit, claim, record, stop_hosts

MAX_RUNTIME = 900
"""Seconds after which a run is ended; a crashed machine leaves runs that nothing else would end."""
MAX_AVAILABLE_RUNTIME = 24 * 3600
"""The same of a run that takes what is there, which has a time limit of its own."""


PRIORITY_TAG = "dagster/priority"
URGENT, IDLE = "10", "-10"
"""Priorities in Dagster's queue: of resets, before all others, and of measurements, behind all others."""
PROFILING_POOL = "streams_profiling"
"""Pool of the step that measures; a Dagster of the user's own limits it as any pool."""
PROFILING_TAGS = {"streams/work": "profiling", PRIORITY_TAG: IDLE}
"""Tags of runs that measure; `dagster.yaml` lets one of them work at a time, so that they never fill the queue."""


def job_tags(application: str) -> dict[str, str]:
    """Tags of every job of an application."""
    return {APPLICATION_TAG: application, dg.MAX_RUNTIME_SECONDS_TAG: str(MAX_RUNTIME)}


# Dagster exports no name for what `define_asset_job` returns, so these leave it to inference.
def compile_job(application: str, stages: Sequence[dg.AssetKey]):
    """Compile all stages, one after another, until a check fails."""
    return dg.define_asset_job(
        job_name(application, "compile"),
        selection=list(stages),
        executor_def=dg.in_process_executor,
        tags=job_tags(application),
        description=f"Compile {application}.",
    )


def deploy_job(application: str, deployment: dg.AssetKey):
    """Return the job that puts what is compiled in place. It changes nothing where that runs already."""
    return dg.define_asset_job(
        job_name(application, "deploy"),
        selection=[deployment],
        executor_def=dg.in_process_executor,
        tags=job_tags(application),
        description=f"Launch the PEs of {application} as last compiled, wait for their first heartbeat, and end.",
    )


def redeploy_job(application: str, assets: Sequence[dg.AssetKey], *, keep: bool = True):
    """Return the job that compiles, then deploys.

    Args:
        application: its name.
        assets: the compiler's stages, and the deployment.
        keep: the first stage takes options, and keeps those of what is deployed.
    """
    return dg.define_asset_job(
        job_name(application, "redeploy"),
        selection=list(assets),
        config={"ops": {f"{application}__{LOGICAL}": {"config": {"keep": True}}}} if keep else None,
        executor_def=dg.in_process_executor,
        tags=job_tags(application),
        description=f"Put {application} as its spec is now in the place of what is deployed, which keeps its state. "
        "What would lose state is refused, and what then fails is taken back.",
    )


def available_job(application: str, assets: Sequence[dg.AssetKey]):
    """Return the job that takes what is there now, and ends when all of it is delivered.

    Args:
        application: its name.
        assets: the compiler's stages, and the deployment.
    """
    return dg.define_asset_job(
        job_name(application, "available"),
        selection=list(assets),
        config={"ops": {f"{application}__{LOGICAL}": {"config": {"keep": True}}}},
        executor_def=dg.in_process_executor,
        tags=job_tags(application) | {dg.MAX_RUNTIME_SECONDS_TAG: str(MAX_AVAILABLE_RUNTIME)},
        description=f"Have {application} take what is there now, complete the epoch, and stop. The next run goes on "
        "behind it.",
    )


def decouple_job(application: str, assets: Sequence[dg.AssetKey]):
    """Return the job that compiles with the stored decision, then deploys.

    Args:
        application: its name.
        assets: the compiler's stages, and the deployment.
    """
    return dg.define_asset_job(
        job_name(application, "decouple"),
        selection=list(assets),
        config={"ops": {f"{application}__{LOGICAL}": {"config": {"decision_gain": 1.0}}}},
        executor_def=dg.in_process_executor,
        tags=job_tags(application),
        description=f"Split PEs of {application} as its decoupling decision says, with its state kept.",
    )


def cancel_job(application: str, key: str, keys: AssetKeys) -> dg.JobDefinition:
    """Stop all hosts; what is committed is kept.

    Args:
        application: its name.
        key: of the resource.
        keys: of the assets.
    """

    @dg.job(
        name=job_name(application, "cancel"),
        executor_def=dg.in_process_executor,
        tags=job_tags(application),
        description=f"Stop {application}. Its state is kept.",
    )
    def cancel() -> None:
        stop_hosts(key, keys, application)()

    return cancel


@cache
def reset_job(application: str, key: str, keys: AssetKeys) -> dg.JobDefinition:
    """Bring one unit back to its last cut, wait until its PEs work again, and record that; skipped when nothing is due.

    It is always the same object: the sensor that asks for it and the application's definitions must share it.

    Args:
        application: its name.
        key: of the resource.
        keys: of the assets.
    """

    @dg.job(
        name=job_name(application, "reset"),
        executor_def=dg.in_process_executor,
        tags=job_tags(application) | {PRIORITY_TAG: URGENT},
        description=f"Bring a consistent region, or an autonomous PE, of {application} back to its last cut.",
    )
    def reset() -> None:
        record(key, keys, application)(await_unit(key)(claim(key)()))

    return reset


@cache
def any_reset_job(key: str) -> dg.JobDefinition:
    """Return the job that resets a unit of any application that is deployed."""

    @dg.job(
        name="reset",
        executor_def=dg.in_process_executor,
        tags={dg.MAX_RUNTIME_SECONDS_TAG: str(MAX_RUNTIME), PRIORITY_TAG: URGENT},
        description="Bring a unit of an application that has no definitions here back to its last cut. The run's tag "
        f"`{APPLICATION_TAG}` names the application.",
    )
    def reset() -> None:
        record(key, AssetKeys())(await_unit(key)(claim(key)()))

    return reset
