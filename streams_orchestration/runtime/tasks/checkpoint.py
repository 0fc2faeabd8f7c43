"""The checkpoint at the end of a task: states of operators that the batch changed, and finished files of sinks."""

from __future__ import annotations

from functools import partial
from typing import Any

from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.contract.results import check_files, check_state
from streams_orchestration.operators.storage.durable_files import checksum_of
from streams_orchestration.runtime.programs.batches import BatchPlan, SinkFile, StoredState
from streams_orchestration.runtime.storage.directories import Directories
from streams_orchestration.runtime.storage.pending_files import store_waiting_file
from streams_orchestration.runtime.tasks.calls import OperatorCalls
from streams_orchestration.runtime.tasks.floors import FlooredOperator
from streams_orchestration.runtime.tasks.instances import SPLITTERS, WATERMARK, OperatorInstance
from streams_orchestration.runtime.tasks.state_files import small_state, state_data, store_dump


class Checkpoint:
    """The states and sink files that a task stores when it ends, for its result."""

    def __init__(self, pe: PeProgram, plan: BatchPlan, directories: Directories, calls: OperatorCalls) -> None:
        self._small = small_state(pe)
        self._plan = plan
        self._directories = directories
        self._calls = calls
        self.states: list[StoredState] = []
        self.files: list[SinkFile] = []
        self.written: list[str] = []
        """Addresses of written files that are not durable yet."""

    def take(self, program: OperatorProgram, instance: OperatorInstance, *, changed: bool) -> None:
        """Let one operator finish its sink files, hand them over, and store its state; add both to this checkpoint.

        A sink file that a shared storage holds then is removed from this machine. The state is left out if the operator
        is not stateful, was not called, or has the same state as before. The files in `written` are not durable yet.
        The next batch can use the operator's object, unless that is a `FlooredOperator` whose objects are now joined.
        `changed` says that the operator was called, so that its state may have changed.

        Raises:
            OperatorError: the operator raised, or its state has a value that cannot be stored.
            OSError: a file cannot be read or written.
        """
        operator = instance.operator
        if type(operator).prepare_commit is not Operator.prepare_commit:
            for file in self._calls.call(program, lambda: check_files(operator.prepare_commit())):
                final = None if file.final is None else str(file.final)
                checksum = checksum_of(file.pending)
                pending = store_waiting_file(self._directories.store, file.pending, self._directories.waiting)
                if pending != str(file.pending):
                    file.pending.unlink()
                self.written.append(pending)
                self.files.append(SinkFile(program.name, pending, final, file.rows, file.size, checksum))
        if program.stateful and changed:
            state = dict(self._calls.call(program, lambda: check_state(operator.checkpoint())))
            if isinstance(operator, FlooredOperator) and operator.passed:  # the state of one operator, with other parts
                instance.state, instance.plain = None, b""
            if instance.round_robin:
                state[SPLITTERS] = dict(instance.round_robin)
            if instance.watermark is not None:
                state[WATERMARK] = instance.watermark.dump()
            if state or instance.state is not None:
                store = partial(self._store, program, state, instance)
                stored = self._calls.meter.charge(self._calls.meter.operators[program.index], store)
                if stored is not None:
                    self.states.append(stored)
        # the next batch stores the state again
        instance.dirty = isinstance(operator, FlooredOperator) and operator.passed

    def _store(self, program: OperatorProgram, state: dict[str, Any], instance: OperatorInstance) -> StoredState | None:
        """Store the state as the instance's newest one, and return it; None if it has not changed since then."""
        plan, former = self._plan, instance.state
        dump = self._calls.call(program, lambda: state_data(state, plan.batch, former, instance.plain))
        if not dump.parts:
            return None
        store, directory = self._directories.store, self._directories.states
        file = store_dump(store, directory, plan.generation, plan.batch, program.index, dump, self._small)
        if file.path:
            self.written.append(file.path)
        before = () if former is None else former.files[: dump.kept]
        instance.state, instance.plain = StoredState(program.name, (*before, file)), dump.plain
        return instance.state
