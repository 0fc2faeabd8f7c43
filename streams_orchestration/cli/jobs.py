"""Records the acts of commands as runs of the jobs that do the same, like jobs that Dagster's UI starts."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
from sqlalchemy.exc import DBAPIError

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.orchestration.artifacts import SPEC
from streams_orchestration.orchestration.asset_keys import KEYS, AssetKeys
from streams_orchestration.orchestration.definition_names import job_name
from streams_orchestration.orchestration.instance import dagster_home, dagster_instance, run_job_in_process
from streams_orchestration.orchestration.jobs import cancel_job, reset_job
from streams_orchestration.orchestration.recorded_deployment import recorded_deployment, recorded_revert
from streams_orchestration.orchestration.reset_runs import failure_tags, is_recorded
from streams_orchestration.orchestration.resource import RESOURCE_KEY, resource_of
from streams_orchestration.orchestration.spec_state import MISSING, observation, version_of
from streams_orchestration.orchestration.stage_assets import ApplicationSource
from streams_orchestration.runtime import api

_ONE_JOB = threading.Lock()
"""The lock for one job at a time, since two runs that configure logging on threads of a process block each other."""
_STORAGES = ("dagster_postgres", "dagster_mysql")
"""Packages of Dagster's that raise errors of their own if their database cannot be reached."""


class Jobs:
    """The jobs of one application, in whose names acts of commands are recorded.

    Every call blocks until the act is recorded. If Dagster's storage fails, the call raises StateDirectoryError; if the
    stored keys of assets cannot be read, StageMissingError.
    """

    def __init__(self, catalog: api.Catalog, application: str) -> None:
        self._catalog = catalog
        self._home = catalog.home
        self._application = application

    @cached_property
    def _keys(self) -> AssetKeys:
        keys = AssetKeys()
        keys.use(self._application, resource_of(self._home).artifacts.get(self._application, KEYS) or {})
        return keys

    def record_deployment(self, spec: Path, compilation: PlannedCompilation) -> None:
        """Record a deployment in Dagster: store the compiled stages, wait for heartbeats, and change nothing else.

        Raises:
            SharedKeyError: the stored keys give two assets the same key.
        """
        source = ApplicationSource(self._application, spec.absolute(), compilation.options)
        resource = resource_of(self._home)
        self._run_of(
            job_name(self._application, "redeploy"),
            recorded_deployment(source, compilation, resource, self._keys),
            before=[observation(self._keys.of(self._application, SPEC), version_of(source.spec) or MISSING)],
        )

    def record_revert(self) -> None:
        """Record in Dagster that the previous plan was restored: wait for heartbeats, and change nothing else.

        Raises:
            SharedKeyError: the stored keys give two assets the same key.
        """
        definitions = recorded_revert(self._application, resource_of(self._home), self._keys)
        self._run_of(job_name(self._application, "deploy"), definitions)

    def record_cancel(self) -> None:
        """Record in Dagster that the application was stopped, with its status now, and change nothing else.

        Raises:
            NotDeployedError: the application was dropped meanwhile.
        """
        self._run(cancel_job(self._application, RESOURCE_KEY, self._keys, stopped=True), {})

    def record_reset(self, unit: str, generation: int) -> None:
        """Record in Dagster that a unit works again after its reset, unless a run has recorded it already.

        If the unit is still in the generation from which it was reset, the run resets it and waits for it.

        Args:
            unit: the unit.
            generation: the generation from which it was reset.

        Raises:
            NotDeployedError: the application was dropped meanwhile.
            StreamsRuntimeError: the unit no longer works.
        """
        life = api.read_status(self._catalog, self._application).life
        tags = failure_tags(self._application, unit, generation, life)
        with self._instance() as instance:
            if is_recorded(instance, tags):
                return
        claim = {"unit": unit, "generation": generation, "life": life}
        job = reset_job(self._application, RESOURCE_KEY, self._keys)
        self._run(job, {"ops": {"claim": {"config": claim}}}, tags)

    def _run(self, job: dg.JobDefinition, config: Mapping[str, Any], tags: Mapping[str, str] | None = None) -> None:
        defs = dg.Definitions(jobs=[job], resources={RESOURCE_KEY: resource_of(self._home)})
        self._run_of(job.name, defs, config, tags)

    def _run_of(
        self,
        job: str,
        defs: dg.Definitions,
        config: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
        before: Sequence[dg.AssetObservation] = (),
    ) -> None:
        with _ONE_JOB, self._instance() as instance:
            for event in before:
                instance.report_runless_asset_event(event)
            run_job_in_process(instance, job, defs, config, tags)

    @contextmanager
    def _instance(self) -> Generator[dg.DagsterInstance]:
        """Open the instance of Dagster; if its storage fails in the block, raise StateDirectoryError."""
        try:
            with dagster_instance(self._home, captured=False) as instance:
                yield instance
        except Exception as error:
            reason = _failure_of_storage(error)
            if reason is None:
                raise
            raise api.StateDirectoryError(dagster_home(self._home), reason) from error


def _failure_of_storage(error: Exception) -> str | None:
    """Return the reason if Dagster's storage has failed, else None. The catalog reports its own errors otherwise."""
    if isinstance(error, DBAPIError):
        return str(error.orig)
    if type(error).__module__.partition(".")[0] in _STORAGES:
        return f"{error}: {cause.orig if isinstance(cause := error.__cause__, DBAPIError) else cause or error}"
    return None
