"""Mutants: faults put into functions of the product, each of which the simulation has to find."""

from __future__ import annotations

import contextlib
import inspect
import marshal
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from streams_orchestration.operators.databases.table import DatabaseTable
from streams_orchestration.operators.event_time.combined_watermark import CombinedWatermark
from streams_orchestration.operators.journal.writing import Journal
from streams_orchestration.operators.kafka.producer import TransactionalProducer
from streams_orchestration.operators.storage import durable_files
from streams_orchestration.runtime.catalog import host_transitions, start_lock, unit_transitions
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment import control, host_relocation, reset
from streams_orchestration.runtime.hosts import orphans
from streams_orchestration.runtime.hosts.presence import Presence
from streams_orchestration.runtime.hosts.queries import Queries
from streams_orchestration.runtime.machines import agent
from streams_orchestration.runtime.machines.agent import Agent
from streams_orchestration.runtime.processes import processes
from streams_orchestration.runtime.queries import commits, views
from streams_orchestration.runtime.queries.planner import Planner
from streams_orchestration.runtime.redeployment import redeploying, state_migration, switching
from streams_orchestration.runtime.savepoints import atomic_places, creating
from streams_orchestration.runtime.sinks import delivering, publishing, retraction
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.tasks import stored_states
from streams_orchestration.runtime.trials import previous_plan
from streams_orchestration.runtime.units import (
    controller,
    garbage,
    holding,
    region_machine,
    roll_back,
    watch,
)


