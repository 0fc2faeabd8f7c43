"""Functions that ops, sensors and checks share; each combines several calls of the runtime."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import FusionPlan
from streams_orchestration.orchestration.artifacts import ArtifactStore, StageMissingError
from streams_orchestration.runtime import api

if TYPE_CHECKING:
    from logging import Logger

    from streams_orchestration.compiler.checking.deployable import Deployable
    from streams_orchestration.compiler.redeployment.outcome import Redeployment


def deploy_compiled(catalog: api.Catalog, compilation: PlannedCompilation, request: api.Request) -> api.Deployment:
    """Write a compiled application to the catalog as the one to run under its name; see `deploy_plan`.

    Its missing hosts are started by a step of their own, which is retried by itself: a repeated request could start
    over twice.

    Raises:
        ApplicationError: the application cannot run here.
        BeingStartedError: another process holds the start lock of the application.
        RevertedError: the new plan failed its trial.
        StreamsRuntimeError, ValidationError, OSError: the plan cannot be written or tried out; see `deploy_plan`.
    """
    wanted = _check_deployable(compilation)
    with api.lock_start(catalog.home.prepare(), wanted.name, "deploy") as lock:
        return api.deploy_plan(catalog, lock, wanted, request)


def restore_previous(catalog: api.Catalog, application: str, request: api.Revert) -> api.Deployment:
    """Restore the plan from before the last redeploy; the outcome has no redeploy if a trial was reverted.

    Raises:
        NotDeployedError: the catalog does not know the application.
        ApplicationError: the previous plan can no longer run here.
        StreamsRuntimeError, ValueError, OSError: there is no previous plan, or it is refused or fails its trial; or the
            return to it breaks a rule of the protocol.
    """
    if api.end_trial_by_hand(catalog, application):
        return api.Deployment()
    with api.lock_start(catalog.home.prepare(), application, "redeploy") as lock:
        return api.deploy_plan(catalog, lock, api.recompile_previous_plan(catalog, application), request)


def preview_compiled(catalog: api.Catalog, compilation: PlannedCompilation) -> Redeployment:
    """Preview a redeploy. Stored states are read only if the plans alone lead to a refusal.

    Raises:
        ApplicationError: the application cannot run here.
        NotDeployedError: the application is not deployed.
        OtherVersionError: another version of the product wrote the deployed plan.
        OperatorError: a stored state cannot be read.
        CatalogError: the catalog cannot be used.
    """
    wanted = _check_deployable(compilation)
    api.require_deployed(catalog, wanted.name)
    outcome = api.preview_redeploy(catalog, wanted, stored=False)
    return outcome if outcome.verdict != "refused" else api.preview_redeploy(catalog, wanted)


def cancel_and_read_status(
    log: Logger, catalog: api.Catalog, application: str, timeout: float
) -> api.ApplicationStatus:
    """Stop an application, keep its state, and return its status. Log a warning about each host that has left orphans.

    Hosts that run after `timeout` seconds are killed.

    Raises:
        NotDeployedError: the application is not deployed.
    """
    _log_orphans(log, api.cancel_application(catalog, application, timeout))
    return api.read_status(catalog, application)


def stop_and_log_orphans(log: Logger, catalog: api.Catalog, application: str) -> None:
    """Stop the processes of the application's hosts that are no longer wanted, and log a warning about each host."""
    _log_orphans(log, api.stop_orphans(catalog, application))


def _log_orphans(log: Logger, orphans: Iterable[api.Orphan]) -> None:
    for orphan in orphans:
        log.warning(str(orphan))


def shown_rows(sink: api.SinkStatus, limit: int) -> list[dict[str, Any]]:
    """Return the first `limit` rows that a file sink has published; an empty list if they cannot be read."""
    rows = api.read_first_rows(sink, limit)
    return [] if rows is None else rows.to_dicts()


def deployed_or_compiled_options(
    catalog: api.Catalog, application: str, store: ArtifactStore, defaults: Options | None
) -> Options:
    """Return the options of the deployed application, or else of its last compilation in Dagster, or else the defaults.

    A refused or reverted redeploy does not change them. An option of a redeploy, such as a width, stays until another
    redeploy changes it.

    Raises:
        CatalogError: the catalog cannot be read.
    """
    options = api.read_deployed_options(catalog, application)
    if options is not None:
        return options
    try:
        return store.options(application)
    except StageMissingError:
        return defaults or Options()


def deployed_fusion(catalog: api.Catalog, application: str, physical: PhysicalGraph) -> FusionPlan | None:
    """Return the deployed fusion of operators into PEs; None if this graph is not deployed.

    Raises:
        CatalogError: the catalog cannot be read.
    """
    deployed = api.read_compilation_if_any(catalog, application)
    return deployed.fusion if deployed is not None and deployed.physical == physical else None


def _check_deployable(compilation: PlannedCompilation) -> Deployable:
    """Check that the compilation can run here, and return it as deployable.

    The check is imported here, since it loads all operators.
    """
    from streams_orchestration.compiler.checking.deployable import deployable

    return deployable(compilation)
