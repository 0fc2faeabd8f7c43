"""The start of an application by a command: its hosts are launched, its PEs run, and Dagster shows the deployment.

The commands differ in how they show the progress.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from streams_orchestration.cli.interrupts import BackgroundCall
from streams_orchestration.cli.restoring import restored_lines
from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.model.collector import uncollected
from streams_orchestration.runtime import api

if TYPE_CHECKING:
    from streams_orchestration.cli.jobs import Jobs

START_SECONDS = 180.0
"""Seconds within which every PE must run."""
NICENESS = 10
"""The priority at which a thread records a deployment in Dagster, so that the hosts run first."""
RECORD_TIMEOUT_SECONDS = 300.0
"""The most seconds that a command waits at its end until Dagster shows the deployment."""


@dataclass(slots=True)
class Start:
    """The start of one application, which another thread records in Dagster.

    Dagster is loaded as soon as the engines of the hosts are up. If it were loaded before, the engines would start
    later; if it were loaded at the end, a short application would have to wait for it.
    """

    catalog: api.Catalog
    """The catalog, which the start creates if it does not exist."""
    lock: api.StartLock
    """The start lock of the application. The command holds it, and `launch` releases it early."""
    wanted: Deployable
    """The application."""
    request: api.Request
    """The request: how the application begins."""
    spec: Path | str
    """The spec that the command names. A revert, which reads no spec, may name the application instead."""
    launched: bool = False
    """True once the application is in the catalog, and its hosts are launched."""
    _recording: BackgroundCall[None] | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The name of the application."""
        return self.wanted.name

    def launch(self, say: Callable[[str], None]) -> api.Deployment:
        """Deploy the plan, start its hosts, report its savepoint, and release the start lock.

        Args:
            say: prints a line about the savepoint from which the application begins.

        Raises:
            RevertedError: the new plan failed its trial, and the previous plan was restored.
            StreamsRuntimeError, ApplicationError, OSError: the application cannot be deployed; see `deploy_plan`.
        """
        deployment = api.deploy_plan(self.catalog, self.lock, self.wanted, self.request)
        api.launch_hosts(self.catalog, self.name, asked_at=api.read_process_start())
        self.launched = True
        if deployment.restored is not None:
            for line in restored_lines(deployment.restored):
                say(line)
        self.lock.release()
        return deployment

    def await_running(self) -> None:
        """Wait until every PE runs, and begin to record the deployment when the engines are up, or cannot come up.

        Raises:
            HostLaunchError: a host or a PE did not start within `START_SECONDS`.
            StreamsRuntimeError: the application or a unit was removed meanwhile, the catalog cannot be used at the
                end, or a rule of the recovery protocol is broken.
        """
        try:
            api.await_engines(self.catalog, self.name, START_SECONDS)
        finally:
            self._recording = BackgroundCall(self.record_deployment)
        api.await_running_pes(self.catalog, self.name, START_SECONDS)

    def await_running_and_recording(self, say: Callable[[str], None]) -> None:
        """Wait until every PE runs and Dagster shows the deployment; say why Dagster does not show it.

        For the errors see `await_running`.
        """
        try:
            self.await_running()
        finally:
            if problem := self.await_recording():
                say(problem)

    def record_deployment(self) -> None:
        """Record the deployment or the revert in Dagster. The priority of this thread is lowered for good."""
        _step_back()
        jobs = jobs_of(self.catalog, self.name)
        if isinstance(self.request, api.Revert):
            jobs.record_revert()
        else:
            jobs.record_deployment(Path(self.spec), self.wanted.compilation)

    def await_recording(self) -> str | None:
        """Wait until Dagster shows the deployment; return the reason if `RECORD_TIMEOUT_SECONDS` are over before."""
        if self._recording is None:
            return None
        problem = f"Dagster does not show the deployment of {self.name}"
        if not self._recording.wait(RECORD_TIMEOUT_SECONDS):
            slow = f"recording it took more than {RECORD_TIMEOUT_SECONDS:g} s"
            return f"{problem}: {slow}; the application runs nevertheless"
        try:
            self._recording.result()
        except api.HostLaunchError:  # `await_running_pes` raises the same error
            return None
        except api.StreamsRuntimeError as error:
            return f"{problem}: {error}"
        return None


def jobs_of(catalog: api.Catalog, application: str) -> Jobs:
    """Return the jobs of an application; the first call loads Dagster."""
    with uncollected():
        from streams_orchestration.cli.jobs import Jobs

    return Jobs(catalog, application)


def _step_back() -> None:
    """Lower the priority of this thread, so that the hosts run first; only on Linux, where a thread has a priority."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
