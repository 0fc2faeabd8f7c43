"""Ops that deploy and stop applications. Each one writes the wanted state or waits for it, then ends."""

# Dagster reads the annotations of configs and resources here, so they may not be turned into text.
import functools
import time

import dagster as dg
from pydantic import Field

from streams_orchestration.model.brief import plural
from streams_orchestration.orchestration.artifacts import ArtifactStore
from streams_orchestration.orchestration.asset_keys import AssetKeys
from streams_orchestration.orchestration.cut_checks import evaluate_checks
from streams_orchestration.orchestration.decisions import keep_applied
from streams_orchestration.orchestration.definition_names import job_name
from streams_orchestration.orchestration.deployments import (
    cancel_and_read_status,
    deploy_compiled,
    restore_previous,
    shown_rows,
    stop_and_log_orphans,
)
from streams_orchestration.orchestration.epochs import VERSION_TAG
from streams_orchestration.orchestration.op_parts import (
    AFTER,
    NOTHING,
    NamedOp,
    Step,
    application_of,
    application_step,
    named_op,
    op_name,
)
from streams_orchestration.orchestration.plan_events import plan_event
from streams_orchestration.orchestration.previews import put_in_place
from streams_orchestration.orchestration.progress import (
    deployment_event,
    deployment_events,
    part_events,
    unless_repeated,
)
from streams_orchestration.orchestration.resource import streams_in
from streams_orchestration.orchestration.run_events import log_events
from streams_orchestration.orchestration.summaries import image
from streams_orchestration.runtime import api

POLL_SECONDS = 0.5
STOP_TIMEOUT_SECONDS = 60.0


class DeployApplication(dg.Config):
    """The config of the op that deploys an application."""

    fresh: bool = Field(default=False, description="Drop the kept state, streams and results, and start over.")
    redeploy: bool = Field(
        default=True,
        description="Let another plan replace the deployed one and keep its state. If false, another plan is refused.",
    )
    drop_state: list[str] = Field(
        default=[],
        description=(
            "Operators whose state may be lost when another plan replaces the deployed one, or when the application "
            "begins with the state of a savepoint, as with --drop-state."
        ),
    )
    revert: bool = Field(
        default=False,
        description="Restore the previous plan, as `streams redeploy --revert` does. "
        "`drop_state` is the only other value that may be set then.",
    )
    savepoint: str = Field(
        default="",
        description="Begin with the state of this savepoint: NAME, APP/NAME or a directory. The application must not "
        "be deployed, unless `fresh` is set.",
    )


class LaunchHosts(dg.Config):
    """The config of the op that launches hosts."""

    asked_at: float | None = Field(
        default=None, description="Unix seconds of the request, from which the start-up time is measured."
    )


class AwaitHeartbeats(dg.Config):
    """The config of the op that waits for the PEs."""

    timeout: float = Field(default=180.0, gt=0, description="Seconds until every PE must have given a heartbeat.")
    taken: float = Field(
        default=3600.0, gt=0, description="Seconds in which a bounded run must process all available data, or fail."
    )


class CancelApplication(dg.Config):
    """The config of the op that stops an application."""

    timeout: float = Field(default=60.0, gt=0, description="Seconds until every host must have ended.")


def _is_bounded_run(context: dg.OpExecutionContext) -> bool:
    """Return True in the job `APP__available`; the job's name decides, since a run may leave out config values."""
    return context.job_name == job_name(application_of(context), "available")


@functools.cache
def write_wanted_state_op(key: str) -> NamedOp:
    """Return the op that writes the plan to deploy, for applications of the resource of this key."""

    @dg.op(name=op_name("write_wanted_state", key), required_resource_keys={key}, ins=AFTER, out=NOTHING)
    def write(context: dg.OpExecutionContext, config: DeployApplication) -> None:
        """Write the compiled plan, or with `revert` the previous plan, to the catalog as the wanted plan.

        The decoupling decision with which the plan was compiled is stored as the applied one. A bounded run replaces
        no other plan, and stores no decision. A plan that replaces another one is tried out here, with its hosts.
        """
        with application_step(context, key) as step:
            request = api.build_request(
                savepoint=config.savepoint,
                fresh=config.fresh,
                replace=config.redeploy,
                revert=config.revert,
                drop_state=config.drop_state,
                run=api.RunKind(available_now=_is_bounded_run(context)),
            )
            if isinstance(request, api.Revert):
                _write_previous_plan(context, request, step)
            else:
                _write_compiled_plan(context, request, step, streams_in(context, key).artifacts)

    return named_op(write, "write_wanted_state")


