"""Simulated PEs on a catalog: the product's own transactions, without Spark and without tuples.

Every unit is a chain of PEs. Processes take turns over the PEs: each reads its view, plans a batch, makes up the
answers of its tasks, and commits it. One process does the work of the hosts: heartbeats, epochs, garbage. The figures
are the times of the catalog and of its clients.
"""

from __future__ import annotations

import argparse
import base64
import json
import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import psycopg
from sqlalchemy import insert, select

from streams_orchestration.compiler.deployment_plan import DeployedPe, Unit
from streams_orchestration.compiler.pe_program import InputStream, OperatorProgram, PeProgram, Task
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.unit_transitions import insert_unit
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.deployment import insert_pe
from streams_orchestration.runtime.deployment.reset import begin_reset
from streams_orchestration.runtime.errors.errors import StaleGenerationError
from streams_orchestration.runtime.hosts.presence import Presence
from streams_orchestration.runtime.processes.processes import process_space, process_started
from streams_orchestration.runtime.programs.batches import BatchPlan, Segment, StateFile, StoredState, TaskResult
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.queries.planning import plan_batch
from streams_orchestration.runtime.queries.recording import nothing_yet
from streams_orchestration.runtime.queries.views import read_view
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import HERE
from streams_orchestration.runtime.units.garbage import Garbage
from streams_orchestration.runtime.units.region_record import RegionRecord
from streams_orchestration.runtime.units.unit_store import columns_of
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.postgresql import Server, server

APPLICATION = "load"
A_DAY = 86_400.0
"""Seconds for which hosts count as alive, however slow a simulation is."""
WARM_UP = 3
"""Batches of each process before anything is measured."""
USED = "microseconds"
DURABLE = ("-c", "jit=off")
"""Options of the server: fsync is on."""
SAMPLE_SECONDS, OBSERVE_SECONDS, BEAT_SECONDS, GARBAGE_SECONDS = 0.05, 0.1, 5.0, 5.0


