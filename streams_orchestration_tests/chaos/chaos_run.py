"""One application and the faults that happen to it, from its deployment to the judgement on what it has left."""

from __future__ import annotations

import contextlib
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
import yaml
from sqlalchemy import select

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.deployment.deployment import FIRST_PLAN
from streams_orchestration.runtime.engine.spark.engine import ARCHIVE_SECONDS
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.programs.deployed_pes import deployed_pes
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.stored_states import state_files
from streams_orchestration_tests.chaos.faults import COUNTERPART, EVERYTHING, NEEDS, STORAGE, Scene
from streams_orchestration_tests.chaos.fed_panes import FED, FedPanes
from streams_orchestration_tests.chaos.healers import HEALERS, Healer
from streams_orchestration_tests.chaos.pairs import PAIRS, Pair, shape_at
from streams_orchestration_tests.chaos.plans import Plans
from streams_orchestration_tests.chaos.queries import QUERIES
from streams_orchestration_tests.chaos.redeploys import KINDS
from streams_orchestration_tests.chaos.shapes import SHAPES, Shape, shape_of
from streams_orchestration_tests.chaos.surroundings import DISK_BYTES, QUERIES_DISK_BYTES, environment, home_at
from streams_orchestration_tests.chaos.undisturbed import Outcome, differences, outcome, undisturbed
from streams_orchestration_tests.chaos.watching import Watch
from streams_orchestration_tests.postgresql import Server, server
from streams_orchestration_tests.servers.faulty_s3 import FaultyS3, faulty_s3

FAULT_SECONDS = 40.0
"""For which there are tuples, for each fault; when the faults are over, sources wait no longer."""
RECOVERY_SECONDS = 240.0
"""The seconds after a fault in which every unit must have completed an epoch, or all epochs."""
COMPLETION_SECONDS = 600.0
EXIT_SECONDS = ARCHIVE_SECONDS + 30.0
"""The seconds in which all processes must have ended; a host that is complete may archive Spark's classes before."""
MOMENTS = ("any time", "any time", "an epoch is complete", "a reset is under way")
"""The moments of faults; the second fault of a pair comes while the first is being healed."""
BURST = 0.4
"""The part of the faults that do not wait for the one before to be healed."""
MOST_BYTES = 64 << 20
"""The bytes that streams and states may take at any time."""


@dataclass
class Told:
    """One fault, as the report has it. Times are seconds, from the fault; None where it did not come to that."""

    number: int
    kind: str
    moment: str
    what: str
    at: float
    """Unix seconds when it began."""
    lasted: float
    units: tuple[str, ...] = ()
    healed: float | None = None
    """From its end until every unit had completed an epoch."""
    detected: float | None = None
    decided: float | None = None
    """From there until a reset was committed."""
    restarted: float | None = None
    """From there to the first commit of the new generation."""
    resets: tuple[str, ...] = ()


@dataclass
class Verdict:
    """On one application."""

    shape: str
    seed: int
    healer: str
    engine: str
    catalog: str
    storage: str
    """The storage of the files that the catalog names: `home` or `s3`."""
    wanted: int
    """Faults."""
    pes: int
    seconds: float = 0.0
    faults: list[Told] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    tuples: int = 0
    resets: int = 0
    redeploys: int = 0
    """The number of redeploys that were done: plans after the first."""
    idle: int = 0
    """The number of decisions that partitions of a source are idle, as far as they were seen."""
    most_bytes: int = 0
    last_bytes: int = 0


@dataclass
class Case:
    """A case to run; the same seed gives the same application and the same faults."""

    shape: str
    seed: int
    faults: int
    healer: str
    engine: str = "spark"
    """Or `local`: hosts without Spark, which start ten times as fast."""
    catalog: str = "sqlite"
    """Or `postgresql`."""
    only: tuple[str, ...] = ()
    """Kinds of faults; all when empty."""
    storage: str = "home"
    """Or `s3`: files that the catalog names are in an object store."""
    gap: float = 2.0
    """Seconds between two faults, on average."""


