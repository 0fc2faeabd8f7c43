"""Steps that ops, sensors and checks share, each of several calls of the runtime."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.redeployment.kept_options import options_of
from streams_orchestration.compiler.stage_results import FusionPlan
from streams_orchestration.runtime import api

if TYPE_CHECKING:
    from streams_orchestration.compiler.checking.deployable import Deployable
    from streams_orchestration.compiler.redeployment.outcome import Redeployment


def deploy_compiled(
    home: api.Home,
    compilation: Compilation,
    *,
    fresh: bool = False,
    savepoint: str = "",
    replaces: bool = False,
    drop: Collection[str] = (),
    available_now: bool = False,
) -> api.BroughtUp:
    """Make an application the wanted one of its name. See `runtime.bringing_up.bring_up`.

    Args:
        home: the state directory.
        compilation: the application.
        fresh: drop everything that is kept of it.
        savepoint: begin where this savepoint was taken; empty for none.
        replaces: replace another plan that is deployed, with its state kept.
        drop: operators whose state may be lost.
        available_now: take what is there now, then stop.
    """
    home = home.prepare()
    place = api.savepoint_of(home, savepoint, compilation.logical.application) if savepoint else None
    run = api.Run(bounded=available_now)
    request = api.Request(fresh=fresh, savepoint=place, replaces=replaces, drop=drop, run=run)
    return api.bring_up(home, _deployable(compilation), request)


def preview_compiled(home: api.Home, compilation: Compilation) -> Redeployment:
    """Preview a redeploy. Files of states are read only where the plans alone would have it refused.

    Raises:
        ApplicationError: it cannot run here.
        NotDeployedError, OperatorError: see `runtime.redeployment.deployed`.
    """
    wanted = _deployable(compilation)
    outcome = api.preview_redeploy(home, wanted, stored=False)
    return outcome if outcome.verdict != "refused" else api.preview_redeploy(home, wanted)


def status_when_running(
    home: api.Home, application: str, timeout: float, unit: str | None = None, failed: int | None = None
) -> api.ApplicationStatus:
    """Wait at most `timeout` seconds until every PE runs. See `runtime.deployment.control.await_running`."""
    api.await_running(home, application, timeout, unit, failed)
    return api.read_status(home, application)


def status_when_stopped(home: api.Home, application: str, timeout: float) -> api.ApplicationStatus:
    """Stop an application, its state kept; waits at most `timeout` seconds for its hosts to end."""
    api.cancel(home, application, timeout)
    return api.read_status(home, application)


def shown_rows(sink: api.SinkStatus, limit: int) -> list[dict[str, Any]]:
    """Return the first rows that a file sink has published; none when they cannot be read."""
    rows = api.first_rows(sink, limit)
    return [] if rows is None else rows.to_dicts()


def deployed_options(home: api.Home, application: str) -> Options | None:
    """Return the options of the deployed application; None when there is none, or another version deployed it."""
    deployed = _deployed(home, application)
    return None if deployed is None else options_of(deployed)


def deployed_fusion(home: api.Home, application: str, physical: PhysicalGraph) -> FusionPlan | None:
    """Return the PEs that run this expanded graph; None when it is not deployed, or another one is."""
    deployed = _deployed(home, application)
    return deployed.fusion if deployed is not None and deployed.physical == physical else None


def _deployed(home: api.Home, application: str) -> Compilation | None:
    try:
        return api.deployed_compilation(home, application)
    except (api.NotDeployedError, api.OtherVersionError):
        return None


def _deployable(compilation: Compilation) -> Deployable:
    """Return the compilation as it can be deployed; imports the check on use, for it brings all operators."""
    from streams_orchestration.compiler.checking.deployable import deployable

    return deployable(compilation)
