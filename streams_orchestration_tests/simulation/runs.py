"""One run of a simulation: deploy, disturb, heal, judge."""

from __future__ import annotations

import contextlib
import errno
import gc
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from unittest.mock import patch

from sqlalchemy import select

from streams_orchestration import world
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.control import launch_hosts
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors import invariants
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.observing.status_summaries import advance_and_read_status, read_summaries
from streams_orchestration.runtime.programs.deployed_pes import deployed_pes
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import HERE
from streams_orchestration.runtime.units.failures import LAUNCHES, find_failures
from streams_orchestration_tests.chaos.undisturbed import Outcome, differences, outcome
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.simulation import loops, mailbox, processes, servers, sweeps, switches, worlds
from streams_orchestration_tests.simulation.brokers import Broker, topics_of
from streams_orchestration_tests.simulation.cases import compiled, limited, plans, shape_at, undisturbed
from streams_orchestration_tests.simulation.catalogs import Tables
from streams_orchestration_tests.simulation.checks import Checks
from streams_orchestration_tests.simulation.choices import Choices
from streams_orchestration_tests.simulation.disks import Disk
from streams_orchestration_tests.simulation.endings import SETTLED_SECONDS, left, where
from streams_orchestration_tests.simulation.engines import Cluster, switch
from streams_orchestration_tests.simulation.event_times import EventTimes
from streams_orchestration_tests.simulation.fault_kinds import KINDS
from streams_orchestration_tests.simulation.faults import (
    DISRUPTIVE,
    OF_MACHINES,
    OF_RECEIVERS,
    OF_SERVERS,
    OF_STORES,
    OF_TARGETS,
    Faults,
    Place,
)
from streams_orchestration_tests.simulation.histories import Histories
from streams_orchestration_tests.simulation.machines import Machines, Pipes
from streams_orchestration_tests.simulation.object_stores import ObjectStore
from streams_orchestration_tests.simulation.redeploys import Redeploys
from streams_orchestration_tests.simulation.refusals import REFUSED_SECONDS, Damage
from streams_orchestration_tests.simulation.savepoints import judged
from streams_orchestration_tests.simulation.scheduler import Scheduler, SimulatedProcess
from streams_orchestration_tests.simulation.target_readers import TargetReaders, tables_of
from streams_orchestration_tests.simulation.targets import Target, path_of
from streams_orchestration_tests.simulation.topic_readers import TopicReaders

COURSE_SECONDS = 3600.0
"""Most simulated seconds in which the faults come."""
LAST_FAULTS_SECONDS = 20.0
"""Simulated seconds after the last fault in which all faults end that have not ended by themselves."""
COMPLETION_SECONDS = 900.0
"""Most simulated seconds from the end of all faults to the end of the application."""
HEALER_SECONDS = 1.0
RECENT_SECONDS = 60.0
"""Seconds after a fault in which a unit that is given up is reset by hand: its resets may have met faults only."""
BY_HAND_SECONDS = 5.0
"""Seconds from one reset of a unit by hand to the next."""
DAMAGED = ("altered", "damaged")
"""Words for a file that is not what it was."""
STOPPED = "it was stopped"
READ_SECONDS = 60.0
"""Seconds after which all processes have read the clock of a server that was set."""
MEMORY = Path("/dev/shm")
"""A file system in memory; without it, files are on disk."""


@dataclass(frozen=True)
class Case:
    """A case to simulate; equal cases have equal courses."""

    seed: int
    faults: int = 30
    shape: str = "diamond"
    variant: int = 0
    rate: float = 0.02
    kinds: tuple[str, ...] = tuple(KINDS)
    machines: int = 0
    """Machines that take hosts; without any, hosts run where the application is deployed."""
    storage: str = "local"
    """`s3` if the files that the catalog names are in an object store."""
    catalog: str = "sqlite"
    """`postgresql` if transactions of several units are open at one time."""
    steps: int | None = None
    """Steps after which the run is stopped, and not judged; None for no limit."""


