"""The sensor that watches applications: it begins resets of failed units and requests the runs that complete them."""

# pyright: reportUnknownMemberType=false
# Dagster reads the annotations of configs and resources here, so they may not be turned into text.
import time
from collections.abc import Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import Enum, auto
from typing import Final

import dagster as dg

from streams_orchestration.model.secrets import masked
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG, AssetKeys
from streams_orchestration.orchestration.cut_checks import CHECKS, evaluate_checks
from streams_orchestration.orchestration.definition_names import sensor_name
from streams_orchestration.orchestration.deployment_checks import evaluation
from streams_orchestration.orchestration.deployments import shown_rows, stop_and_log_orphans
from streams_orchestration.orchestration.open_checks import left_open, repeat_evaluation
from streams_orchestration.orchestration.progress import progress_events
from streams_orchestration.orchestration.remedies import in_dagster
from streams_orchestration.orchestration.reset_ops import ResetUnit
from streams_orchestration.orchestration.reset_runs import failure_tags, run_under_way
from streams_orchestration.orchestration.resource import streams_in
from streams_orchestration.orchestration.run_events import Event
from streams_orchestration.orchestration.watching import Cursor, Memory, applications_to_check, decide_actions
from streams_orchestration.runtime import api

SENSOR: Final = "failed_units"
WATCH_SECONDS = 4.3
"""Seconds for which a tick watches. Dagster's daemon begins a tick every 5 s, unless the last one still runs."""
RECORD_SHARE = 2 / 3
"""Share of a tick's time in which it collects events. A tick with events then ends, so that Dagster can store them."""
WORKERS = 2
"""Number of sensors that Dagster evaluates at the same time, as set in `dagster.yaml`."""
RESETS_AT_ONCE = 4
"""Number of resets that are begun in parallel; each may wait for processes to end."""
CHECK_DELAY_SECONDS = 1.0
"""Seconds to wait after a materialization before checks are recorded. Dagster rounds the time of a check down to
seconds, so an earlier record would seem older than the materialization."""


def own_sensor(application: str, reset_job: dg.JobDefinition, key: str, keys: AssetKeys) -> dg.SensorDefinition:
    """Return a `failed_units_sensor` that watches one application only."""
    name = sensor_name(application, SENSOR)
    return failed_units_sensor({application: reset_job}, {application: keys}, name=name, shared=True, key=key)


