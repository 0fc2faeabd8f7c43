"""The operator SDK: the base classes that an operator of an application implements."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, ClassVar

from streams_orchestration.model.operators import OperatorModel, WatermarkMode
from streams_orchestration.model.visibility import Visibility
from streams_orchestration.operators.background.background import Background
from streams_orchestration.operators.contract.context import OperatorContext, Punctuation
from streams_orchestration.operators.contract.parameters import Parameters
from streams_orchestration.operators.contract.results import (
    Offset,
    PendingFile,
    ProducedTo,
    check_port,
    check_tuples,
    no_mark,
    partitions_of,
)
from streams_orchestration.operators.errors.errors import ResultError
from streams_orchestration.operators.event_time.access import EventTime
from streams_orchestration.operators.expressions.mentioned_attributes import Mentions, NamingParameters
from streams_orchestration.operators.loading.libraries import import_modules
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
from streams_orchestration.operators.states.timers import DueTimers, Timers
from streams_orchestration.operators.storage.port import File
from streams_orchestration.operators.tuples.batch import TupleBatch


class Operator:
    """Base class of operators: `process` receives the tuples of an input port and submits tuples to output ports.

    An instance serves one replica in one task at a time, so it needs no locks. Between micro-batches the framework may
    keep the instance, or create a new one and call `restore`. So everything that must survive has to be part of
    `checkpoint`.
    """

    Parameters: ClassVar[type[Parameters]] = Parameters
    stateful: ClassVar[bool] = False
    """True if tuples depend on earlier ones, so that one instance must process all of them; see `has_state`."""
    state_keys: ClassVar[StateKeys] = {}
    """Map each part of the state to the attributes of input port 0 that form its keys; see `rescale`."""
    indivisible: ClassVar[str] = ""
    """The reason why another number of channels cannot divide the state, as in "is the next port of one channel"."""
    free_parameters: ClassVar[frozenset[str]] = frozenset()
    """Parameters that can change without invalidating the state; see `keeps_state`."""
    passes_marks: ClassVar[bool] = True
    """True if the framework forwards window marks to output ports that preserve them; False if the operator does."""
    heeds_marks: bool | None = None
    """False if `on_punctuation` ignores window marks, so they split no batches; None derives it from its methods."""
    keeps_places: bool = False
    """True if `process` accepts batches with watermarks and keeps them in submitted batches, as `filter` and `take` do.
    Watermarks that it does not submit follow its tuples. If False, it gets the tuples between two watermarks.
    `setup` may set this."""
    control_ports: ClassVar[tuple[int, ...]] = ()
    """Input ports whose tuples are never kept, but may release tuples that are kept; see `held`."""
    watermark_mode: ClassVar[WatermarkMode | None] = None
    """The origin of the operator's watermark in an event-time graph. None means the input ports, or for an annotated
    operator its output. The application's declaration must have the same mode, as `watermarkMode`."""
    pure: bool = False
    """True if `process` depends only on its tuples and has no side effects, so a bad tuple is found by repeating it."""
    naming_parameters: ClassVar[NamingParameters | None] = None
    """The parameters that name attributes, with which `mentions` answers. None if only `check` can determine them."""
    loaded_modules: ClassVar[tuple[str, ...]] = ()
    """The modules that `load` imports by default."""
    timers: Timers
    """The timers of an operator in an event-time graph, made in `setup`; a part of its state. Most have none."""
    model: ClassVar[OperatorModel | None] = None
    """Requirements of the class on its ports and threads. A spec that conflicts with them is not deployed."""

    def __init__(self, context: OperatorContext, parameters: Any) -> None:
        self.context = context
        self.parameters = parameters

    @functools.cached_property
    def event_time(self) -> EventTime | None:
        """The event-time attribute and the watermark; None outside of event-time graphs."""
        role = self.context.event_time
        return None if role is None else EventTime(role, self.context)

    @classmethod
    def check(cls, context: OperatorContext, parameters: Any) -> None:
        """Check attributes, expressions and files before anything starts, without side effects.

        Raises:
            ValueError: a parameter is wrong; the message names it, the fault and the remedy.
        """

    @classmethod
    def mentions(cls, parameters: Any) -> Mentions | None:
        """Return the attributes that the parameters refer to, or None if only `check` can determine them.

        If the streams have all these attributes, `check` must not raise UnknownAttributeError. The compiler then skips
        `check`, and with it slow imports.
        """
        return None if cls.naming_parameters is None else cls.naming_parameters.mentions(parameters)

    @classmethod
    def advice(cls, parameters: Any) -> str | None:
        """Return a warning, with its remedy, about parameters that are allowed but rarely intended, or None."""
        return None

    @classmethod
    def input_files(cls, parameters: Any) -> tuple[str, ...]:
        """Return the input files, directories and glob patterns that the parameters name."""
        return ()

    @classmethod
    def published(cls, context: OperatorContext, parameters: Any) -> tuple[File, ...]:
        """Return existing files that look like outputs that an earlier deployment of the operator published."""
        return ()

    @classmethod
    def directory(cls, context: OperatorContext, parameters: Any) -> Path | str | None:
        """Return the path or address of the directory that the operator and its replicas publish into, or None."""
        return None

    @classmethod
    def read_with(cls, context: OperatorContext, parameters: Any) -> dict[str, Any] | None:
        """Return FileSource parameters, with `schema`, that read the published files; None if FileSource cannot."""
        return None

    @classmethod
    def visibility(cls, parameters: Any) -> Visibility:
        """Return when outputs of `prepare_commit` become visible: the parameter `visibility`, or `read_committed`."""
        return getattr(parameters, "visibility", "read_committed")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: Any) -> str:
        """Return the location of the outputs for messages, without secrets; by default `directory` or nothing."""
        return str(cls.directory(context, parameters) or "")

    @classmethod
    def unpublished(cls, context: OperatorContext, parameters: Any) -> tuple[Path, ...]:
        """Return this replica's unpublished files. The framework removes those that no commit names."""
        return ()

    def setup(self) -> None:
        """Open resources, once, before the first tuple and `restore`. Raises ValueError or OSError if it cannot."""

    def process(self, port: int, batch: TupleBatch) -> None:
        """Handle tuples that arrived on an input port. Raises DataError or TupleError if a value does not fit."""

    def load(self) -> None:
        """Import the modules that the operator's threads and the host's threads need, without connecting to anything.

        Called on the main thread of a process before any thread uses the operator. If two threads import a package for
        the first time together, one may see it half initialised. Exceptions are ignored here, since using the module
        raises them again.
        """
        import_modules(*self.loaded_modules)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Handle a mark. `FINAL` arrives once, after every connection of the port has delivered it (rule 24).

        Window marks are forwarded to the output ports whose model preserves them, unless `passes_marks` is false. Final
        marks are forwarded to all output ports. Raises DataError or TupleError if a value does not fit.
        """

    def on_watermark(self, watermark: int) -> None:
        """Handle a step of the operator's watermark, in ticks, before it is sent on; may submit tuples (EV21).

        Called for operators in an event-time graph that do not set `keeps_places`. The greatest watermark, 2**63 - 1,
        says that all streams have ended. Raises DataError or TupleError if a value does not fit.
        """

    def on_timers(self, due: DueTimers) -> None:
        """Handle timers that the watermark has reached; may submit tuples (EV60). Called before `on_watermark`.

        Timers that it sets at or below the watermark fire in a further call of the same step.
        """

    def on_timer(self, key: Any, time: int) -> None:
        """Handle one timer that the watermark has reached; called for each one in order, if there is no `on_timers`.

        Args:
            key: the key; a tuple if it has several attributes.
            time: the time of the timer in ticks.
        """

    def held(self) -> int | None:
        """Return the least event time in ticks among tuples that the operator keeps and may submit later, or None.

        The watermark of an operator in the mode `heldInput` does not pass it (EV62).
        """
        return None

    def set_watermark(self, watermark: int) -> None:
        """Set the watermark of an operator in the mode `manual`, in ticks (EV23).

        A watermark that does not rise by at least the minimum gap, and by at least one tick, is ignored.
        `watermarks.IDLE` says that the operator's streams are idle until their next tuple (EV51).

        Raises:
            ResultError: the operator is in no event-time graph, or in another mode.
        """
        self.context.set_watermark(watermark)

    def drain(self) -> None:
        """Finish pending work before a checkpoint of the region; may submit tuples (B16)."""

    def checkpoint(self) -> State:
        """Return all parts of the state. Called after `drain`. Parts that track changes are stored incrementally."""
        return {}

    def restore(self, state: State) -> None:
        """Restore a state that `checkpoint` returned. Raises StateError or DataError if it does not fit."""

    @classmethod
    def has_state(cls, parameters: Any) -> bool:
        """Return True if the operator may keep state between micro-batches; by default, if it has a `checkpoint`."""
        return cls.checkpoint is not Operator.checkpoint

    @classmethod
    def keeps_state(cls, before: Any, after: Any) -> bool:
        """Return True if a state of `before` is valid with `after`: by default, if only `free_parameters` differ."""
        free = set(cls.free_parameters)
        return before.model_dump(exclude=free) == after.model_dump(exclude=free)

    @classmethod
    def state_attributes(cls, parameters: Any) -> Collection[str] | None:
        """Return the input attributes that the state depends on; None for all of them."""
        return None

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: Any) -> Sharding:
        """Return the way in which another number of channels would divide the state, or the reason why it cannot.

        It is impossible if the class is `indivisible`, and always possible if it has a `rescale`.
        """
        if cls.indivisible:
            return Sharding(refusal=cls.indivisible)
        own = cls.rescale is not Operator.rescale
        return Sharding(anyhow=True) if own else declared_sharding(cls.state_keys)

    def rescale(self, states: Sequence[State], route: Route) -> Sequence[State]:
        """Divide the states of the old replicas among the new ones, and return `route.width` states.

        Called after `setup`; changes only the given states. A state is what `checkpoint` returned; the state of a
        source is its offset. For a replica without a state, it is the one after `setup`, or has no parts.

        Raises:
            RescaleError: the states cannot be divided.
        """
        return divide_declared(self.state_keys, states, route, self.context.inputs[0] if self.context.inputs else None)

    def keys_of(self, state: State) -> Sequence[PortKeys]:
        """Return the keys in a state, to verify their channel; by default by `state_keys`, see `declared_keys`."""
        schema = self.context.inputs[0] if self.context.inputs else None
        return [PortKeys(0, keys) for keys in declared_keys(self.state_keys, state, schema)] if self.state_keys else []

    def prepare_commit(self) -> tuple[PendingFile, ...]:
        """Finish the micro-batch and return its output files."""
        return ()

    def brings(self, port: int) -> bool:
        """Return True if an output port's tuples come from outside the application; they count as rows read."""
        return False

    def code_modules(self) -> tuple[str, ...]:
        """Return the modules that contain the operator's code. An error shows the line in them that raised it."""
        return tuple(kind.__module__ for kind in type(self).__mro__)

    def submit(self, batch: TupleBatch, port: int = 0) -> None:
        """Send tuples to every connection of an output port. A batch without tuples and watermarks is not sent.

        Raises:
            ResultError: the port does not exist, or the tuples do not have its type.
        """
        check_tuples(batch, port, self.context.outputs)
        if len(batch) or batch.watermarks is not None:
            self.context.submit(port, batch)

    def punctuate(self, mark: Punctuation, port: int = 0) -> None:
        """Send a mark to every connection of an output port.

        Raises:
            ResultError: the port does not exist, or `mark` is not a `Punctuation`.
        """
        check_port(port, self.context.outputs)
        if not isinstance(mark, Punctuation):
            raise ResultError(no_mark(mark))
        self.context.punctuate(port, mark)


