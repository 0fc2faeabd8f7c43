"""Deploying, redeploying and restoring under a start lock of their own."""

from __future__ import annotations

from typing import Any

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.runtime.catalog.start_lock import lock_start
from streams_orchestration.runtime.deployment import deployment
from streams_orchestration.runtime.redeployment import redeploying
from streams_orchestration.runtime.savepoints import restoring
from streams_orchestration.runtime.savepoints.place import SavepointPlace
from streams_orchestration.runtime.savepoints.restoring import Restored
from streams_orchestration.runtime.storage.home import Home


def deploy(home: Home, wanted: Deployable, **options: Any) -> None:
    with lock_start(home.prepare(), wanted.name, "deploy") as lock:
        deployment.deploy(home, lock, wanted, **options)


def redeploy(home: Home, wanted: Deployable, **options: Any) -> Redeployment:
    with lock_start(home.prepare(), wanted.name, "redeploy") as lock:
        return redeploying.redeploy(home, lock, wanted, **options)


def begin_redeploy(home: Home, wanted: Deployable, **options: Any) -> Redeployment:
    with lock_start(home.prepare(), wanted.name, "redeploy") as lock:
        return redeploying.begin_redeploy(home, lock, wanted, **options)


def restore(home: Home, wanted: Deployable, place: SavepointPlace, **options: Any) -> Restored:
    with lock_start(home.prepare(), wanted.name, "restore") as lock:
        return restoring.restore(home, lock, wanted, place, **options)
