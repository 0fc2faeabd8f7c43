"""The product's own transactions on a real catalog, step by step as the model takes them; the tuples are made up."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import select, update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.redeployment.outcome import OperatorAction, Redeployment, RunTimeNumbers, UnitAction
from streams_orchestration.operators.storage.durable_files import checksum_of
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.trials import read_trial
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import StaleGenerationError
from streams_orchestration.runtime.programs.batches import (
    BatchPlan,
    Segment,
    SinkFile,
    StateFile,
    StoredState,
    TaskResult,
)
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.queries.pe_view import PeView
from streams_orchestration.runtime.queries.views import read_view
from streams_orchestration.runtime.redeployment.state_migration import Carried, read_cut
from streams_orchestration.runtime.redeployment.switching import NewPlan, NotAtCutError, switch
from streams_orchestration.runtime.sinks.completing import complete
from streams_orchestration.runtime.stepping import publish
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.stored_states import newest_states
from streams_orchestration.runtime.trials.advancing import advance_units_and_trial
from streams_orchestration.runtime.trials.trial import close_trial_if_decided, judge_trial, revert_open
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration.runtime.units.holding import HeldUnits, describe_held_work, hold_units, release_units
from streams_orchestration_tests.protocol.planning import position, view
from streams_orchestration_tests.protocol.setting import OUTSIDE
from streams_orchestration_tests.protocol.steps import Protocol
from streams_orchestration_tests.protocol.world import Flight, World
from streams_orchestration_tests.runtime.locked import deploy


class Product:
    """A deployed application without hosts."""

    def __init__(self, directory: Path, protocol: Protocol) -> None:
        self.protocol, self.topology = protocol, protocol.topology
        self.home, self.directory = Home(directory / "home"), directory
        deploy(self.home, deployable(self.topology.compilation), asks_spark=False)
        self.name = self.topology.compilation.logical.application
        self.catalog = Catalog(self.home)
        self.files = 0
        with self.catalog.read() as connection:
            self.life = connection.scalar(select(tables.application.c.life))
        self.report_running()

    def commit(self, pe: int, flight: Flight) -> bool:
        """Commit a batch; False when it is refused."""
        t = self.topology
        program = t.programs[pe]
        stands = position(t, pe, self._row(flight))
        (source,) = stands.sources or ("",)
        ended = (source,) if source in flight.done else ()
        segments, files = (), ()
        if flight.items and t.readers[pe]:
            (stream,) = program.consumers
            segments = (Segment(stream, str(self._file(flight.items)), len(flight.items), 1, 0),)
        elif flight.items:
            final = self.directory / f"sink-{pe}" / f"{flight.epoch:03d}-{flight.batch:03d}"
            final.parent.mkdir(exist_ok=True)
            pending = self._file(flight.items)
            facts = (len(flight.items), pending.stat().st_size, checksum_of(pending))
            files = (SinkFile(self._sink(pe), str(pending), str(final), *facts),)
        states: tuple[StoredState, ...] = ()
        if flight.boundary or not t.query(pe):
            file = StateFile(str(self._file(flight.state)), 1, 0, flight.batch)
            states = (StoredState(self._operator(pe), (file,)),)
        result = TaskResult(
            0, 0, sources=stands.sources, exhausted=ended, segments=segments, states=states, files=files
        )
        plan = BatchPlan(
            str(self.life),
            flight.generation,
            flight.batch,
            flight.epoch,
            flight.boundary,
            flight.final,
            2,
            stands,
            (),
        )
        try:
            commit_batch(self.catalog, program, plan, [result], 0.0)
        except StaleGenerationError:
            return False
        return True

    def trigger(self, unit: int) -> None:
        u = tables.unit
        with self.catalog.write() as connection:
            this = (u.c.name == self.topology.units[unit], u.c.timer == "period")
            assert connection.execute(update(u).where(*this).values(deadline=0.0)).rowcount
        advance_units_and_trial(self.catalog, self.name)

    def reset(self, unit: int, cause: str) -> None:
        """Have a unit reset, forced where its attempts are used up, after one of its PEs has failed for the cause."""
        p, name = tables.pe, self.topology.units[unit]
        if cause:
            failed = {"state": "FAILED", "error": f"{cause} at {time.time()}", "kind": cause}
            working = min(self._working(unit), default=None)
            with self.catalog.write() as connection:
                connection.execute(update(p).where(p.c.id == working).values(outside=cause == OUTSIDE, **failed))
        reset_unit(Catalog(self.home), self.name, name, force=True)
        with self.catalog.write() as connection:
            connection.execute(update(p).where(p.c.state == "FAILED").values(state="RUNNING", error=None))
        self.report_running()

    def _working(self, unit: int) -> list[int]:
        p = tables.pe
        with self.catalog.read() as connection:
            mine = (p.c.unit == self.topology.units[unit], ~p.c.final)
            return list(connection.scalars(select(p.c.id).where(*mine)))

    def report_running(self) -> None:
        """Report that all queries run in the generation of their unit, as hosts do."""
        p, u = tables.pe, tables.unit
        generation = select(u.c.generation).where(u.c.application == p.c.application, u.c.name == p.c.unit)
        with self.catalog.write() as connection:
            connection.execute(update(p).values(running=generation.scalar_subquery()))
            connection.execute(update(p).where(p.c.state == "WANTED").values(state="RUNNING"))
        advance_units_and_trial(self.catalog, self.name)

    def hold(self, units: Iterable[int]) -> None:
        hold_units(self._held(units))

    def release(self) -> None:
        """Their periods begin anew, since none passes by itself here."""
        release_units(self.catalog, self.name)
        u = tables.unit
        with self.catalog.write() as connection:
            connection.execute(update(u).where(u.c.timer == "period").values(deadline=time.time() + u.c.period))

    def is_under_way(self, units: Iterable[int]) -> bool:
        with self.catalog.read() as connection:
            return bool(describe_held_work(connection, self._held(units)))

    def carry(self, units: Iterable[int]) -> None:
        with self.catalog.read() as connection:
            self.cut = read_cut(connection, self._held(units))

    def switch(self, units: Iterable[int], states: Mapping[int, tuple[int, ...]]) -> bool:
        """Bring the same plan again, as another one, with these states; False when it is refused."""
        held = self._held(units)
        actions = [UnitAction(name, "restart" if name in held.names else "run on") for name in self.topology.units]
        programs = self.topology.programs
        operators = [each.name for program in programs for each in program.operators.values()]
        numbers = {program.pe: program.pe for program in programs}
        redeployment = Redeployment(
            self.name, "before", "after",
            units=tuple(actions),
            operators=tuple(OperatorAction(name, "kept", 0, 0, "", name) for name in operators),
            moves=(),
            numbering=RunTimeNumbers(numbers, {0: 0}, {name: name for name in self.topology.units}),
        )  # fmt: skip
        carried = Carried(offsets=dict(self.cut.sources), exhausted=set(self.cut.exhausted))
        for pe, items in states.items():
            operator = self._operator(pe)
            carried.states[operator] = StoredState(operator, (StateFile(str(self._file(items)), 1, 0, 0),))
        new = NewPlan(self.home, self.topology.compilation, redeployment, self.cut, carried)
        try:
            with self.catalog.write() as connection:
                switch(connection, held, new, 1.0)
        except NotAtCutError:
            return False
        self.report_running()
        return True

    def is_passed(self) -> bool:
        with self.catalog.read() as connection:
            trial = read_trial(connection, self.name)
            assert trial is not None
            return judge_trial(connection, trial).state == "PASSED"

    def decide(self) -> None:
        close_trial_if_decided(self.catalog, self.name)

    def revert(self) -> None:
        assert revert_open(self.catalog, self.name, "for the test")
        self.report_running()

    def publish(self) -> None:
        publish(self.catalog, self.name)

    def complete(self) -> None:
        complete(self.catalog, self.name)

    def collect(self) -> None:
        collect_garbage(self.catalog, self.name, self.topology.programs)

    def view(self, pe: int) -> dict[str, Any]:
        return told(read_view(self.catalog, self.topology.programs[pe]))

    def state(self) -> dict[str, Any]:
        """Return the contents of the catalog and the directories, in the model's words."""
        p, u, c, s, f = tables.pe, tables.unit, tables.commit, tables.segment, tables.sink_file
        t = self.topology
        with self.catalog.read() as connection:
            units = {row.name: row for row in UnitRow.all(connection, select(u))}
            pes = connection.execute(select(p).order_by(p.c.id)).all()
            segments = connection.execute(select(s).where(~s.c.retracted).order_by(s.c.number)).all()
            files = connection.execute(select(f).where(~f.c.published, ~f.c.retracted).order_by(f.c.batch)).all()
            commits = connection.execute(select(c).where(c.c.boundary).order_by(c.c.batch)).all()
            states = [newest_states(connection, self.name, pe.id).get(self._operator(pe.id)) for pe in pes]
        shown = [units[program.unit].shown for program in t.programs]
        return {
            "pes": [(pe.batch, pe.epoch, pe.exhausted, pe.final, _position(pe.position)) for pe in pes],
            "units": [
                (row.generation, row.trigger_epoch, row.completed_epoch, row.final_epoch, row.state == "COMPLETED")
                for row in (units[name] for name in t.units)
            ],
            "resets": [
                (row.attempts, str(row.kind), row.max_attempts - row.attempts, _spent(row))
                for row in (units[name] for name in t.units)
            ],
            "segments": [
                [(row.number, row.batch, row.epoch, _items(row.path)) for row in segments if row.pe == pe.id]
                for pe in pes
            ],
            "files": [[(row.batch, row.epoch, _items(row.pending)) for row in files if row.pe == pe.id] for pe in pes],
            "boundaries": [
                [(row.epoch, row.batch) for row in commits if row.pe == pe.id and row.epoch >= shown[pe.id]]
                for pe in pes
            ],
            "states": [_items(stored.files[-1].path) if stored else [] for stored in states],
            "visible": [self._visible(pe.id) for pe in pes],
        }

    def _visible(self, pe: int) -> list[int]:
        return [item for path in sorted((self.directory / f"sink-{pe}").glob("*")) for item in _items(path)]

    def _held(self, units: Iterable[int]) -> HeldUnits:
        names = [self.topology.units[unit] for unit in units]
        return HeldUnits(self.catalog, self.name, self.topology.programs, names)

    def _operator(self, pe: int) -> str:
        """Return the one of a PE that is said to have its state."""
        return min(operator.name for operator in self.topology.programs[pe].operators.values())

    def _sink(self, pe: int) -> str:
        operators = self.topology.programs[pe].operators.values()
        return next(operator.name for operator in operators if not operator.outputs)

    def _row(self, flight: Flight) -> Any:
        """Return the flight as a row: it has the same fields as far as a position goes."""
        return flight

    def _file(self, items: tuple[int, ...]) -> Path:
        self.files += 1
        path = self.directory / f"{self.files}.json"
        path.write_text(json.dumps(items))
        return path


