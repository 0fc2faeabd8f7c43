"""The operator objects that a worker keeps from batch to batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram, Task
from streams_orchestration.model.secrets import remember_values
from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.event_time.idleness import Idleness
from streams_orchestration.operators.event_time.operator_watermark import OperatorWatermark
from streams_orchestration.operators.implementations.implementation import import_operator, make_operator
from streams_orchestration.operators.states.state import plain_digest
from streams_orchestration.operators.tuples.arrow_types import arrow_schema, required_attributes
from streams_orchestration.runtime.logs.logs import open_operator_logger
from streams_orchestration.runtime.programs.batches import BatchPlan, StoredState
from streams_orchestration.runtime.storage.directories import Directories
from streams_orchestration.runtime.tasks.collected_outputs import CollectedOutputs
from streams_orchestration.runtime.tasks.floors import FLOORS, FlooredOperator, Floors
from streams_orchestration.runtime.tasks.port_links import ChangeableLinks
from streams_orchestration.runtime.tasks.state_files import read_state

SPLITTERS = "@splitters"
"""Key in an operator's state for the positions of its round-robin splitters (rule 21)."""
WATERMARK = "@watermark"
"""Key in an operator's state for its watermark and the watermarks of its connections (EV43)."""
OF_CONNECTIONS = frozenset(("entries", "idle", "rests", "resting"))
"""Keys of a stored watermark for the connections, which another plan does not keep (EV45)."""
OF_RUNTIME = frozenset((SPLITTERS, WATERMARK, FLOORS))
"""Keys in an operator's state for parts that the runtime adds."""


@dataclass(slots=True)
class OperatorInstance:
    """An operator object that a worker keeps, and the stored state that it holds."""

    operator: Operator
    state: StoredState | None = None
    """The stored state that equals the object's; None for the initial state."""
    plain: bytes = b""
    """The digest of those parts of the state that do not record their changes."""
    dirty: bool = False
    """True if a batch has used the object and did not end."""
    round_robin: dict[str, int] = field(default_factory=dict[str, int])
    watermark: OperatorWatermark | None = None
    """The operator's watermark; None outside of event-time graphs."""
    idleness: Idleness | None = None
    """The times for which partitions of a source were without tuples; None for a source that is never idle."""
    submitted: dict[int, int] = field(default_factory=dict[int, int])
    """The number of watermarks that the operator has submitted in its current call, by output port."""

    gathered: CollectedOutputs | None = None
    """The results of the operator while it is called between the watermarks of one batch; else None."""
    readership: int = 0
    """The number of changes of the streams' readers in the last batch, as in `BatchPlan`; 0 before the first batch."""
    outputs: tuple[int, ...] = field(init=False, default=())
    """The output ports that take watermarks."""
    keeps_tuples: bool = field(init=False, default=False)
    """True if the operator's watermark stays at or below the times of the tuples that the operator holds (EV62)."""

    def __post_init__(self) -> None:
        if self.watermark is not None:
            self.outputs = self.watermark.role.outputs
            self.keeps_tuples = self.watermark.role.mode == "heldInput"


class InstanceCache:
    """The operator objects of one worker, by PE and task; objects of another life or generation are dropped."""

    def __init__(self) -> None:
        self._instances: dict[tuple[str, int, int], tuple[str, dict[int, OperatorInstance]]] = {}

    def of(self, program: PeProgram, task: Task, plan: BatchPlan) -> dict[int, OperatorInstance]:
        """Return the map from operator numbers to objects for one task, which the caller fills and changes.

        The map is empty if the task's last call was in another life or generation, or there was none.
        """
        key, version = (program.application, program.pe, task.home), f"{plan.life}/{plan.generation}"
        if self._instances.get(key, ("", {}))[0] != version:
            self._instances[key] = (version, {})
        return self._instances[key][1]


def make_instance(
    program: OperatorProgram, stored: StoredState | None, directories: Directories, resets: int
) -> OperatorInstance:
    """Make an operator object with a stored state, or with the initial one, and set it up; open the log of its PE.

    Secrets among its parameters are hidden in messages from now on. Errors of the operator's own code are raised as
    they are. `resets` is the number of resets of the operator's unit.

    Raises:
        ImplementationError: its class cannot be imported.
        ResultError: its class lacks what every operator needs.
        OperatorError: the stored state is gone or was altered, or cannot be read.
        OSError: the log cannot be opened.
    """
    implementation = import_operator(program.implementation)
    context = operator_context(program, directories)
    context.resets = resets
    context.logger = open_operator_logger(program.name, directories.log, directories.log_size)
    remember_values(program.parameters)
    parameters = implementation.Parameters.model_validate(program.parameters)
    state = {} if stored is None else read_state(directories.store, stored)
    if FLOORS in state:
        operator = FlooredOperator(implementation, context, parameters, Floors.of(state[FLOORS]))
    else:
        operator = make_operator(implementation, context, parameters)
    role = program.event_time
    watermark = None if role is None else OperatorWatermark(role, program.entries.values())
    idleness = None
    if role is not None and watermark is not None and watermark.clock is not None and role.idle_after is not None:
        idleness = Idleness(watermark.clock, role.idle_after)
    if stored is None:
        return OperatorInstance(operator, watermark=watermark, idleness=idleness)
    plain = plain_digest(state)
    positions = state.pop(SPLITTERS, {})
    reached = state.pop(WATERMARK, None)
    if watermark is not None and reached is not None:
        watermark.load(reached)
        context.watermark = watermark.seen
    operator.restore(state)
    return OperatorInstance(operator, stored, plain, round_robin=positions, watermark=watermark, idleness=idleness)


def operator_context(program: OperatorProgram, directories: Directories) -> OperatorContext:
    """Return the context of an operator, from its program; `TaskRun` adds the functions that depend on the batch."""
    context = OperatorContext(
        name=program.name,
        inputs=tuple(arrow_schema(ddl) for ddl in program.inputs),
        outputs=tuple(None if ddl is None else arrow_schema(ddl) for ddl in program.outputs),
        required=tuple(required_attributes(ddl or "") for ddl in program.outputs),
        ports=program.ports,
        channel=program.channel,
        max_channels=program.max_channels,
        local_channel=program.local_channel,
        local_max_channels=program.local_max_channels,
        pe=program.pe,
        application=directories.application,
        time_zone=program.time_zone,
        region=program.region,
        event_time=program.event_time,
        base=Path(directories.base),
        results=Path(directories.results),
        pending=Path(directories.outputs),
        names=Path(directories.names),
    )
    if program.links is not None:
        context.links = ChangeableLinks(program.links, context.zone)
    return context