class SourceOperator(Operator):
    """Base class of operators without input ports that can produce the same tuples again from an offset."""

    until: Offset | None = None
    """The end of a run with `--available-now`, as `available` returned it; None in any other run."""

    def __init__(self, context: OperatorContext, parameters: Any) -> None:
        super().__init__(context, parameters)
        self.background = Background()
        """Runs threads that read ahead, and counts their processor time for this source."""

    @classmethod
    def initial_offset(cls) -> Offset:
        """Return the offset of the first call of `produce`; empty by default."""
        return {}

    @classmethod
    def has_state(cls, parameters: Any) -> bool:
        """Return True: every source has its offset as state."""
        return True

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: Any) -> Sharding:
        """Return a refusal unless the class has a `rescale` of its own, since only that can divide an offset."""
        sharding = super().sharding(context, parameters)
        return sharding if sharding.anyhow else Sharding(refusal="is an offset that cannot be divided among channels")

    @classmethod
    def restored(cls, offset: Offset) -> Offset:
        """Return the offset to start from after a restore from a savepoint with `offset`; by default `offset`."""
        return offset

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit about `limit` tuples at most, starting at `offset` and ending at `until` if that is set.

        The same offset must always give the same tuples in the same order. `exhausted` is true at the end of the input
        and at `until`. Raises DataError or TupleError if the input is lost, or a value does not fit.
        """
        raise NotImplementedError

    def submit(self, batch: TupleBatch, port: int = 0, *, partitions: Any = None) -> None:
        """Send tuples, in event time with each one's partition. Raises ResultError if one of the three is wrong."""
        if partitions is not None and self.context.event_time is not None and isinstance(batch, TupleBatch):
            batch.partitions = partitions_of(partitions, len(batch))
        super().submit(batch, port)

    def assign(self, partitions: Collection[int | str]) -> None:
        """Set the partitions read. In event time, new ones hold the watermark back; without any it is idle (EV52)."""
        self.context.assign([str(each) for each in partitions])

    def at_end(self) -> Collection[int | str] | None:
        """Return the partitions that `produce` read to their end (EV51).

        None, the default, means all of them if the last call gave no tuples and kept its offset, else none.
        """
        return None

    def available(self, offset: Offset) -> Offset | None:
        """Return the end of the input that exists now, as JSON that the source later finds in `until`.

        Called once before `produce` in a run with `--available-now`. If the external system cannot be reached, return
        None; the method is called again after `pause`. Raises ValueError if the input can never be read.
        """
        raise NotImplementedError

    @classmethod
    def endless(cls, parameters: Any) -> str | None:
        """Return the reason why a run cannot be limited to the available input, or None if it can."""
        if cls.available is SourceOperator.available:
            return f"{cls.__name__} cannot tell where its available input ends; define a method `available`"
        return None

    @classmethod
    def continued(cls, offset: Offset) -> Offset:
        """Return the offset at which a completed application continues if it is run again; by default `offset`."""
        return offset

    def brings(self, port: int) -> bool:
        """Return True, since a source reads its tuples from outside the application.

        A source that only names data for another operator to read returns False.
        """
        return True

    def confirm(self, offset: Offset) -> None:
        """Tell the external system that no cut needs data before `offset`, so the system may discard it.

        Called repeatedly on a separate object in the process of the host that runs the source's PE. An exception is
        logged and the call is retried.
        """

    def pause(self) -> float | None:
        """Return the seconds until `produce` may have new tuples, judged by its last call; 0 for at once.

        None, the default, means that the source cannot say. It is then called at once if its offset moved, else after a
        pause that doubles up to 0.2 s.
        """
        return None

    def place(self) -> str:
        """Return the file and rows of the last submitted tuples, for errors of later operators; empty if unknown."""
        return ""