@dataclass
class Verdict:
    """The judgement on one run."""

    case: Case
    wrong: list[str] = field(default_factory=list[str])
    faults: list[str] = field(default_factory=list[str])
    amid: int = 0
    """Batches that were committed before the last fault."""
    useful: int = 0
    """Faults before which a batch was committed."""
    working: int = 0
    """Useful faults that came while the application worked, and did not recover."""
    crashes: list[str] = field(default_factory=list[str])
    """Errors that ended a thread, in words."""
    redeploys: list[str] = field(default_factory=list[str])
    """Ends of redeploys that were not killed, in words."""
    steps: int = 0
    simulated: float = 0.0
    """Seconds."""
    taken: float = 0.0
    """Seconds of processor time."""
    refused: str = ""
    """Words with which the application was stopped, or given up for a damaged file; empty if it came to its end."""
    commits: int = 0
    repeated: int = 0
    """Transactions that went on behind another one that was open at the same time."""
    watermarks: int = 0
    """Watermarks and panes that were judged."""
    resets: int = 0
    mark: int = 0
    """Checksum of the trace."""
    places: set[Place] = field(default_factory=set[Place])
    """Kinds of processes that have made a step, each with a phase of the application."""
    hits: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    """Kinds of faults that came, each with its place."""
    trace: tuple[str, ...] = ()
    choices: Choices = field(default_factory=lambda: Choices(0))


def prefix_of(pid: int) -> str:
    """Return how the names of the directories begin in which a process simulates."""
    return f"sim-{pid}-"