def run(case: Case, place: Path, *, small_disk: bool, show: bool = True) -> Verdict:
    """Deploy, disturb, judge.

    Args:
        case: what is to be done.
        place: an empty directory.
        small_disk: give the home a file system of its own, which needs the right to mount one.
        show: tell what happens while it happens.
    """
    hurry, seconds = place / "hurry", (case.faults + 2) * FAULT_SECONDS
    with ExitStack() as stack:
        shape = stack.enter_context(_shape(case, seconds, place))
        wanted = None if isinstance(shape, FedPanes) else undisturbed(shape)
        size = QUERIES_DISK_BYTES if shape.needs_spark else DISK_BYTES
        home, disk = stack.enter_context(home_at(place, size if small_disk else 0))
        served = stack.enter_context(server()) if case.catalog == "postgresql" else None
        store = stack.enter_context(faulty_s3(place)) if case.storage == "s3" else None
        stack.enter_context(environment(home, served, case.engine, store))
        spec = place / f"{shape.name}.yaml"
        spec.write_text(yaml.safe_dump(shape.spec(hurry)))
        compilation = shape.compiled(hurry)
        verdict = Verdict(
            case.shape, case.seed, case.healer, case.engine, case.catalog, case.storage, case.faults,
            len(compilation.fusion.pes),
        )  # fmt: skip
        choose = random.Random(f"{case.shape} {case.seed} faults")
        began = time.time()
        healer = HEALERS[case.healer](home, shape.name, spec, choose)
        try:
            with healer, Watch(home, shape.name) as watch:
                _Course(case, shape, home, disk, served, store, healer, watch, choose, verdict, hurry, show).go()
            verdict.most_bytes = max((size for _, size in watch.bytes), default=0)
            verdict.last_bytes = watch.bytes[-1][1] if watch.bytes else 0
            verdict.resets, verdict.redeploys = watch.resets, watch.plan - FIRST_PLAN
            verdict.idle = len(watch.idle)
            programs = [pe.program for pe in deployed_pes(Catalog(home), shape.name)]
            judge(shape, home, verdict, programs, wanted)
        finally:
            with contextlib.suppress(StreamsRuntimeError):
                cancel_application(Catalog(home), shape.name, 5.0)
            verdict.seconds = time.time() - began
        return verdict


@contextlib.contextmanager
def _shape(case: Case, seconds: float, place: Path) -> Iterator[Shape]:
    """Yield the application; with its servers where it is a pair."""
    if case.shape in FED:
        with FED[case.shape](random.Random(f"{case.shape} {case.seed}"), place) as fed:
            yield fed
        return
    if case.shape not in PAIRS:
        yield shape_of(case.shape, case.seed, seconds, SHAPES | QUERIES)
        return
    with shape_at(case.shape, case.seed, seconds, place) as pair:
        yield pair