@dataclass(frozen=True)
class Load:
    """The parameters of a simulation."""

    pes: int = 100
    region: int = 10
    """PEs of a unit."""
    workers: int = 8
    """Processes that commit, each with one connection."""
    seconds: float = 10.0
    period: float = 1.0
    """Seconds between two cuts of a unit."""
    views: bool = True
    """True to read a view and plan a batch before each commit; else batches are made up, and no epoch ends."""
    resets: int = 0
    metrics: bool = True
    small: int = 240
    """Bytes of the state of a PE in the row of its commit; 0 if the state is in a file, which nobody writes."""

    @property
    def units(self) -> list[str]:
        """The names of the units."""
        return [f"region-{number}" for number in range(-(-self.pes // self.region))]


@dataclass(frozen=True)
class Figures:
    """The results of a simulation. Times are milliseconds."""

    commits: float
    """Commits a second."""
    bare: float
    """`INSERT` and `COMMIT` of one row a second, by as many processes on the same server."""
    commit_median: float
    commit_p99: float
    client: float
    """Processor time of the clients for a commit, with view and plan where they are read."""
    server: float
    """Processor time of the server's processes for a commit."""
    cuts: int
    cut_median: float
    cut_longest: float
    reset_median: float
    waits: dict[str, float]
    """Event that sessions waited for -> the average number of sessions that waited for it."""
    stale: int


def program_of(load: Load, pe: int) -> PeProgram:
    """Return the program of one PE of a chain."""
    # without views nothing is read, so that no chain has to be filled first
    first, last = not load.views or pe % load.region == 0, pe % load.region == load.region - 1 or pe == load.pes - 1
    inputs = () if first else (InputStream(f"s{pe - 1}", pe - 1, 0, 0, foreign=False),)
    operator = OperatorProgram(
        0, f"Op{pe}", "m:C", {}, () if first else ("x bigint",), (), ("x bigint",), -1, 0, -1, 0,
        stateful=True, source=first, preserves=(), deliveries=(),
    )  # fmt: skip
    tasks = (Task(0, 0, 0, (0,), (0,) if first else (), inputs),)
    consumers = {} if last else {f"s{pe}": (pe + 1,)}
    unit = load.units[pe // load.region]
    return PeProgram(APPLICATION, pe, unit, first, False, {0: operator}, tasks, consumers)


def deploy(home: Home, load: Load) -> list[PeProgram]:
    """Enter the application as a deployment does, on hosts that are this process."""
    create_catalog(home)
    catalog = Catalog(home)
    programs = [program_of(load, pe) for pe in range(load.pes)]
    now, me = clock.now(), os.getpid()
    with catalog.write() as connection:
        connection.execute(
            insert(tables.application).values(
                name=APPLICATION, life="life", fingerprint="", compilation=b"", base="/", settings={}, wanted="RUNNING",
                state="RUNNING", deployed_at=now, started_at=now,
            )
        )  # fmt: skip
        for number, name in enumerate(load.units):
            pes = tuple(range(number * load.region, min((number + 1) * load.region, load.pes)))
            period = load.period if load.views else None
            record = columns_of(RegionRecord.first(5, now))
            insert_unit(connection, APPLICATION, Unit(name, number, pes, pes[:1], period, 5), record)
            connection.execute(
                insert(tables.host).values(
                    application=APPLICATION, id=number, incarnation="it", pid=me, process_started=process_started(me),
                    state="RUNNING", launched_at=now, heartbeat_at=now + A_DAY, space=process_space(),
                )
            )  # fmt: skip
        for program in programs:
            sources = {f"Op{program.pe}": {}} if program.starts else {}
            deployed = DeployedPe(program, program.pe // load.region, True, sources)
            insert_pe(connection, deployed, state="RUNNING", running=1)
    advance_units(catalog, APPLICATION)
    catalog.close()
    return programs


class SimulatedPe:
    """Plans and commits as the planner of a query does."""

    def __init__(self, catalog: Catalog, program: PeProgram, load: Load) -> None:
        self.catalog, self.program, self.load = catalog, program, load
        self.plan: BatchPlan | None = None
        counts = nothing_yet(program) | {"tasks": {"wall_ns": 1_000_000, "cpu_ns": 900_000, "count": 1}}
        self.metrics = counts if load.metrics else {}
        self.content = base64.b64encode(random.Random(0).randbytes(load.small)).decode()

    def turn(self) -> float | None:
        """Run one batch. Return the seconds of its commit; None if there is nothing to do.

        Raises:
            StaleGenerationError: the unit was reset meanwhile.
        """
        if self.plan is None:
            view = read_view(self.catalog, self.program)
            self.plan = plan_batch(self.program, view, source_limit=1)
            if self.plan is None:
                return None
        plan, self.plan = self.plan, None
        results = [self._result(plan)]
        began = time.perf_counter()
        commit_batch(self.catalog, self.program, plan, results, 0.01)
        took = time.perf_counter() - began
        if not self.load.views:
            outputs = {stream: plan.position.outputs.get(stream, 0) + 1 for stream in self.program.consumers}
            self.plan = replace(plan, batch=plan.batch + 1, position=replace(plan.position, outputs=outputs))
        return took

    def _result(self, plan: BatchPlan) -> TaskResult:
        pe, batch = self.program.pe, plan.batch
        path = "" if self.content else f"{HERE}states/pe-{pe}/{batch}.arrow"
        state = StateFile(path, self.load.small or 100, 0, batch, content=self.content)
        return TaskResult(
            0, 0, rows_in=1, rows_out=1,
            sources={f"Op{pe}": {"row": batch}} if self.program.starts else {},
            segments=tuple(Segment(s, f"{HERE}{s}/{batch}.arrow", 1, 100, 0) for s in self.program.consumers),
            states=(StoredState(f"Op{pe}", (state,)),),
            metrics=json.loads(json.dumps(self.metrics)),
        )  # fmt: skip


def commit_for(home: Home, programs: Sequence[PeProgram], load: Load, start: Any, answers: Any) -> None:
    """Run batches of some PEs in turn, as the work of one process."""
    catalog = Catalog(home)
    pes = [SimulatedPe(catalog, program, load) for program in programs]
    for pe in pes[:WARM_UP]:
        pe.turn()
    start.wait()
    times: list[float] = []
    stale, before, until = 0, time.process_time(), time.monotonic() + load.seconds
    while time.monotonic() < until:
        count = len(times)
        for pe in pes:
            try:
                took = pe.turn()
            except StaleGenerationError:
                stale += 1
                continue
            if took is not None:
                times.append(took)
            if time.monotonic() >= until:
                break
        if len(times) == count:
            time.sleep(0.005)
    answers.put((times, stale, time.process_time() - before))


def insert_for(url: str, number: int, load: Load, start: Any, answers: Any) -> None:
    """Insert rows, one a transaction, as the yardstick."""
    count = 0
    with psycopg.connect(url, autocommit=True) as connection:
        start.wait()
        until = time.monotonic() + load.seconds / 3
        while time.monotonic() < until:
            connection.execute("INSERT INTO bare VALUES (%s, %s)", (number, count))
            count += 1
    answers.put(count)


def host_for(home: Home, programs: Sequence[PeProgram], load: Load, start: Any, answers: Any) -> None:
    """Do the work of the hosts: heartbeats, epochs, garbage, and resets of one unit after the other."""
    catalog = Catalog(home)
    hosts = [Presence(catalog, APPLICATION, number, "it") for number in range(len(load.units))]
    for host in hosts:
        host.join()
    garbage = Garbage(catalog, APPLICATION, programs, load.units, 1)
    resets: list[float] = []
    start.wait()
    began = beaten = collected = time.monotonic()
    while (now := time.monotonic()) - began < load.seconds:
        advance_units(catalog, APPLICATION)
        if now - beaten >= BEAT_SECONDS:
            beaten = now
            for host in hosts:
                host.beat()
        if now - collected >= GARBAGE_SECONDS:
            garbage.collect()
            collected = time.monotonic()
        if len(resets) < load.resets and now - began > (len(resets) + 0.5) * load.seconds / load.resets:
            resets.append(reset_seconds(catalog, load.units[len(resets) % len(load.units)]))
        time.sleep(OBSERVE_SECONDS)
    answers.put(resets)


def reset_seconds(catalog: Catalog, unit: str) -> float:
    """Reset a unit. Return the seconds of the transaction that takes it back."""
    began = time.perf_counter()
    begin_reset(catalog, APPLICATION, unit, generation=None, force=True)
    took = time.perf_counter() - began
    p, u = tables.pe, tables.unit
    with catalog.write() as connection:
        generation = select(u.c.generation).where(u.c.name == unit).scalar_subquery()
        connection.execute(p.update().where(p.c.unit == unit).values(running=generation, state="RUNNING"))
    return took


def run(load: Load) -> Figures:
    """Simulate a load on a server of its own."""
    with server(options=DURABLE) as postgresql, TemporaryDirectory() as directory:
        os.environ["STREAMS_CATALOG"] = postgresql.url("load")
        home = Home(Path(directory))
        bare = _bare(postgresql, load)
        programs = deploy(home, load)
        mixed = random.Random(0).sample(programs, len(programs))  # else all work in the same unit at the same time
        shares = [mixed[number :: load.workers] for number in range(load.workers)]
        waits: Counter[str] = Counter()
        workers = [partial(commit_for, home, share, load) for share in shares if share]
        *committed, resets = _together(
            [*workers, partial(host_for, home, programs, load)], lambda: _sample(postgresql, waits, load.seconds)
        )
        used = waits.pop(USED) / 1e6
        cuts = cut_seconds(home)
    times = sorted(took for took, _, _ in committed for took in took)
    count = max(len(times), 1)
    samples = max(waits.pop("", 0), 1)
    return Figures(
        commits=count / load.seconds,
        bare=bare,
        commit_median=1e3 * median(times or [0.0]),
        commit_p99=1e3 * times[int(0.99 * len(times))] if times else 0.0,
        client=1e3 * sum(cpu for _, _, cpu in committed) / count,
        server=1e3 * used / count,
        cuts=len(cuts),
        cut_median=1e3 * median(cuts or [0.0]),
        cut_longest=1e3 * max(cuts, default=0.0),
        reset_median=1e3 * median(resets or [0.0]),
        waits={name: number / samples for name, number in waits.most_common(6)},
        stale=sum(stale for _, stale, _ in committed),
    )


def _bare(postgresql: Server, load: Load) -> float:
    with postgresql.connect() as connection:
        connection.execute("CREATE TABLE bare (worker integer, number integer, PRIMARY KEY (worker, number))")
    url = f"postgresql://streams@/postgres?host={postgresql.directory}"
    counts = _together([partial(insert_for, url, number, load) for number in range(load.workers)], lambda: None)
    return sum(counts) / (load.seconds / 3)


def _together(functions: Sequence[Any], meanwhile: Callable[[], None]) -> list[Any]:
    """Run functions in processes of their own, which begin at the same time; what each puts into its queue."""
    forked = multiprocessing.get_context("fork")
    start = forked.Barrier(len(functions) + 1)
    queues = [forked.SimpleQueue() for _ in functions]
    processes = [
        forked.Process(target=f, args=(start, queue), daemon=True) for f, queue in zip(functions, queues, strict=True)
    ]
    for process in processes:
        process.start()
    start.wait()
    meanwhile()
    answers = [queue.get() for queue in queues]
    for process in processes:
        process.join()
    return answers


def _sample(postgresql: Server, waits: Counter[str], seconds: float) -> None:
    """Count again and again what the sessions of the product wait for; and what processor time the server takes."""
    before, until = _server_seconds(postgresql), time.monotonic() + seconds
    query = (
        "SELECT wait_event_type || ':' || wait_event FROM pg_stat_activity WHERE application_name = 'streams' "
        "AND state = 'active' AND wait_event_type <> 'Client'"
    )
    with postgresql.connect() as connection:
        while time.monotonic() < until:
            waits[""] += 1
            waits.update(row[0] for row in connection.execute(query))
            time.sleep(SAMPLE_SECONDS)
    waits[USED] = int(1e6 * (_server_seconds(postgresql) - before))


def _server_seconds(postgresql: Server) -> float:
    """Return the processor time of the server, of its open sessions, which are its children, and of its ended ones."""
    assert postgresql.process is not None
    main = psutil.Process(postgresql.process.pid)
    own = main.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in main.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # the process has ended meanwhile
            times = child.cpu_times()
            total += times.user + times.system
    return total


def cut_seconds(home: Home) -> list[float]:
    """Return the seconds of the last ten drains of every unit."""
    with Catalog(home).read() as connection:
        units = UnitRow.all(connection, select(tables.unit))
    return [seconds for unit in units if unit.drains for seconds in unit.drains[2]]


def main() -> None:
    """Simulate one load, and print its figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.catalog_load", description=__doc__)
    for name, kind in (("pes", int), ("region", int), ("workers", int), ("seconds", float), ("period", float),
                       ("resets", int)):  # fmt: skip
        parser.add_argument(f"--{name}", type=kind, default=getattr(Load(), name))
    parser.add_argument("--no-views", dest="views", action="store_false")
    parser.add_argument("--no-metrics", dest="metrics", action="store_false")
    load = Load(**vars(parser.parse_args()))
    print(json.dumps(asdict(load) | asdict(run(load)), indent=1))


if __name__ == "__main__":
    main()