def run(case: Case, choices: Choices | None = None, tell: bool = False) -> Verdict:
    """Simulate a case.

    Args:
        case: the case.
        choices: made before; None to draw them from the seed.
        tell: print the trace.
    """
    wanted = undisturbed(case.shape, case.variant)
    compilation = compiled(case.shape, case.variant)
    redeployed = plans(case.shape, case.variant)
    choices = choices or Choices(case.seed)
    began = time.process_time()
    verdict = Verdict(case, choices=choices)
    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix=prefix_of(os.getpid()), dir=place) as name, contextlib.ExitStack() as outer:
        stack = outer.enter_context(contextlib.ExitStack())
        directory = Path(name)
        home = Home(directory / "home").prepare()
        (directory / "aside").mkdir()
        scheduler = Scheduler(choices, switch, _is_expected)
        disk = Disk(scheduler, home.root, directory / "aside")
        scheduler.tell = print if tell else None
        scheduler.place = name
        store = ObjectStore(scheduler) if case.storage == "s3" else None
        if store is not None:
            outer.enter_context(store.installed())
        stack.enter_context(_quiet())
        stack.enter_context(worlds.installed(scheduler))
        stack.enter_context(processes.installed(scheduler))
        shared = stack.enter_context(servers.installed(scheduler, home, case.catalog, is_server=case.machines > 0))
        cluster = Cluster(scheduler)
        machines = Machines.of(scheduler, home, case.machines)
        stack.enter_context(cluster.installed())
        stack.enter_context(Pipes(scheduler, cluster.engine).installed())
        stack.enter_context(disk.installed())
        for each in (*(kind.installed(scheduler) for kind in (sweeps, switches, loops)), limited(case.seed)):
            stack.enter_context(each)
        is_received = case.shape == "received"
        if is_received:
            stack.enter_context(mailbox.installed())
        shape = shape_at(case.shape, case.variant)
        topics = topics_of(shape)
        target = Broker(scheduler, home.root) if topics else Target(scheduler, path_of(home))
        stack.enter_context(target.installed())
        shared.is_full = lambda: scheduler.now < disk.full_until
        clock.forget_reading()
        deployed = deployable(compilation)
        deployer = scheduler.spawn("deployer", lambda: deploy(home, deployed), parent=None)
        scheduler.run(lambda: not deployer.alive, COMPLETION_SECONDS)
        machines.start()
        scheduler.run(lambda: len(machines.registered()) == case.machines, COMPLETION_SECONDS)
        disk.settle()
        checks = Checks(
            home, disk, store, compilation.logical.application, wanted.results, shape.ordered, "redeploy" in case.kinds
        )
        stack.callback(checks.close)
        histories = Histories(checks.rows, lambda name: name.startswith(HERE) or checks.exists(name), shared)
        checks.histories = histories
        times = EventTimes(checks.rows, checks.content)
        if case.shape == "event_time":
            checks.event_times = times
        scheduler.on_host, scheduler.on_kill = histories.started, histories.killed

        def broken(rule: str, otherwise: str) -> NoReturn:
            checks.wrong.append(f"rule {rule} does not hold: {otherwise}")
            raise invariants.InvariantError(otherwise)

        stack.enter_context(patch.object(invariants, "broken", broken))
        redeploys = Redeploys(scheduler, home, disk, redeployed, checks.wrong)
        tables = tables_of(shape)
        judge = (wanted.results, shape.ordered, "redeploy" in case.kinds, checks.delivered)
        if isinstance(target, Broker):
            readers = TopicReaders(target, topics, *judge)
        else:
            readers = TargetReaders(target.path, tables, *judge)
        is_many = case.catalog == "postgresql"
        needed = (
            (case.machines, OF_MACHINES),
            (store is not None, OF_STORES),
            (tables or topics, OF_TARGETS),
            (is_many, OF_SERVERS),
            (is_received, OF_RECEIVERS),
            (not is_received, ("break",)),  # the lock of a journal would stay with a stopped machine
        )
        impossible = [kind for there, kinds in needed if not there for kind in kinds]
        kinds = tuple(kind for kind in case.kinds if kind not in impossible)
        faults = Faults(
            *(scheduler, shared, case.faults, case.rate, kinds, KINDS, checks, redeploys, disk, machines, target),
            lambda: histories.phase,
            lambda: None,
        )

        def committed(written: Tables) -> None:
            checks(written)
            if "sink" in written:
                checks.wrong.extend(readers.look_at_catalog())
            checks.wrong.extend(shared.found())
            faults.release()

        def delivered() -> None:
            checks.wrong.extend(readers())
            faults.release()

        def ended(process: SimulatedProcess) -> None:
            disk.end(process)
            shared.end(process)
            target.end(process)

        shared.on_commit, target.on_commit = committed, delivered
        scheduler.on_step = faults
        scheduler.on_end = ended
        histories.is_exact = lambda: scheduler.now > faults.server_set_at + READ_SECONDS
        _course(case, scheduler, home, faults, checks, verdict)
        verdict.faults, verdict.redeploys, verdict.amid = faults.happened, redeploys.ends, faults.amid
        verdict.useful, verdict.working = faults.useful, faults.working
        verdict.places, verdict.hits = faults.places, faults.hits
        verdict.crashes = [f"{name}: {type(error).__name__}: {error}" for name, error in scheduler.crashes]
        verdict.wrong += [f"unexpected: {type(error).__name__}: {error}" for error in scheduler.unexpected]
        _judge(case, home, wanted, faults, verdict)
        verdict.steps, verdict.simulated, verdict.commits = scheduler.steps, scheduler.now, shared.commits
        verdict.repeated, verdict.watermarks = shared.repeated, times.judged
        verdict.mark, verdict.trace = scheduler.mark, tuple(scheduler.trace)
        stack.close()  # saved applications begin again in this process's own surroundings
        if not verdict.wrong and verdict.refused != STOPPED:
            verdict.wrong += judged(home, shape, redeployed[0], wanted, store, may_be_damaged=bool(disk.flipped))
    verdict.taken = time.process_time() - began
    return verdict


