"""Functions that change what is deployed, each under a start lock of its own."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from unittest.mock import patch

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import lock_start
from streams_orchestration.runtime.deployment import deployment, dropping
from streams_orchestration.runtime.deployment.opening import open_application
from streams_orchestration.runtime.deployment.requests import (
    REDEPLOY_TIMEOUT_SECONDS,
    ContinueFromState,
    Redeploy,
    Request,
    Revert,
    StartOver,
)
from streams_orchestration.runtime.redeployment import redeploying
from streams_orchestration.runtime.rollout import deploying, reverting
from streams_orchestration.runtime.rollout.deploying import Deployment
from streams_orchestration.runtime.savepoints import creating, restoring
from streams_orchestration.runtime.savepoints.creating import Created
from streams_orchestration.runtime.savepoints.restoring import RestoredApplication
from streams_orchestration.runtime.savepoints.savepoint_place import SavepointPlace
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import list_applications, open_catalog

CONTINUE = ContinueFromState()


def deploy(home: Home, wanted: Deployable, *, fresh: bool = False, asks_spark: bool = True) -> None:
    """Write an application as wanted; its queries may be left without the columns that only Spark knows."""
    with lock_start(home.prepare(), wanted.name, "deploy") as lock:
        if asks_spark or (not fresh and wanted.name in list_applications(Catalog(home))):
            deploying.deploy_plan(Catalog(home), lock, wanted, StartOver() if fresh else ContinueFromState())
        else:
            deployment.write_first_plan(open_application(Catalog(home), lock, wanted), fresh=fresh, asks_spark=False)


def deploy_plan(home: Home, wanted: Deployable, request: Request = CONTINUE) -> Deployment:
    with lock_start(home.prepare(), wanted.name, "deploy") as lock:
        return deploying.deploy_plan(Catalog(home), lock, wanted, request)


def forget(home: Home, wanted: Deployable) -> None:
    with lock_start(home.prepare(), wanted.name, "deploy") as lock:
        dropping.drop_application(open_application(Catalog(home), lock, wanted), wanted.plan.programs)


def create_savepoint(home: Home, application: str, name: str | None = None, **options: Any) -> Created:
    with lock_start(home.prepare(), application, "streams savepoint create") as lock:
        return creating.create_savepoint(Catalog(home), lock, name, **options)


def redeploy(home: Home, wanted: Deployable, **options: Any) -> Redeployment:
    with lock_start(home.prepare(), wanted.name, "redeploy") as lock:
        return redeploying.redeploy(open_application(Catalog(home), lock, wanted), Redeploy(**options))


def revert_redeploy(home: Home, application: str) -> Redeployment | None:
    catalog = open_catalog(home, application)
    if reverting.end_trial_by_hand(catalog, application):
        return None
    with lock_start(home.prepare(), application, "redeploy") as lock:
        previous = reverting.recompile_previous_plan(catalog, application)
        return redeploying.redeploy(open_application(catalog, lock, previous), Revert())


def begin_redeploy(
    home: Home, wanted: Deployable, *, drop_state: Collection[str] = (), within: float = REDEPLOY_TIMEOUT_SECONDS
) -> Redeployment:
    """Begin a redeploy, whose trial observing processes decide."""
    with patch.object(redeploying, "supervise_trial", lambda *_, **__: None):
        return redeploy(home, wanted, drop_state=drop_state, within=within)


def restore(home: Home, wanted: Deployable, place: SavepointPlace, **options: Any) -> RestoredApplication:
    with lock_start(home.prepare(), wanted.name, "restore") as lock:
        return restoring.restore(open_application(Catalog(home), lock, wanted), place, **options)