def _write_previous_plan(context: dg.OpExecutionContext, request: "api.Revert", step: Step) -> None:
    """Write the previous plan to the catalog as the wanted plan."""
    catalog = api.open_catalog(step.home, step.application)
    put_in_place(context, lambda: restore_previous(catalog, step.application, request))
    context.log.info("%s runs with the previous plan again", step.application)


def _write_compiled_plan(
    context: dg.OpExecutionContext, request: "api.Request", step: Step, artifacts: ArtifactStore
) -> None:
    """Write the compiled plan to the catalog as the wanted plan, and store its decision as the applied one."""
    catalog, compilation = api.Catalog(step.home), artifacts.compilation(step.application)
    deployment = put_in_place(context, lambda: deploy_compiled(catalog, compilation, request))
    if deployment.restored is not None:
        for note in deployment.restored.notes:
            context.log.info("%s", note)
    if not _is_bounded_run(context):
        keep_applied(artifacts, compilation)
        context.log.info("%s: the wanted plan has %s", step.application, plural(len(compilation.fusion.pes), "PE"))


@functools.cache
def launch_hosts_op(key: str) -> NamedOp:
    """Return the op that launches hosts, for applications of the resource of this key."""

    @dg.op(name=op_name("launch_hosts", key), required_resource_keys={key}, ins=AFTER, out=NOTHING)
    def launch(context: dg.OpExecutionContext, config: LaunchHosts) -> None:
        """Stop orphans, and start the missing hosts of the wanted plan. They are detached and outlive the run.

        If machines are registered, their agents start the hosts. The resets that failed units need are taken up, and
        units of dead hosts are marked as failed. If the application is stopped or complete, no host is started.
        """
        with application_step(context, key) as step:
            catalog = api.open_catalog(step.home, step.application)
            stop_and_log_orphans(context.log, catalog, step.application)
            hosts = api.launch_hosts(catalog, step.application, asked_at=config.asked_at)
            context.log.info("launched hosts: %s", "; ".join(hosts) or "none, since all run")

    return named_op(launch, "launch_hosts")


@functools.cache
def await_heartbeats_op(key: str, keys: AssetKeys, application: str) -> NamedOp:
    """Return the op that waits for the heartbeats of an application."""

    @dg.op(name=op_name("await_heartbeats", key, application), required_resource_keys={key}, ins=AFTER, out=NOTHING)
    def wait(context: dg.OpExecutionContext, config: AwaitHeartbeats) -> None:
        """Wait until every PE works, and record the application's status on its assets.

        In the job `APP__available`, wait instead until the application has processed all available data, and stop it.
        """
        with application_step(context, key) as step:
            catalog = api.open_catalog(step.home, application)
            if _is_bounded_run(context):
                status = _reset_until_processed_and_stop(context, catalog, application, config.taken)
            else:
                status = _await_running(context, catalog, application, config.timeout)
            record_status(context, keys, catalog, status)

    return named_op(wait, "await_heartbeats")


def _await_running(
    context: dg.OpExecutionContext, catalog: "api.Catalog", application: str, timeout: float
) -> api.ApplicationStatus:
    """Wait until every PE works, and return the status; a terminated run logs that the application continues."""
    try:
        api.await_running_pes(catalog, application, timeout)
    except dg.DagsterExecutionInterruptedError:
        cancel = job_name(application, "cancel")
        context.log.warning("the run was terminated; %s continues, job %s stops it", application, cancel)
        raise
    return api.read_status(catalog, application)