class _Course:
    """The course of events."""

    def __init__(
        self, case: Case, shape: Shape, home: Home, disk: Path | None, served: Server | None, store: FaultyS3 | None,
        healer: Healer, watch: Watch, choose: random.Random, verdict: Verdict, hurry: Path, show: bool,
    ) -> None:  # fmt: skip
        self.case, self.shape, self.healer, self.watch, self.choose = case, shape, healer, watch, choose
        self.verdict, self.hurry, self.show = verdict, hurry, show
        counterpart = shape.counterpart if isinstance(shape, Pair) else None
        plans = Plans(shape, choose, hurry.parent, hurry)
        self.scene = Scene(
            home, shape.name, choose, disk, served, counterpart, healer.process, plans, hurry.parent, self._calm, store
        )
        had = {
            COUNTERPART: counterpart,
            STORAGE: store,
            "a small disk": disk,
            "PostgreSQL": served,
            "a healer that is a process": healer.name != "hand",
        }
        kinds = case.only or tuple(KINDS)
        self.kinds = [kind for kind in kinds if kind not in NEEDS or had[NEEDS[kind]]]

    def go(self) -> None:
        """Cause all faults, then wait for the end."""
        self._until(lambda: any(track.epochs[-1][1] > 0 for track in self.watch.units.values()), COMPLETION_SECONDS)
        for number in range(self.case.faults):
            last = number == self.case.faults - 1
            if last:
                self.hurry.touch()
            moment = "the last epoch" if last else self.choose.choice(MOMENTS)
            self._await(moment)
            if self.watch.done:
                self._say("complete before all faults have come")
                return
            reported = self._fault(number, moment)
            if reported is None:
                continue
            if last or self.choose.random() >= BURST:
                self._heal(reported)
            if self.verdict.wrong:
                return
        if not self._until(lambda: self.watch.done, COMPLETION_SECONDS):
            self.verdict.wrong.append(f"it does not come to its end: {self._where()}")

    def _await(self, moment: str) -> None:
        """Until the fault is to come; not for ever, since what is waited for may not come any more."""
        if moment == "any time":
            time.sleep(self.choose.uniform(0, 2 * self.case.gap))
        elif moment == "an epoch is complete":
            before = self._sum("epochs")
            self._until(lambda: self._sum("epochs") > before, 10)
        elif moment == "a reset is under way":
            if self.verdict.faults and self.verdict.faults[-1].healed is None:
                before = self._sum("generations")
                self._until(lambda: self._sum("generations") > before, 10)
            time.sleep(self.choose.uniform(0, self.case.gap))
        else:
            self._until(lambda: self.watch.fraction() == 1.0 or self.watch.done, COMPLETION_SECONDS)

    def _fault(self, number: int, moment: str) -> Told | None:
        weights = [KINDS[kind][0] for kind in self.kinds]
        kind = self.choose.choices(self.kinds, weights)[0]
        at = time.time()
        try:
            happened = KINDS[kind][1](self.scene)
        except (LookupError, psutil.Error, StreamsRuntimeError, OSError) as error:
            self._say(f"{kind}: there was nothing to do it to ({error!r})")
            return None
        self.verdict.wrong += self.scene.wrong
        self.scene.wrong.clear()
        reported = Told(number, kind, moment, happened.what, at, time.time() - at, happened.units)
        self.verdict.faults.append(reported)
        self._say(f"{number + 1:3}. {kind} ({happened.what}), {moment}")
        return reported

    def _calm(self) -> bool:
        """Return True if all faults so far are healed."""
        return all(reported.healed is not None for reported in self.verdict.faults)

    def _heal(self, reported: Told) -> None:
        """Until everything goes on as before; what came before and was not waited for is healed with it."""
        over = reported.at + reported.lasted

        def healed() -> bool:
            return self.watch.done or all(
                track.state == "COMPLETED" or (track.first("epochs", over) or 0.0) > over
                for track in self.watch.units.values()
            )

        if not self._until(healed, RECOVERY_SECONDS):
            self.verdict.wrong.append(f"fault {reported.number + 1} ({reported.kind}) is not healed: {self._where()}")
        for each in self.verdict.faults:
            if each.healed is None:
                self._tell(each)
        self._say(f"     healed {reported.healed:.1f} s after it, {', '.join(reported.resets) or 'without a reset'}"
                  if reported.healed is not None else "     not healed")  # fmt: skip

    def _tell(self, reported: Told) -> None:
        over = reported.at + reported.lasted
        firsts = [track.first("epochs", over) for track in self.watch.units.values() if track.state != "COMPLETED"]
        reported.healed = max((first - over for first in firsts if first), default=0.0)
        resets = []
        for name, track in self.watch.units.items():
            if (reset := track.first("generations", reported.at)) is None:
                continue
            resets.append(name)
            if reported.restarted is None:
                detected = next((at for at, _, _ in track.failed if reported.at < at <= reset + 1), reset)
                reported.detected = detected - reported.at
                reported.decided = max(reset - detected, 0.0)
                generation = next(value for at, value in track.generations if at == reset)
                first = next((at for at, value in track.commits if value >= generation and at > reset), None)
                reported.restarted = first - reset if first else None
        reported.resets = tuple(resets)

    def _until(self, condition: Callable[[], bool], limit: float) -> bool:
        until = time.monotonic() + limit
        while not condition():
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
            self.healer.keep_running()
        return True

    def _sum(self, what: str) -> int:
        return sum(getattr(track, what)[-1][1] for track in self.watch.units.values())

    def _where(self) -> str:
        status = self.watch.status
        if status is None:
            return "nothing was ever deployed"
        units = ", ".join(
            f"{u.name} {u.state} g{u.generation} e{u.completed_epoch} a{u.row.attempts}" for u in status.units
        )
        pes = ", ".join(f"PE {p.id} {p.state} b{p.row.batch} e{p.row.epoch} {p.row.error or ''}" for p in status.pes)
        hosts = ", ".join(f"host {h.id} {h.state} alive={h.alive} {h.error or ''}" for h in status.hosts)
        return f"{units}; {pes}; {hosts}"

    def _say(self, text: str) -> None:
        if self.show:
            print(
                f"{time.strftime('%H:%M:%S')} {self.shape.name} {self.case.seed}: {text}", file=sys.stderr, flush=True
            )


