"""The jobs of one application.

The steps of a job run in one process, since a step takes milliseconds and a process for each would take a second. Steps
pass results on through the catalog and the run's tags, never through an IO manager, since users choose the IO manager.
"""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import dagster as dg

from streams_orchestration.compiler.stage import LOGICAL
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG, AssetKeys
from streams_orchestration.orchestration.definition_names import Verb, job_name
from streams_orchestration.orchestration.ops import record_status_op, stop_hosts_op
from streams_orchestration.orchestration.reset_ops import await_unit_op, claim_op, record_op

MAX_RUNTIME = 900
"""Seconds after which Dagster ends a run; nothing else would end the runs of a crashed machine."""
MAX_AVAILABLE_RUNTIME = 24 * 3600
"""Seconds after which Dagster ends a run of `available_job`, whose step has a time limit of its own."""


PRIORITY_TAG = "dagster/priority"
URGENT, IDLE = "10", "-10"
"""Priorities in Dagster's queue: resets run before all other runs, measurements after them."""
PROFILING_POOL = "streams_profiling"
"""Dagster's pool of the step that measures, by which users may limit how many measure at a time."""
PROFILING_TAGS = {"streams/work": "profiling", PRIORITY_TAG: IDLE}
"""Tags of runs that measure.

With these tags, `dagster.yaml` limits such runs to one at a time, so that they never fill the queue.
"""
KEEP = {"keep": True}
"""The config with which the compiler's first stage keeps the options of the deployed application."""


def job_tags(application: str) -> dict[str, str]:
    """Return the tags that all jobs of an application have."""
    return {APPLICATION_TAG: application, dg.MAX_RUNTIME_SECONDS_TAG: str(MAX_RUNTIME)}


# Dagster exports no name for the type that `define_asset_job` returns, so these leave it to inference.
def _asset_job(
    application: str,
    verb: Verb,
    assets: Sequence[dg.AssetKey],
    description: str,
    config: Mapping[str, float] | None = None,
    max_runtime: int = MAX_RUNTIME,
):
    """Return a job that materializes assets of an application in one process.

    Args:
        application: the application's name.
        verb: the act of the job, which its name ends with.
        assets: the keys of the assets.
        description: the text that Dagster shows.
        config: the config of the compiler's first stage; None if it takes none or its defaults.
        max_runtime: the seconds after which Dagster ends a run.
    """
    return dg.define_asset_job(
        job_name(application, verb),
        selection=list(assets),
        config=None if config is None else {"ops": {f"{application}__{LOGICAL}": {"config": config}}},
        executor_def=dg.in_process_executor,
        tags=job_tags(application) | {dg.MAX_RUNTIME_SECONDS_TAG: str(max_runtime)},
        description=description,
    )


def compile_job(application: str, stages: Sequence[dg.AssetKey]):
    """Return the job that compiles all stages in order and stops at the first failed check."""
    return _asset_job(application, "compile", stages, f"Compile {application}.")


def deploy_job(application: str, deployment: dg.AssetKey):
    """Return the job that deploys the last compiled plan. It changes nothing if that plan already runs."""
    description = f"Launch the PEs of {application} as last compiled, wait for their first heartbeat, and end."
    return _asset_job(application, "deploy", [deployment], description)


def redeploy_job(application: str, assets: Sequence[dg.AssetKey], *, keep: bool = True):
    """Return the job that compiles the current spec and lets its plan replace the deployed one, with its state kept.

    A redeploy that would lose state is refused, and one that fails is reverted.

    Args:
        application: the application's name.
        assets: the keys of the compiler's stages and of the deployment.
        keep: let the first stage keep the deployed application's options; False if that stage takes no config.
    """
    description = (
        f"Compile the current spec of {application} and let its plan replace the deployed one, with its state kept. A "
        "redeploy that would lose state is refused, and one that fails is reverted."
    )
    return _asset_job(application, "redeploy", assets, description, KEEP if keep else None)


def available_job(application: str, assets: Sequence[dg.AssetKey]):
    """Return the job that processes the data that is available now, delivers the results, and stops the application.

    Args:
        application: the application's name.
        assets: the keys of the compiler's stages and of the deployment.
    """
    description = (
        f"Let {application} process the data that is available now, complete the epoch, and stop. The next run "
        "continues after that data."
    )
    return _asset_job(application, "available", assets, description, KEEP, MAX_AVAILABLE_RUNTIME)


def decouple_job(application: str, assets: Sequence[dg.AssetKey]):
    """Return the job that compiles with the stored decoupling decision, then deploys.

    Args:
        application: the application's name.
        assets: the keys of the compiler's stages and of the deployment.
    """
    description = f"Split PEs of {application} as its decoupling decision says, with its state kept."
    return _asset_job(application, "decouple", assets, description, {"decision_gain": 1.0})


def cancel_job(application: str, key: str, keys: AssetKeys, *, stopped: bool = False) -> dg.JobDefinition:
    """Return the job that stops all hosts of an application and keeps its committed state.

    Args:
        application: the application's name.
        key: the key of the resource.
        keys: the keys of the application's assets.
        stopped: only record the status of the application, which was stopped before.
    """

    @dg.job(
        name=job_name(application, "cancel"),
        executor_def=dg.in_process_executor,
        tags=job_tags(application),
        description=f"Stop {application}. Its state is kept.",
    )
    def cancel() -> None:
        (record_status_op if stopped else stop_hosts_op)(key, keys, application)()

    return cancel


@cache
def reset_job(application: str, key: str, keys: AssetKeys) -> dg.JobDefinition:
    """Return the job that resets units to their last cut, waits until their PEs work again, and records that they do.

    Its later steps are skipped if no reset is due. The same arguments give the same object, since the sensor that
    requests the job and the application's definitions must share it.
    """

    @dg.job(
        name=job_name(application, "reset"),
        executor_def=dg.in_process_executor,
        tags=job_tags(application) | {PRIORITY_TAG: URGENT},
        description=f"Reset a consistent region, or a PE in no region, of {application} to its last cut.",
    )
    def reset() -> None:
        record_op(key, keys, application)(await_unit_op(key)(claim_op(key)()))

    return reset


@cache
def any_reset_job(key: str) -> dg.JobDefinition:
    """Return the job that resets a unit of the deployed application that a tag of the run names."""

    @dg.job(
        name="reset",
        executor_def=dg.in_process_executor,
        tags={dg.MAX_RUNTIME_SECONDS_TAG: str(MAX_RUNTIME), PRIORITY_TAG: URGENT},
        description="Reset a unit of an application that has no definitions here to its last cut. The run's tag "
        f"`{APPLICATION_TAG}` names the application.",
    )
    def reset() -> None:
        record_op(key, AssetKeys())(await_unit_op(key)(claim_op(key)()))

    return reset
