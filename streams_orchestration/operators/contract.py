"""The operator SDK: what a class must do to be an operator of an application."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict

from streams_orchestration.model.operators import OperatorModel
from streams_orchestration.model.visibility import Visibility
from streams_orchestration.operators.background import Background
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.context import OperatorContext, Punctuation
from streams_orchestration.operators.errors import ResultError
from streams_orchestration.operators.mentions import Mentions
from streams_orchestration.operators.results import check_offset, check_port, check_tuples, described
from streams_orchestration.operators.states.rescaling import (
    PortKeys,
    Route,
    Sharding,
    StateKeys,
    declared_keys,
    declared_sharding,
    divide_declared,
)
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.storage.port import File

Offset = dict[str, Any]
"""The position of a source, as JSON that only the source interprets."""


class Parameters(BaseModel):
    """Base of an operator's parameters; unknown ones are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class PendingFile(NamedTuple):
    """A file that a sink has written and that becomes visible with its epoch, or with its batch.

    The framework has it on disk before the commit that names it, and checks that it is unaltered when it leaves.
    """

    pending: Path
    final: Path | str | None
    """A path, or the address of a `GatheringSink`; None when it goes to something else than a file: `EpochSink`."""
    rows: int
    size: int
    """Bytes."""


class ProducedTo(NamedTuple):
    """The position of a source after one call."""

    offset: Offset
    exhausted: bool