def judge(shape: Shape, home: Home, verdict: Verdict, programs: Iterable[PeProgram], wanted: Outcome | None) -> None:
    """Results, states, what is left, and whose resets there were."""
    if verdict.wrong:
        return
    programs = tuple(programs)
    left = outcome(shape, home, programs)
    if isinstance(shape, FedPanes):
        verdict.wrong += [] if verdict.idle else ["no partition was idle"]
        wanted, left = Outcome({"Out": shape.wanted()}, {}), left._replace(states={})
    assert wanted is not None
    verdict.tuples = sum(map(len, wanted.results.values()))
    verdict.wrong += differences(left, wanted, shape.ordered, by_key=verdict.redeploys > 0)
    verdict.wrong += left_behind(home, shape.name)
    if verdict.most_bytes > MOST_BYTES:
        verdict.wrong.append(f"streams and states took {verdict.most_bytes >> 20} MiB")
    verdict.wrong += _strangers(verdict.faults)


def _strangers(faults: list[Told]) -> list[str]:
    """Resets of units that no fault near in time had touched."""
    wrong = []
    for number, reported in enumerate(faults):
        near = faults[max(number - 4, 0) : number + 5]
        allowed = {unit for each in near for unit in each.units}
        if EVERYTHING not in allowed and (others := set(reported.resets) - allowed):
            wrong.append(
                f"fault {reported.number + 1} ({reported.kind} of {reported.units}) also reset {sorted(others)}"
            )
    return wrong


def left_behind(home: Home, application: str) -> list[str]:
    """Files that no commit names, files that a commit names and that are gone, and processes."""
    wrong = []
    until = time.monotonic() + EXIT_SECONDS
    while (left := _processes(home, application)) and time.monotonic() < until:
        time.sleep(0.2)
    if left:
        wrong.append(f"processes are left: {left}")
    s, f = tables.segment, tables.sink_file
    with Catalog(home).read() as connection:
        named = set(connection.scalars(select(s.c.path).where(s.c.application == application)))
        named |= state_files(connection, application)
        pending = connection.scalars(select(f.c.pending).where(f.c.application == application, ~f.c.published)).all()
    kinds = ("streams", "states", "waiting")
    there = {path for kind in kinds for path in home.store.below(f"data/{application}/{kind}")}
    there |= {str(path) for path in home.results(application).glob("*/_pending/*")}
    if gone := (named | set(pending)) - there:
        wrong.append(f"{len(gone)} files that a commit names are gone, as {min(gone)}")
    if garbage := there - named - set(pending):
        wrong.append(f"{len(garbage)} files are left that no commit names, as {min(garbage)}")
    return wrong


def _processes(home: Home, application: str) -> list[str]:
    """Return the hosts of this home that run, with their pids and commands."""
    processes = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        command = " ".join(process.info["cmdline"] or ())
        if str(home.root) in command and ("host_process" in command or "java" in command or "pyspark" in command):
            processes.append(f"{process.info['pid']} {command[:80]}")
    return processes


def as_document(verdict: Verdict) -> dict[str, object]:
    """For a file."""
    return asdict(verdict)