@dataclass(frozen=True)
class Mutant:
    """A function, a part of its source, and what stands in its place."""

    function: Any
    part: str
    other: str

    @property
    def code(self) -> bytes:
        """The instructions and constants of the function as it is now."""
        return marshal.dumps(inspect.unwrap(self.function).__code__)

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Let the function have its fault within a block, wherever it was imported."""
        function: FunctionType = inspect.unwrap(self.function)
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(self.part) == 1, f"{function.__qualname__} has no single {self.part!r}"
        names: dict[str, Any] = dict(function.__globals__)
        exec(
            compile(
                f"from __future__ import annotations\n{source.replace(self.part, self.other)}",
                function.__code__.co_filename,
                "exec",
            ),
            names,
        )
        before = function.__code__
        made = names[function.__name__]
        function.__code__ = getattr(made, "__wrapped__", made).__code__
        try:
            yield
        finally:
            function.__code__ = before


MUTANTS: dict[str, Mutant] = {
    "a delivery has no mark": Mutant(
        DatabaseTable.write,
        "if not self._mark(connection, key):",
        "if False:",
    ),
    "a mark is not in the transaction of its rows": Mutant(
        DatabaseTable.write,
        "with self._engine.begin() as connection:",
        'with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:',
    ),
    "a mark is written without a check of the previous one": Mutant(
        DatabaseTable._mark, "sa.update(marks).where(*_sink_of(key), before)", "sa.update(marks).where(*_sink_of(key))"
    ),
    "a delivery counts before it is made": Mutant(
        delivering.Deliverer._deliver, "self.sink.deliver_files(key, left)", "pass"
    ),
    "letters are acknowledged before they are on disk": Mutant(Journal._append, "os.fdatasync(self._file)", "pass"),
    "keys of letters are forgotten when a journal is opened": Mutant(
        Journal._recover, "self._keys = keys", "self._keys = {}"
    ),
    "a segment of a journal goes before all of it was read": Mutant(
        Journal.trim, "if following <= number:", "if first <= number:"
    ),
    "messages have no mark": Mutant(
        TransactionalProducer._write,
        "self.client.send_offsets_to_transaction([position], group, COMMIT_SECONDS)",
        "None",
    ),
    "the mark of messages is not in their transaction": Mutant(
        TransactionalProducer._write,
        "self.client.send_offsets_to_transaction([position], group, COMMIT_SECONDS)",
        "self._group.commit(offsets=[position])",
    ),
    "messages are sent without a check of the mark": Mutant(
        TransactionalProducer.is_made, "return self.mark is not None and", "return False and"
    ),
    "a producer does not fence the one before": Mutant(
        TransactionalProducer.__init__,
        '"transactional.id": self.name,',
        '"transactional.id": self.name + world.new_id(),',
    ),
    "the mark is read before the fence": Mutant(
        TransactionalProducer.__init__,
        "self._do(lambda: self.client.init_transactions(2 * CONNECT_SECONDS))\n    self.mark = self._read_mark()",
        "self.mark = self._read_mark()\n    self._do(lambda: self.client.init_transactions(2 * CONNECT_SECONDS))",
    ),
    "no fence": Mutant(
        commits._fence, "if row is None or current != wanted:", "if row is None or row.batch + 1 != plan.batch:"
    ),
    "commits while a unit is unhealthy": Mutant(
        commits._fence, "if row.unit_state in HALTED:", "if row.unit_state in HALTED[1:]:"
    ),
    "a commit that was made is not known again": Mutant(commits._is_made, "return bool(token) and", "return False and"),
    "a commit of another query counts as one's own": Mutant(
        commits._is_made,
        "return bool(token) and connection.scalar(mine) == token",
        "return connection.scalar(mine) is not None",
    ),
    "the last commit of an epoch tells nobody": Mutant(
        commits.commit_batch, "advances = closes and row.unclosed <= 1", "advances = False"
    ),
    "PEs that have an epoch open are counted as they were read": Mutant(
        commits.commit_batch,
        "count_closed(connection, application, row.unit)",
        "connection.execute(_u.update().where(_u.c.application == application, _u.c.name == row.unit)"
        ".values(unclosed=row.unclosed - 1))",
    ),
    "a commit takes no turn of its unit": Mutant(
        commits.commit_batch,
        "else catalog.write_unit(application, program.unit) as connection:",
        "else catalog.note() as connection:",
    ),
    "the garbage of all units is collected in the turn of one": Mutant(
        garbage.collect_garbage,
        "with catalog.write_unit(application, unit) as connection:",
        "with catalog.write_unit(application, min(names)) as connection:",
    ),
    "an operator has the greatest watermark of its streams": Mutant(
        CombinedWatermark.enter, "steps = np.minimum(values, bound)", "steps = values"
    ),
    "results are forgotten in an outage": Mutant(
        Planner._commit,
        "    except CatalogUnavailableError:\n        raise\n",
        "    except CatalogUnavailableError:\n        self._under_way = None\n        raise\n",
    ),
    "results are kept after a commit that was refused": Mutant(
        Planner.finish,
        "    self._under_way = None\n    if committed:\n",
        "    if committed:\n        self._under_way = None\n",
    ),
    "a change between the check and the wait is missed": Mutant(
        Planner._next, "changes.wait(mark, wake_at - began)", "changes.wait(changes.mark(), wake_at - began)"
    ),
    "files are removed before the commit": Mutant(
        watch.advance_units,
        "        remove_files(catalog.store, garbage)\n",
        "            remove_files(catalog.store, garbage)\n",
    ),
    "numbers of segments are used twice": Mutant(
        roll_back._at_cut,
        'kept: dict[str, Any] = {"outputs": pe.position["outputs"]}',
        "kept: dict[str, Any] = {}",
    ),
    "states after the cut are kept": Mutant(
        roll_back.roll_back, "garbage = drop_states_after(connection, application, name, to)", "garbage = []"
    ),
    "nothing is retracted": Mutant(
        roll_back.roll_back, "garbage += mark_retracted(connection, application, name, to)", "pass"
    ),
    "commits after the cut are kept": Mutant(
        roll_back.roll_back, "connection.execute(delete(c).where(after_cut(c, application, name, to)))", "pass"
    ),
    "a reset begins though a host is missing": Mutant(reset.begin_reset, "healthy=health.up", "healthy=True"),
    "a reset keeps the generation": Mutant(
        unit_transitions.reset_unit_to_cut, "generation=unit.generation + 1", "generation=unit.generation"
    ),
    "a PE that has not restarted counts as reset": Mutant(
        region_machine._restored, "if not settings.members <= record.done:", "if False:"
    ),
    "an epoch is complete with its first PE": Mutant(
        region_machine._stored, "if not settings.members <= record.done:", "if False:"
    ),
    "a reset repeats the number of its epoch": Mutant(
        controller.advance_unit,
        "epoch=record.current_epoch + 1)",
        "epoch=unit.completed_epoch)",
    ),
    "a replaced host goes on": Mutant(Presence.row, "if row.incarnation != self.incarnation:", "if False:"),
    "a replaced host writes heartbeats": Mutant(
        host_transitions._report,
        "_OWN, {**mine, ",
        "update(_h).where(_h.c.application == me.application, _h.c.id == me.host), {",
    ),
    "hosts are killed as orphans though they are wanted": Mutant(
        orphans.stop_orphans,
        'elif host.pid is None and host.state == "STARTING":',
        "elif False:",
    ),
    "a file that was not moved counts as published": Mutant(
        publishing._publish, "_link(catalog, application, row)", "pass"
    ),
    "what a reset took back stays": Mutant(
        retraction.mark_retracted,
        "retract_outputs(connection, application, unit, epoch)",
        "pass",
    ),
    "garbage is one batch after the cut": Mutant(
        garbage._collect_unit,
        "cuts = {pe: batch for pe, batch, _ in _cuts(connection, application, members)}",
        "cuts = {pe: batch + 1 for pe, batch, _ in _cuts(connection, application, members)}",
    ),
    "contents are not synchronised": Mutant(Store.sync_contents, "sync_contents(self._durable(addresses))", "pass"),
    "names are not synchronised": Mutant(Store.sync_names, "sync_names(self._durable(addresses))", "pass"),
    "names of new directories are not synchronised": Mutant(durable_files.sync_names, "_sync_above(directory)", "pass"),
    "names of directories of results are not synchronised": Mutant(
        durable_files.make_directory, "_sync_above(directory)", "pass"
    ),
    "a pending name goes before the final one is on disk": Mutant(
        publishing._remove_pending_names, "sync_directory(directory)", "pass"
    ),
    "states that are carried over are not synchronised": Mutant(
        state_migration.Carrier.carry, "self._home.store.sync(self.written)", "pass"
    ),
    "small states of a savepoint are not synchronised": Mutant(
        creating._complete,
        "directory.store.sync_contents(file.path for state in cut.states.values() for file in state.files)",
        "pass",
    ),
    "a savepoint has its name before those of its files are on disk": Mutant(
        atomic_places._filled_beside, "sync_directory(path)", "pass"
    ),
    "states are carried over without a check of the cut": Mutant(
        switching.switch, "if read_cut(connection, held) != new.cut:", "if False:"
    ),
    "a unit within an epoch counts as drained": Mutant(
        holding.at_cut,
        'return connection.execute(_OPEN_PES, this | {"closed": row.completed_epoch}).first() is None',
        "return True",
    ),
    "tuples between units do not count when these are drained": Mutant(
        holding.describe_held_work, "if connection.execute(left.limit(1)).first() is not None:", "if False:"
    ),
    "a hold is not renewed": Mutant(
        redeploying.units_on_hold,
        "suppress(CatalogUnavailableError):\n                hold_units(held, begins=False)",
        "suppress(CatalogUnavailableError):\n                pass",
    ),
    "two redeploys are under way at once": Mutant(
        start_lock._locked, "        return False\n", "        return True\n"
    ),
    "states are removed though their switch may have been made": Mutant(
        state_migration.removed_on_failure, "if not isinstance(error, CommitUnknownError):", "if True:"
    ),
    "the states of a trial's cut are collected": Mutant(
        stored_states.kept_files, "return {path for paths in kept for path in paths}", "return set()"
    ),
    "a revert takes nothing back": Mutant(
        previous_plan._roll_back_tried,
        "garbage += roll_back(connection, unit, to=unit.shown, epoch=unit.current_epoch + 1)",
        "pass",
    ),
    "a revert repeats epochs": Mutant(
        previous_plan.restore_plan,
        "epoch = max([last.last_epoch, *(unit.current_epoch for unit in tried), *(pe.epoch for pe in pes)])",
        "epoch = last.last_epoch",
    ),
    "a revert repeats generations": Mutant(
        previous_plan.restore_plan,
        "generation = 1 + max(last.last_generation, highest)",
        "generation = last.last_generation",
    ),
    "a revert repeats numbers of segments": Mutant(previous_plan._pe_values, "if stream in written}", "if False}"),
    "a redeploy repeats the generation": Mutant(
        switching.begin_plan, "generation = cut.generation + 1", "generation = cut.generation"
    ),
    "a replaced host sweeps": Mutant(garbage._pes_on_other_hosts, "if actual != incarnation:", "if False:"),
    "a sweep asks the catalog before it lists": Mutant(
        garbage.sweep,
        "candidates = [address for pe, address in found if pe not in foreign]",
        "candidates = [str(each) for pe in programs if pe.pe not in foreign"
        " for each in unpublished_files(catalog.home, pe)]"
        "; candidates += [address for pe in numbers if pe not in foreign for kind in ('streams', 'states')"
        " for address in store.below(f'{data}/{kind}/pe-{pe}')]",
    ),
    "files are swept before a unit is healthy": Mutant(
        Queries.start_and_stop_queries,
        "if row.final or row.unit_state in HALTED or row.dirty:",
        "if row.final or row.dirty:",
    ),
    "heartbeats are of the machine's clock": Mutant(
        host_transitions._report, '"heartbeat_at": clock.now()', '"heartbeat_at": world.now()'
    ),
    "a process is known by its pid alone": Mutant(
        processes.is_alive, "abs(actual - started) < _SAME_START", "actual >= 0.0"
    ),
    "a process is known by the wall clock": Mutant(
        processes.process_started,
        'return _since_boot(pid) if sys.platform == "linux" else process.create_time()',
        "return process.create_time()",
    ),
    "an agent starts a host twice": Mutant(
        Agent.turn, 'if host.state == "STARTING" and host.pid is None:', 'if host.state == "STARTING":'
    ),
    "a host that is started too late is not killed": Mutant(Agent._start, "kill(process.pid, process.started)", "pass"),
    "the lease of a former agent is not awaited": Mutant(
        agent._refuse_other, 'if row.state == "DOWN" or not lives:', "if True:"
    ),
    "a slow reading of the clock replaces a fast one": Mutant(
        clock.read, "seconds > max(SLOW_READING_SECONDS, last_reading.seconds)", "False"
    ),
    "a claim for an agent that was lost counts as made": Mutant(
        control.start_missing_hosts,
        "(claimed.elsewhere or len(begun) < len(claimed.here))",
        "len(begun) < len(claimed.here)",
    ),
    "a host stays on a machine whose files it cannot use": Mutant(host_relocation._decide, ">= MOVE_AFTER", ">= 10**9"),
    "garbage is collected by a plan that was replaced": Mutant(
        garbage._is_deployed, "return plan is None or", "return True or"
    ),
    "a query of a plan that was replaced goes on": Mutant(
        views.read_view, "if generation is not None and row.generation != generation:", "if False:"
    ),
}