class Operator:
    """An operator: `process` is called with the tuples of an input port, and submits to output ports.

    An instance handles one replica in one task at a time, so it needs no locks. The framework may keep it between
    micro-batches, or make a new one and `restore` it: nothing may be kept that `checkpoint` does not tell.
    """

    Parameters: ClassVar[type[Parameters]] = Parameters
    unsupported: ClassVar[Mapping[str, str]] = {}
    """Parameters that the operator of this name has in Streams and that cannot be used here, each with what to do."""
    stateful: ClassVar[bool] = False
    state_keys: ClassVar[StateKeys] = {}
    """Part of the state -> attributes of input port 0 that its keys are made of; see `rescale`."""
    free_parameters: ClassVar[frozenset[str]] = frozenset()
    """Parameters that do not change the meaning of the state; see `keeps_state`."""
    passes_marks: ClassVar[bool] = True
    """Window marks go on at once to the output ports whose model preserves them; else the operator submits them."""
    pure: bool = False
    """`process` depends on nothing but its tuples and changes nothing: it may be called again to find a bad tuple."""
    model: ClassVar[OperatorModel | None] = None
    """Requirements of the class on its ports and threads; a spec that conflicts with them is not deployed."""

    def __init__(self, context: OperatorContext, parameters: Any) -> None:
        self.context = context
        self.parameters = parameters

    @classmethod
    def check(cls, context: OperatorContext, parameters: Any) -> None:
        """Check attributes, expressions and files before anything starts. No side effects.

        Raises:
            ValueError: says what is wrong with which parameter, and the remedy.
        """

    @classmethod
    def mentions(cls, parameters: Any) -> Mentions | None:
        """Return the attributes that the parameters name; None where only `check` knows.

        Where the streams plainly have all of them, `check` must not raise UnknownAttributeError: compiling leaves it
        out then, and with it everything that takes long to import.
        """
        return None

    @classmethod
    def advice(cls, parameters: Any) -> str | None:
        """Say what of the parameters is allowed and rarely meant, and what to do about it; None if nothing is."""
        return None

    @classmethod
    def input_files(cls, parameters: Any) -> tuple[str, ...]:
        """Return the input files, directories and patterns that the parameters name."""
        return ()

    @classmethod
    def published(cls, context: OperatorContext, parameters: Any) -> tuple[File, ...]:
        """Return files that look like published outputs of the operator, left by an earlier life."""
        return ()

    @classmethod
    def directory(cls, context: OperatorContext, parameters: Any) -> Path | str | None:
        """Return the directory, or its address, that the operator publishes into and shares with its siblings only."""
        return None

    @classmethod
    def read_with(cls, context: OperatorContext, parameters: Any) -> dict[str, Any] | None:
        """Return the parameters of a FileSource that reads the files in `directory`, and `schema`; None if none can."""
        return None

    @classmethod
    def visibility(cls, parameters: Any) -> Visibility:
        """Return when outputs of `prepare_commit` become visible; by the parameter `visibility`, if there is one."""
        return getattr(parameters, "visibility", "read_committed")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: Any) -> str:
        """Return the place of the outputs, for messages; without secrets."""
        return str(cls.directory(context, parameters) or "")

    @classmethod
    def unpublished(cls, context: OperatorContext, parameters: Any) -> tuple[Path, ...]:
        """Return the unpublished files of this replica; those that no commit names are removed."""
        return ()

    def setup(self) -> None:
        """Open resources; called once before the first tuple."""

    def process(self, port: int, batch: TupleBatch) -> None:
        """Handle tuples that arrived on an input port."""

    def load(self) -> None:
        """Import the modules that the operator's threads, and those of the host, need; connect to nothing.

        Called on the main thread of a process before a thread uses the operator: when two threads import a package
        first, one may see it half initialised. An exception is ignored here, since the use of the module will raise it
        again.
        """

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Handle a mark; called for `FINAL` once, when every connection of the port has delivered it (rule 24).

        Window markers are passed on to the output ports whose model preserves them, unless `passes_marks` is false;
        final ones to all.
        """

    def drain(self) -> None:
        """Finish work in progress before a checkpoint of the region; may submit (B16)."""

    def checkpoint(self) -> State:
        """Return all parts of the state; called after `drain`. Parts that track their changes are stored as changes."""
        return {}

    def restore(self, state: State) -> None:
        """Take over a state that `checkpoint` gave."""

    def reset_to_initial_state(self) -> None:
        """Forget everything; called instead of `restore` when there is no checkpoint yet (B25)."""

    @classmethod
    def has_state(cls, parameters: Any) -> bool:
        """Return True if the operator may keep anything from one micro-batch to the next."""
        return cls.checkpoint is not Operator.checkpoint

    @classmethod
    def keeps_state(cls, before: Any, after: Any) -> bool:
        """Return True if a state made under some parameters has the same meaning under others."""
        free = set(cls.free_parameters)
        return before.model_dump(exclude=free) == after.model_dump(exclude=free)

    @classmethod
    def state_attributes(cls, parameters: Any) -> Collection[str] | None:
        """Return the attributes of the input streams that the state is made of; None for all."""
        return None

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: Any) -> Sharding:
        """Return how a change of the width would divide the state; always possible with an own `rescale`."""
        own = cls.rescale is not Operator.rescale
        return Sharding(anyhow=True) if own else declared_sharding(cls.state_keys)

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Divide the states of the previous replicas among the new ones.

        Called after `setup`, and changes nothing but what it is given. States are as `checkpoint` gave them; those of
        a source are its offsets. A replica without any has the one after `reset_to_initial_state`, or no parts.

        Returns:
            `route.width` states.

        Raises:
            RescaleError: they cannot be divided.
        """
        return divide_declared(self.state_keys, states, route, self.context.inputs[0] if self.context.inputs else None)

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the keys that lie in a state, by which it is proved that they lie where their tuples go."""
        schema = self.context.inputs[0] if self.context.inputs else None
        return [PortKeys(0, keys) for keys in declared_keys(self.state_keys, state, schema)] if self.state_keys else []

    def prepare_commit(self) -> tuple[PendingFile, ...]:
        """Finish the micro-batch and return the files that belong to it."""
        return ()

    def brings(self, port: int) -> bool:
        """Return True if the tuples of an output port are data from outside: rows that come into its PE."""
        return False

    def code_modules(self) -> tuple[str, ...]:
        """Return the modules with the operator's own code: errors name the line in it where they were raised."""
        return tuple(kind.__module__ for kind in type(self).__mro__)

    def submit(self, batch: TupleBatch, port: int = 0) -> None:
        """Send tuples to everything that is connected to an output port.

        Raises:
            ResultError: there is no such port, or these are no tuples of its type.
        """
        check_tuples(batch, port, self.context.outputs)
        if len(batch):
            self.context.submit(port, batch)

    def punctuate(self, mark: Punctuation, port: int = 0) -> None:
        """Send a mark to everything that is connected to an output port.

        Raises:
            ResultError: there is no such port, or this is no mark.
        """
        check_port(port, self.context.outputs)
        if not isinstance(mark, Punctuation):
            message = f"it punctuates with {described(mark)}; a mark is Punctuation.WINDOW or Punctuation.FINAL"
            raise ResultError(message)
        self.context.punctuate(port, mark)