@functools.cache
def stop_hosts_op(key: str, keys: AssetKeys, application: str) -> NamedOp:
    """Return the op that stops an application."""

    @dg.op(name=op_name("stop_hosts", key, application), required_resource_keys={key}, out=NOTHING)
    def stop(context: dg.OpExecutionContext, config: CancelApplication) -> None:
        """Stop the application and its orphans, and record its status on its assets.

        Its committed state is kept; if it is deployed again, it continues from there. Hosts that have not ended in
        time are killed.
        """
        with application_step(context, key) as step:
            catalog = api.open_catalog(step.home, application)
            record_status(
                context, keys, catalog, cancel_and_read_status(context.log, catalog, application, config.timeout)
            )

    return named_op(stop, "stop_hosts")


@functools.cache
def record_status_op(key: str, keys: AssetKeys, application: str) -> NamedOp:
    """Return the op that records the status of an application which a command has stopped."""

    @dg.op(name=op_name("record_status", key, application), required_resource_keys={key}, out=NOTHING)
    def note(context: dg.OpExecutionContext) -> None:
        """Record the status of the application on its assets."""
        with application_step(context, key) as step:
            catalog = api.open_catalog(step.home, application)
            record_status(context, keys, catalog, api.read_status(catalog, application))

    return named_op(note, "record_status")


def _reset_until_processed_and_stop(
    context: dg.OpExecutionContext, catalog: "api.Catalog", application: str, timeout: float
) -> api.ApplicationStatus:
    """Reset units that fail until the application has processed all available data, then stop it; return its status."""
    resetter = api.Resetter(functools.partial(api.reset_failed_unit, catalog), api.SENSOR_GRACE_SECONDS)
    until = time.monotonic() + timeout
    while True:
        status = api.advance_and_read_status(catalog, application)
        decisions = resetter.request_resets(status, api.now())
        if status.state in api.ENDED:
            break
        if decisions.exhausted or time.monotonic() > until:
            cancel_and_read_status(context.log, catalog, application, STOP_TIMEOUT_SECONDS)
            reasons = [f"{each.unit}: {each.explanation}" for each in decisions.exhausted]
            late = f"it did not process all available input within {timeout:g} s"
            message = f"{application} was stopped: {'; '.join(reasons) or late}. The next run continues from there."
            raise dg.Failure(description=message, allow_retries=False)
        time.sleep(POLL_SECONDS)
    # the hosts are about to end
    stopped = cancel_and_read_status(context.log, catalog, application, STOP_TIMEOUT_SECONDS)
    if status.state != "COMPLETED" and status.taken_at is None:
        message = f"{application} was stopped by another command. The next run continues from there."
        raise dg.Failure(description=message, allow_retries=False)
    return stopped


def record_status(
    context: dg.OpExecutionContext,
    keys: AssetKeys,
    catalog: "api.Catalog",
    status: api.ApplicationStatus,
    timeline: str | None = None,
) -> None:
    """Record the status on the assets: as the step's output if the step computes the deployment, else as events.

    Each PE, each stream and each sink with rows gets an event, too.

    Args:
        context: the context of the op.
        keys: the keys of the application's assets.
        catalog: the catalog.
        status: the status to record.
        timeline: the SVG drawing of the timeline, after a reset.

    Raises:
        NotDeployedError: the application was dropped meanwhile.
    """
    metrics = api.read_metrics(catalog, status.application)
    drawn = {} if timeline is None else {"streams/timeline": dg.MetadataValue.md(image("timeline", timeline))}
    now = api.now()
    if context.has_assets_def:  # the step materializes the deployment, and steps behind it evaluate its checks
        plan = plan_event(keys, status, metrics)
        context.add_output_metadata(plan.metadata)
        context.set_data_version(plan.asset_key, dg.DataVersion((plan.tags or {})[VERSION_TAG]))
        log_events(context, [deployment_event(keys, status, metrics, now, drawn)])
    else:
        judged = evaluate_checks(status, now, api.read_machines(catalog))
        log_events(context, deployment_events(keys, context.instance, status, metrics, now, judged, drawn))
    sinks = [sink for sink in status.sinks if sink.rows]
    parts = part_events(keys, status, metrics, status.pes, sinks, shown_rows)
    log_events(context, (unless_repeated(context.instance, each) for each in parts))
