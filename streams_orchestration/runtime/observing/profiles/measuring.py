"""Measures a running application over a stated time, as the difference of its metrics at the end and the beginning."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import psutil
from sqlalchemy import select

from streams_orchestration import world
from streams_orchestration.model.brief import plural
from streams_orchestration.model.profile import PassageCost, Profile
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.observing.compilations import read_compilation
from streams_orchestration.runtime.observing.metrics import ApplicationMetrics
from streams_orchestration.runtime.observing.metrics_reading import read_metrics
from streams_orchestration.runtime.observing.profiles.calibration import calibrate
from streams_orchestration.runtime.observing.profiles.differences import NotProfiledError, profile_of
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.settings.settings import Settings
from streams_orchestration.runtime.storage.directories import directories_of
from streams_orchestration.runtime.units.failures import find_failures

POLL_SECONDS = 0.5
FIRST_BATCH_SECONDS = 120.0
"""The most seconds to wait for the first batch."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A profile, with remarks on its measurement."""

    profile: Profile
    remarks: tuple[str, ...] = ()
    """Remarks for a reader of the profile, such as an early end or resets meanwhile."""


def measure_application(
    catalog: Catalog,
    application: str,
    seconds: float,
    pause: Callable[[float], bool],
    say: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] | None = None,
) -> Measurement:
    """Measure an application for some time, or until it ends or `pause` returns True.

    The measurement begins when the application has made batches, for which it waits at most
    `FIRST_BATCH_SECONDS` (`_begin`).

    Args:
        catalog: the catalog.
        application: name of the application.
        seconds: duration of the measurement.
        pause: waits for the given seconds, and returns True if the measurement should end early.
        say: shows a message about the progress to the user.
        clock: returns unix seconds; `world.now` by default.

    Raises:
        NotDeployedError: the application is not deployed.
        NotProfiledError: the application does not run, commits no batch in time, or measures nothing (`_begin`); or it
            was started again meanwhile, or carried no tuples.
        OtherVersionError: another version of the product wrote the deployed compilation.
        OSError, SegmentError: the store cannot be used to calibrate the transport.
    """
    clock = clock or world.now
    before = _begin(catalog, application, pause, say, clock)
    status = read_status(catalog, application)
    resets = _resets(status)
    spent = _processor_seconds(status)
    say(f"Measuring {application} for {seconds:g} s ...")
    remarks: list[str] = []
    end = before.at + seconds
    while clock() < end:
        if pause(min(POLL_SECONDS, max(0.0, end - clock()))):
            remarks.append("it was ended early")
            break
        status = read_status(catalog, application)
        if status.state != "RUNNING":
            remarks.append(f"the application was {status.state.lower()} before the time was over")
            break
    after = read_metrics(catalog, application, clock())
    hosts = None if spent is None else _spent_since(spent, status)
    if after.life != before.life:
        message = f"{application} was restarted while it was measured, so the measurement was discarded. Measure again."
        raise NotProfiledError(message)
    if again := _resets(read_status(catalog, application)) - resets:
        remarks.append(f"{plural(again, 'reset')} happened: repeated work counts twice")
    compilation = read_compilation(catalog, application)
    ended = None if status.state == "RUNNING" else max((each.at for each in after.pes), default=None)
    profile = profile_of(compilation, before, after, lambda rows: _calibrated(catalog, application, rows), ended)
    if hosts is not None:
        around = max(0.0, hosts - sum(pe.cpu_seconds for pe in profile.pes))
        profile = replace(profile, surroundings_seconds=round(around, 3))
    return Measurement(profile, tuple(remarks))


def _processor_seconds(status: ApplicationStatus) -> dict[int, float] | None:
    """Return the processor seconds of each host's processes so far; None if a host has no live process here."""
    by_host: dict[int, float] = {}
    for host in status.hosts:
        if host.row.pid is None or not host.alive:
            return None
        try:
            process = psutil.Process(host.row.pid)
            family = [process, *process.children(recursive=True)]
        except psutil.Error:
            return None
        total = 0.0
        for each in family:
            with suppress(psutil.Error):  # the process ended meanwhile, and its time counts for its parent
                times = each.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
        by_host[host.id] = total
    return by_host


def _spent_since(before: dict[int, float], status: ApplicationStatus) -> float | None:
    """Return the processor seconds of all hosts since `before`; None if a host was added, restarted or is gone."""
    now = _processor_seconds(status)
    if now is None or now.keys() != before.keys() or any(now[host] < before[host] for host in now):
        return None
    return sum(now[host] - before[host] for host in now)


def _begin(
    catalog: Catalog,
    application: str,
    pause: Callable[[float], bool],
    say: Callable[[str], None],
    clock: Callable[[], float],
) -> ApplicationMetrics:
    """Wait for the first reading of the metrics.

    It is taken when every PE has committed a batch, or when some PEs have and a quarter of
    `FIRST_BATCH_SECONDS` is over. If it has to be awaited, `say` tells that once.
    """
    began, announced = clock(), False
    while True:
        status = read_status(catalog, application)
        _refuse(status, clock())
        metrics = read_metrics(catalog, application, clock())
        if not metrics.measured:
            message = (
                f"{application} was deployed with measuring off (STREAMS_METRICS=off), so it has no metrics. "
                "Deploy it again without that setting."
            )
            raise NotProfiledError(message)
        if {each.pe for each in metrics.pes} == {each.id for each in status.pes} or (
            metrics.pes and clock() > began + FIRST_BATCH_SECONDS / 4
        ):
            return metrics
        if clock() > began + FIRST_BATCH_SECONDS:
            problem = f"{application} committed no batch in {FIRST_BATCH_SECONDS:g} s"
            message = f"{problem}. Check `streams status {application}`."
            raise NotProfiledError(message)
        if not announced:
            say(f"{application} has just begun; waiting for its first batches ...")
            announced = True
        if pause(POLL_SECONDS):
            message = f"{application}: you ended it before anything was measured."
            raise NotProfiledError(message)


def _refuse(status: ApplicationStatus, now: float) -> None:
    name = status.application
    if status.state != "RUNNING":
        message = (
            f"{name} is {status.state.lower()}, so there is nothing to measure. Run it (`streams run SPEC`), and "
            "profile it while it runs."
        )
        raise NotProfiledError(message)
    for failure in find_failures(status, now):
        message = (
            f"{name} has failed: {failure.explanation}. See `streams status {name}`, and profile it when it runs again."
        )
        raise NotProfiledError(message)


def _resets(status: ApplicationStatus) -> int:
    return sum(unit.row.reset_count for unit in status.units)


def _calibrated(catalog: Catalog, application: str, rows: int) -> tuple[PassageCost, PassageCost]:
    a = tables.application
    with catalog.read() as connection:
        settings = connection.execute(select(a.c.settings).where(a.c.name == application)).scalar_one()
    directories = directories_of(catalog.home, application, 0, compression=Settings(**settings).compression)
    return calibrate(directories.store, rows, directories.compression)