def failed_units_sensor(
    reset_jobs: Mapping[str, dg.JobDefinition],
    keys: Mapping[str, AssetKeys],
    *,
    name: str = SENSOR,
    shared: bool = False,
    others: dg.JobDefinition | None = None,
    key: str,
) -> dg.SensorDefinition:
    """Return a sensor that watches applications, resets failed units, and records epochs and results.

    One sensor serves all applications of a code location: a tick takes a thread of the daemon and one of the code
    server, so ticks of many sensors would wait for each other. Ticks are skipped while the catalog cannot be used; the
    first tick after that only waits for heartbeats.

    Args:
        reset_jobs: application -> its reset job.
        keys: application -> the keys of its assets.
        name: the name of the sensor.
        shared: True if there are more such sensors, which share the daemon's threads. A tick is then the shorter the
            more applications are deployed.
        others: the job that resets the deployed applications without a reset job; None to leave them alone.
        key: the key of the resource.
    """
    jobs = {application: job.name for application, job in reset_jobs.items()}

    @dg.sensor(
        name=name,
        jobs=[*reset_jobs.values(), *([] if others is None else [others])],
        # The daemon ticks every 5 s; an interval of 5 s would beat against that and make it 10.
        minimum_interval_seconds=1,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Resets the failed units of applications, and records their epochs and results.",
        required_resource_keys={key},
    )
    def failed_units(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        cursor, catalog = Cursor.load(context.cursor), api.Catalog(streams_in(context, key).directory())
        if cursor.away:
            try:
                api.list_applications(catalog)
            except api.CatalogUnavailableError as error:
                return dg.SkipReason(str(error))
            context.update_cursor(Cursor(cursor.applications).dump())
            return dg.SkipReason("the catalog can be used again; hosts may send a heartbeat until the next tick")
        memories = {name: cursor.applications.get(name) or Memory() for name in reset_jobs}
        if others is not None:
            memories |= {name: memory for name, memory in cursor.applications.items() if name not in jobs}
        tick = _Tick(context, catalog, keys, memories, all_deployed=others is not None)
        away = ""
        try:
            tick.watch(
                WATCH_SECONDS * min(1.0, WORKERS / max(1, len(api.list_applications(catalog))))
                if shared
                else WATCH_SECONDS
            )
        except api.CatalogVersionError as error:
            return dg.SkipReason(str(error))
        except api.CatalogUnavailableError as error:
            away = str(error)
        return tick.result(jobs, None if others is None else others.name, away)

    return failed_units


class _Found(Enum):
    """The finds of a tick, by which it ends and requests runs."""

    NOTHING = auto()
    """There is nothing to record, and no reset has begun."""
    RECORDS = auto()
    """There are events to record, or runs to request; the watch ends when its time for events is over."""
    LATE_RESET = auto()
    """A reset has begun after the time for events; the next tick records it and requests the run."""


@dataclass(slots=True)
class _Tick:
    """One evaluation of the sensor, and the events and runs that result from it."""

    context: dg.SensorEvaluationContext
    catalog: api.Catalog
    keys: Mapping[str, AssetKeys]
    memories: dict[str, Memory]
    _: KW_ONLY
    all_deployed: bool
    """True to watch every application that is deployed; False to watch only the applications in `memories`."""
    deployed: set[str] = field(default_factory=set[str])
    resets: list[Future[None]] = field(default_factory=list[Future[None]])
    """The resets that this tick has submitted to its threads."""
    events: list[Event] = field(default_factory=list[Event])
    unreadable: dict[str, str] = field(default_factory=dict[str, str])
    """Application -> the error that keeps the sensor from looking after it."""
    found: _Found = _Found.NOTHING

    def keys_of(self, application: str) -> AssetKeys:
        """Return the keys of an application's assets: its own keys if it has no definitions here."""
        return self.keys.get(application) or AssetKeys()

    def watch(self, seconds: float) -> None:
        """Watch for at most this many seconds: check each urgent application, and begin the resets that are due.

        Then stop orphans of these applications, and repeat checks. With something to record, the watch ends early. Only
        errors of the catalog are raised: CatalogUnavailableError and CatalogVersionError.
        """
        checked: set[str] = set()
        record_until = time.monotonic() + RECORD_SHARE * seconds
        with ThreadPoolExecutor(RESETS_AT_ONCE) as pool:
            for summaries in api.watch_applications(self.catalog.home, seconds):
                self.deployed = set(summaries)
                if self.all_deployed:
                    self.memories |= {name: Memory() for name in summaries if name not in self.memories}
                late = time.monotonic() >= record_until
                if late and self.found is _Found.RECORDS:
                    break
                for application in applications_to_check(self.memories, summaries, api.now()):
                    summary = summaries[application]
                    if summary.suspected or not late:
                        checked.add(application)
                        self.check_and_begin_resets(application, summary.mark, pool, late=late)
        for reset in self.resets:
            reset.result()
        for application in sorted(checked):
            try:
                stop_and_log_orphans(self.context.log, self.catalog, application)
            except api.StreamsRuntimeError as error:
                self.context.log.warning(str(error))
        self.repeat_checks()

    def repeat_checks(self) -> None:
        """Record the checks of a deployment again if a run has materialized it, or has ended before it evaluated them.

        Otherwise Dagster would show them as not evaluated: a check that the sensor recorded while the run was under way
        is older than the materialization, and a check that a run only planned has no later evaluation.
        """
        known = self.deployed & self.memories.keys()
        keys = {self.keys_of(name).of(name, "deployment"): name for name in known}
        still_open = left_open(self.context.instance, keys)
        due = {keys[check.asset_key] for check in still_open if check.name in CHECKS}
        for record in self.context.instance.get_asset_records([*keys]) if keys else ():
            last, name = record.asset_entry.last_materialization, keys[record.asset_entry.asset_key]
            memory = self.memories[name]
            if last is None or last.run_id in ("", memory.checked_run):
                continue
            if time.time() < last.timestamp + CHECK_DELAY_SECONDS:
                due.discard(name)
                continue
            self.memories[name] = replace(memory, checked_run=last.run_id)
            due.add(name)
        for name in sorted(due):
            with suppress(api.NotDeployedError):  # undeployed after the summaries were read
                status = api.read_status(self.catalog, name)
                judged = evaluate_checks(status, api.now(), api.read_machines(self.catalog))
                self.events += [evaluation(self.keys_of(name), name, each) for each in judged]
        again = (repeat_evaluation(self.context.instance, check) for check in still_open if check.name not in CHECKS)
        self.events += [event for event in again if event is not None]

    def check_and_begin_resets(self, application: str, mark: str, pool: Executor, *, late: bool) -> None:
        """Check an application, submit the resets that are due, and collect its events; if late, only its failures.

        Nothing is done if the application is no longer deployed. An error of the application is remembered and logged,
        so that it does not affect other applications. Errors of the catalog are raised.
        """
        try:
            before = self.memories[application]
            status = api.advance_and_read_status(self.catalog, application)
            decisions = api.decide_resets(status, api.now(), before.known)
            self.resets += [pool.submit(self.try_reset, failure) for failure in decisions.resets]
            self.memories[application] = before.with_resets(decisions)
            if not late:
                self.collect_events(status, decisions, mark)
            elif decisions.resets:
                self.found = _Found.LATE_RESET
        except api.NotDeployedError:  # undeployed after the summary was read
            return
        except (api.CatalogUnavailableError, api.CatalogVersionError):
            raise
        except Exception as error:  # noqa: BLE001  its stored data may be damaged in any way
            reason = masked(repr(error))
            if self.unreadable.get(application) != reason:
                self.context.log.error("%s cannot be checked: %s", application, reason)
            self.unreadable[application] = reason

    def collect_events(self, status: api.ApplicationStatus, decisions: api.ResetDecisions, mark: str) -> None:
        """Collect the events of an application's changes.

        Failures that must not be reset are logged and reported when they are new.

        Args:
            status: the status of the application.
            decisions: the decisions about its failures.
            mark: the mark of the application's summary, to recognise later changes.
        """
        application = status.application
        now, before = api.now(), self.memories[application]
        seen = decide_actions(status, decisions.exhausted, now, before, api.read_machines(self.catalog))
        if seen.memory.remark != before.remark:
            for failure in decisions.exhausted:
                remedy = in_dagster(failure.remedy, application)
                self.context.log.error("%s: %s. %s", failure.unit, failure.explanation, remedy)
            if decisions.exhausted:
                api.report_lineage_failure(self.catalog, application)
        all_checked = False
        if seen.report:
            metrics, preview = api.read_metrics(self.catalog, application), shown_rows
            keys = self.keys_of(application)
            events = progress_events(keys, status, metrics, now, seen, preview, self.context.instance)
            all_checked = any(isinstance(event, dg.AssetCheckEvaluation) for event in events)
            self.events += events
        if not all_checked:
            self.events += [evaluation(self.keys_of(application), application, check) for check in seen.checks]
        self.memories[application] = replace(seen.memory, mark=mark)
        if self.events or decisions.resets:
            self.found = _Found.RECORDS

    def try_reset(self, failure: api.UnitFailure) -> None:
        """Begin the reset of a unit here, since a run takes seconds to start. If that fails, the run begins it."""
        name = f"{failure.application}: {failure.unit}"
        try:
            reset = api.reset_failed_unit(self.catalog, failure)
        except api.StreamsRuntimeError as error:
            self.context.log.warning("%s: %s; the requested run resets it", name, error)
        else:
            self.context.log.info(
                "%s: %s; its reset has begun, generation %d", name, failure.explanation, reset.generation
            )

    def result(self, jobs: Mapping[str, str], others: str | None, away: str) -> dg.SensorResult:
        """Return the result of this tick: the runs to request, the events to record, and the next cursor.

        Args:
            jobs: application -> the name of its reset job.
            others: the name of the job that resets the other applications.
            away: the reason why the catalog cannot be used; empty if it can be used.
        """
        requests: list[dg.RunRequest] = []
        remarks: list[str] = [away] if away else []
        remarks += [f"{application} cannot be checked: {error}" for application, error in self.unreadable.items()]
        for application, memory in self.memories.items():
            waiting: dict[str, api.KnownFailure] = {}
            for unit, pending in memory.pending.items():
                if self.found is _Found.LATE_RESET:
                    waiting[unit] = pending
                    remarks.append(f"{application}: the reset of {unit} has begun; the next tick requests its run")
                    continue
                run = run_under_way(self.context.instance, application, unit)
                if run is None:
                    requests.append(_request(application, jobs.get(application) or str(others), unit, pending))
                else:
                    waiting[unit] = pending
                    remarks.append(f"{application}: {unit} is being reset by run {run}")
            self.memories[application] = replace(memory, pending=waiting)
            if memory.remark and application in self.deployed:
                remarks.append(in_dagster(memory.remark, application))
        quiet = "nothing has failed" if self.deployed & self.memories.keys() else "nothing is deployed"
        kept = {name: memory for name, memory in self.memories.items() if name in self.deployed or away}
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else "; ".join(remarks) or quiet,
            asset_events=self.events,
            cursor=Cursor(kept, bool(away)).dump(),
        )


def _request(application: str, job: str, unit: str, pending: api.KnownFailure) -> dg.RunRequest:
    reset = ResetUnit(unit=unit, generation=pending.generation, life=pending.life)
    return dg.RunRequest(
        run_key=f"{application}:{unit}:{pending.key}",
        job_name=job,
        run_config=dg.RunConfig(ops={"claim": reset}),
        tags=failure_tags(application, unit, pending.generation, pending.life)
        | {APPLICATION_TAG: application, "streams/reason": pending.reason},
    )
