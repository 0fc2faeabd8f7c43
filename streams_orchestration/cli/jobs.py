"""Runs the jobs of one application in this process, recorded in Dagster like jobs that its UI starts."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
from sqlalchemy.exc import DBAPIError

from streams_orchestration.cli.messages import note
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.orchestration.artifacts import SPEC, StageMissingError
from streams_orchestration.orchestration.asset_keys import KEYS, AssetKeys
from streams_orchestration.orchestration.definition_names import job_name
from streams_orchestration.orchestration.instance import dagster_home, dagster_instance, run_job_in_process
from streams_orchestration.orchestration.jobs import cancel_job, reset_job
from streams_orchestration.orchestration.recorded_deployment import recorded_deployment, recorded_revert
from streams_orchestration.orchestration.reset_runs import failure_tags, is_recorded, unit_tags
from streams_orchestration.orchestration.resource import RESOURCE_KEY, resource_of
from streams_orchestration.orchestration.spec_state import MISSING, observation, version_of
from streams_orchestration.orchestration.stage_assets import ApplicationSource
from streams_orchestration.runtime import api

CANCEL_SECONDS = 60.0
RESET_SECONDS = 180.0
"""Seconds until the PEs of a unit must work after a reset that Dagster does not record, as in its own job."""
_ONE_JOB = threading.Lock()
"""The lock for one job at a time, since two runs that configure logging on threads of a process block each other."""


UNRECORDED = (api.StateDirectoryError, StageMissingError)
"""Errors that mean that Dagster cannot record a job: its storage fails, or the stored keys of assets cannot be read."""
_STORAGES = ("dagster_postgres", "dagster_mysql")
"""Packages of Dagster's that raise errors of their own if their database cannot be reached."""


class Jobs:
    """The jobs of one application; every call of a job blocks until it is done, and raises its error.

    If Dagster cannot record a job, its call raises one of `UNRECORDED`. A cancellation and a reset happen all the same,
    and a note says that they are not recorded.
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

    def cancel(self, timeout: float = CANCEL_SECONDS) -> None:
        """Stop the application, and kill hosts that have not ended after `timeout` seconds; the state is kept."""
        try:
            self._run(cancel_job(self._application, RESOURCE_KEY, self._keys), {"stop_hosts": {"timeout": timeout}})
        except UNRECORDED as error:
            note(f"Dagster cannot record that {self._application} is stopped: {error}")
            api.cancel_application(self._catalog, self._application, timeout)

    def reset(self, unit: str, *, generation: int | None = None, force: bool = False) -> None:
        """Reset a unit to its last complete epoch, and wait until its PEs work again.

        If the unit is in a later generation than the given one, it is not reset again.

        Raises:
            NotDeployedError: the application is not deployed.
            StreamsRuntimeError: the unit cannot be reset, or does not work in time.
        """
        config = {"unit": unit, "force": force, **({} if generation is None else {"generation": generation})}
        units = api.read_status(self._catalog, self._application).units
        now = next((each.generation for each in units if each.name == unit), None)
        failed = now if generation is None else generation
        try:
            self._run(
                reset_job(self._application, RESOURCE_KEY, self._keys),
                {"claim": config},
                unit_tags(self._application, unit),
            )
        except UNRECORDED as error:  # perhaps after the reset has begun, which is not repeated in a later generation
            note(f"Dagster cannot record that {unit} is reset: {error}")
            api.reset_unit(self._catalog, self._application, unit, generation=failed, force=force)
            api.await_reset(self._catalog, self._application, unit, failed, RESET_SECONDS, note)

    def record_reset(self, failure: api.UnitFailure) -> None:
        """Record in Dagster that the failed unit works again, unless a run has recorded it already."""
        life = api.read_status(self._catalog, self._application).life
        tags = failure_tags(self._application, failure.unit, failure.generation, life)
        with dagster_instance(self._home, captured=False) as instance:
            if is_recorded(instance, tags):
                return
        claim = {"unit": failure.unit, "generation": failure.generation, "life": life}
        self._run(reset_job(self._application, RESOURCE_KEY, self._keys), {"claim": claim}, tags)

    def _run(
        self,
        job: dg.JobDefinition,
        config: Mapping[str, Mapping[str, Any]],
        tags: Mapping[str, str] | None = None,
    ) -> None:
        defs = dg.Definitions(jobs=[job], resources={RESOURCE_KEY: resource_of(self._home)})
        ops = {op: {"config": dict(settings)} for op, settings in config.items()}
        self._run_of(job.name, defs, {"ops": ops}, tags)

    def _run_of(
        self,
        job: str,
        defs: dg.Definitions,
        config: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
        before: Sequence[dg.AssetObservation] = (),
    ) -> None:
        try:
            with _ONE_JOB, dagster_instance(self._home, captured=False) as instance:
                for event in before:
                    instance.report_runless_asset_event(event)
                run_job_in_process(instance, job, defs, config, tags)
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