def told(view: PeView) -> dict[str, Any]:
    """Return the contents of a view, without the parts that the model leaves out."""
    return {
        "row": (view.generation, view.batch, view.epoch, view.final, view.trigger_epoch, view.final_epoch),
        "position": (view.position.inputs, view.position.sources, set(view.position.exhausted), view.position.outputs),
        "streams": {
            name: ([(number, epoch, segment.rows) for number, epoch, segment in s.segments], s.producer_epoch, s.ended)
            for name, s in view.streams.items()
        },
    }


def told_by_model(protocol: Protocol, world: World, pe: int) -> dict[str, Any]:
    """Return the model's view of a PE."""
    return told(view(protocol, world, pe))


def state_of_model(protocol: Protocol, world: World) -> dict[str, Any]:
    """Return the model's world as `Product.state` tells it; files that are moved and not marked count as published."""
    positions = [position(protocol.topology, number, pe) for number, pe in enumerate(world.pes)]
    return {
        "pes": [
            (pe.batch, pe.epoch, pe.exhausted, pe.final, (p.inputs, p.sources, set(p.exhausted), p.outputs))
            for pe, p in zip(world.pes, positions, strict=True)
        ],
        "units": [(u.generation, u.trigger, u.completed, u.last, u.done) for u in world.units],
        "resets": [(u.resets.total, u.resets.cause, u.resets.left, list(u.resets.spent)) for u in world.units],
        "segments": [[(p.number, p.batch, p.epoch, list(p.items)) for p in pieces] for pieces in world.streams],
        "files": [[(f.batch, f.epoch, list(f.items)) for f in files if not f.moved] for files in world.files],
        "boundaries": [[(b.epoch, b.pe.batch) for b in boundaries] for boundaries in world.boundaries],
        "states": [list(pe.state) for pe in world.pes],
        "visible": [list(items) for items in world.visible],
    }


def _spent(row: UnitRow) -> list[tuple[str, int]]:
    return sorted((str(each.kind), each.number) for each in row.tries or ())


def _position(stored: dict[str, Any]) -> tuple[Any, ...]:
    return stored["inputs"], stored["sources"], set(stored["exhausted"]), stored["outputs"]


def _items(path: Path | str) -> list[int]:
    with contextlib.suppress(FileNotFoundError):
        return json.loads(Path(path).read_text())
    return [-1]