class SourceOperator(Operator):
    """An operator without input ports that can produce the same tuples again from an offset."""

    until: Offset | None = None
    """The end of a run that takes only the available input, as `available` returned it; None in any other run."""

    def __init__(self, context: OperatorContext, parameters: Any) -> None:
        super().__init__(context, parameters)
        self.background = Background()
        """Starts threads that read ahead on the source's account."""

    @classmethod
    def initial_offset(cls) -> Offset:
        """Return the offset at which production begins."""
        return {}

    @classmethod
    def has_state(cls, parameters: Any) -> bool:
        """Return True: a source has its offset."""
        return True

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: Any) -> Sharding:
        """Return that only a class with a `rescale` of its own can divide the offset."""
        sharding = super().sharding(context, parameters)
        return sharding if sharding.anyhow else Sharding(refusal="is an offset that cannot be divided among channels")

    @classmethod
    def restored(cls, offset: Offset) -> Offset:
        """Return the offset to begin at when an application starts from a savepoint that was taken at `offset`."""
        return offset

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit at most about `limit` tuples from `offset` on, and none behind `until`, where that is set.

        Must submit the same tuples in the same order whenever it is called with the same offset. It is exhausted at its
        end, and at `until`.
        """
        raise NotImplementedError

    def available(self, offset: Offset) -> Offset | None:
        """Return the end of the input that exists now, as JSON that only the source interprets and finds in `until`.

        Called once in a run that takes only the available input (`--available-now`), before `produce`. Return None
        while the counterpart cannot be reached; it is called again after `pause`.
        """
        raise NotImplementedError

    @classmethod
    def endless(cls, parameters: Any) -> str | None:
        """Return why no run can be limited to the available input, or None if one can."""
        if cls.available is SourceOperator.available:
            return f"{cls.__name__} does not say where what is there now ends; give it a method `available`"
        return None

    @classmethod
    def continued(cls, offset: Offset) -> Offset:
        """Return the offset to go on from when an application that came to its end runs again."""
        return offset

    def brings(self, port: int) -> bool:
        """Return True; a source that only names data, which another operator reads, returns False."""
        return True

    def confirm(self, offset: Offset) -> None:
        """Tell the counterpart that no cut needs anything before `offset` any more, so that it may forget that.

        Called again and again in the process of the host that has the source's PE, on an object of its own. What is
        raised is logged, and tried again.
        """

    def pause(self) -> float | None:
        """Return the seconds until `produce` may have tuples again, as of its last call; 0 for at once.

        None, the default, when the source cannot say: it is asked again at once when its offset has moved, else after
        a pause that doubles up to 0.2 s.
        """
        return None

    def place(self) -> str:
        """Return the file and rows of the last submitted tuples, for errors of later operators."""
        return ""


def check_produced(produced: ProducedTo) -> ProducedTo:
    """Return the result of `produce`; raises ResultError when it has a wrong type."""
    if not isinstance(produced, ProducedTo):
        message = f"its `produce` returned {described(produced)}; it returns ProducedTo(offset, exhausted)"
        raise ResultError(message)
    check_offset(produced.offset)
    return produced


def check_available(bound: Offset | None) -> Offset | None:
    """Return the result of `available`; raises ResultError when it has a wrong type."""
    if bound is not None and not isinstance(bound, dict):
        message = f"its `available` returned {described(bound)}; it returns a dict of JSON, or None"
        raise ResultError(message)
    return bound


def check_pause(pause: float | None) -> float | None:
    """Return the result of `pause`; raises ResultError when it has a wrong type."""
    if pause is not None and not (isinstance(pause, int | float) and pause >= 0):
        message = f"its `pause` returned {described(pause)}; it returns seconds, 0 or more, or None"
        raise ResultError(message)
    return pause


def check_files(files: tuple[PendingFile, ...]) -> tuple[PendingFile, ...]:
    """Return the result of `prepare_commit`; raises ResultError when it has a wrong type."""
    if not isinstance(files, tuple | list) or not all(isinstance(file, PendingFile) for file in files):
        message = f"its `prepare_commit` returned {described(files)}; it returns a tuple of PendingFile"
        raise ResultError(message)
    return tuple(files)