def _is_expected(error: Exception) -> bool:
    return isinstance(error, StreamsRuntimeError) or (
        isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO)
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Collect no cycles, which would end greenlets that were put aside, and log nothing."""
    gc.disable()
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
        gc.enable()


def _course(case: Case, scheduler: Scheduler, home: Home, faults: Faults, checks: Checks, verdict: Verdict) -> None:
    name = compiled(case.shape, case.variant).logical.application
    over: list[str] = []
    damage = Damage()

    def heal() -> None:
        catalog = Catalog(home)
        launched, by_hand = False, dict[str, float]()
        while True:
            try:
                if not launched:
                    launch_hosts(catalog, name)
                    launched = True
                summary = read_summaries(catalog)[name]
                if summary.state == "COMPLETED":
                    over.append("completed")
                    return
                calm = scheduler.now - faults.over_at > REFUSED_SECONDS
                words = where(home, name) if faults.disk.flipped and calm else ""
                if _names_damage(words, faults) and damage.is_last_word(checks.epochs, scheduler.now):
                    over.append(f"it is given up: {words}")
                    return
                status = advance_and_read_status(catalog, name) if summary.suspected else None
                for failure in find_failures(status, clock.now()) if status else ():
                    recent = scheduler.now - faults.over_at < RECENT_SECONDS
                    often = failure.exhausted and (failure.launches >= LAUNCHES or recent)
                    if failure.exhausted and not often:
                        over.append(f"{failure.unit} is given up: {failure.hopeless}")
                        return
                    if often and scheduler.now - by_hand.get(failure.unit, -BY_HAND_SECONDS) < BY_HAND_SECONDS:
                        continue
                    if often:
                        by_hand[failure.unit] = scheduler.now
                    # a host that faults have ended at each of its starts is started by hand, and so is a unit
                    reset_unit(Catalog(home), name, failure.unit, generation=failure.generation, force=often)
            except StreamsRuntimeError as error:
                scheduler.note(f"healer: {type(error).__name__}: {error}")
            world.sleep(HEALER_SECONDS)

    def start() -> None:
        scheduler.spawn("healer", heal, parent=None)

    faults.start = start
    start()

    def is_stopped() -> bool:
        return case.steps is not None and scheduler.steps > case.steps

    def ended() -> bool:
        return bool(over or checks.wrong or scheduler.unexpected or is_stopped())

    scheduler.run(lambda: ended() or not faults.count, COURSE_SECONDS)
    faults.count = 0
    scheduler.run(ended, LAST_FAULTS_SECONDS)
    faults.cease()
    scheduler.run(ended, COMPLETION_SECONDS)
    if over == ["completed"] and not checks.wrong:
        scheduler.run(lambda: bool(checks.wrong), SETTLED_SECONDS)
        late = set() if checks.store is None else checks.store.late
        checks.wrong += left(home, name, scheduler, (scheduler.here, *faults.machines.sound), late)
    verdict.wrong += checks.wrong
    if verdict.wrong or over == ["completed"]:
        return
    if is_stopped():
        verdict.refused = STOPPED
        return
    words = f"{over[0] if over else 'it does not come to its end'}: {where(home, name)}"
    if _names_damage(words, faults):
        verdict.refused = words
    else:
        verdict.wrong.append(words)


def _names_damage(words: str, faults: Faults) -> bool:
    """Return True if words say that a file is damaged, and name one of which a bit was flipped."""
    return any(name in words for name in faults.disk.flipped) and any(sign in words for sign in DAMAGED)


def _judge(case: Case, home: Home, wanted: Outcome, faults: Faults, verdict: Verdict) -> None:
    if verdict.wrong or verdict.refused:
        return
    shape = shape_at(case.shape, case.variant)
    name = compiled(case.shape, case.variant).logical.application
    programs = [pe.program for pe in deployed_pes(Catalog(home), name)]
    try:
        left, by_key = outcome(shape, home, programs), "redeploy" in case.kinds
    except OperatorError as error:  # a state of which a bit was flipped after it was used for the last time
        if not _names_damage(str(error), faults):
            raise
        verdict.refused = str(error)
        return
    verdict.wrong += differences(left, wanted, shape.ordered, by_key=by_key)
    u = tables.unit
    with Catalog(home).read() as connection:
        verdict.resets = sum(connection.scalars(select(u.c.reset_count)).all())
    disruptive = [kind for kind in DISRUPTIVE if kind != "jump" or not case.machines]
    if verdict.resets and not any(f": {kind}: " in line for line in verdict.faults for kind in disruptive):
        verdict.wrong.append(f"{verdict.resets} resets, though each fault was to heal without one")
