"""The context that an operator runs in, and punctuation marks."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from streams_orchestration.expressions.times import expected_zone
from streams_orchestration.operators.contract.metrics import Metrics
from streams_orchestration.operators.contract.region_role import RegionRole, not_the_trigger
from streams_orchestration.operators.errors.errors import ResultError
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import arrow_schema, required_attributes
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.spl.programs.run import PortLinks, RandomNumbers


class Punctuation(Enum):
    """A punctuation mark: an event between the tuples of a stream."""

    WINDOW = "window"
    FINAL = "final"


def _sets_no_watermark(watermark: int) -> None:
    """Raise ResultError: the default of `OperatorContext.set_watermark`, for all modes but `manual`."""
    message = (
        f"it sets the watermark {watermark}, but only an operator in the event-time mode `manual` may set watermarks"
    )
    raise ResultError(message)


@dataclass(slots=True)
class OperatorContext:
    """The facts about its surroundings that an operator may use."""

    name: str
    """The operator's physical name, such as `Stats[1].Delays`."""
    inputs: tuple[pa.Schema, ...] = ()
    outputs: tuple[pa.Schema | None, ...] = ()
    required: tuple[tuple[str, ...], ...] = ()
    """The NOT NULL attributes of each output port, as far as they are known."""
    ports: tuple[str, ...] = ()
    """The names of the input ports, as far as they are known."""
    channel: int = -1
    max_channels: int = 0
    local_channel: int = -1
    local_max_channels: int = 0
    pe: int = 0
    """The number of the operator's PE after fusion. Decoupling, which splits PEs at run time, does not change it."""
    application: str = ""
    """The name of the deployed application; empty outside of one."""
    base: Path = Path()
    """The spec's directory; relative input paths are resolved against it."""
    results: Path = Path()
    """The directory that relative output paths are resolved against."""
    pending: Path = Path()
    """The directory for tuples and files that wait for delivery."""
    names: Path = Path()
    """The directory with the names of servers in the state directory."""
    generation: int = 1
    """The generation of the application; every reset and every restart increments it."""
    resets: int = 0
    """The number of resets of the operator's unit since the application was deployed."""
    epoch: int = 1
    batch: int = 0
    """The number of the current micro-batch."""
    now: float = 0.0
    """The time of the current micro-batch in unix seconds; it never goes back."""
    submit: Callable[[int, TupleBatch], None] = lambda _port, _batch: None
    """Sends tuples to an output port; outside of a PE they are dropped."""
    punctuate: Callable[[int, Punctuation], None] = lambda _port, _mark: None
    """Sends a mark to an output port; outside of a PE it is dropped."""
    unheeded: Callable[[int], bool] = lambda _port: False
    """Returns True if no operator handles the window marks of an output port, so counting them is enough."""
    count_marks: Callable[[int, int], None] = lambda _port, _number: None
    """Adds to the number of window marks of an output port. They are counted instead of sent if the port is
    `unheeded`.
    """
    time_zone: str = "UTC"
    """The application's time zone, as an IANA name."""
    region: RegionRole | None = None
    """The operator's role in its consistent region; None outside of regions."""
    event_time: EventTimeRole | None = None
    """The operator's role in an event-time graph; None outside of such graphs."""
    watermark: int | None = None
    """The operator's watermark before the tuples that it is processing, in ticks; None before the first one."""
    set_watermark: Callable[[int], None] = _sets_no_watermark
    assign: Callable[[Collection[str]], None] = lambda _names: None
    """Tell the runtime the names of all partitions that a source reads from now on."""
    too_far_ahead: Callable[[Collection[str]], frozenset[str]] = lambda _names: frozenset()
    """Returns the given partitions that a source must not read now, since they are too far ahead (EV65)."""
    away: bool = False
    """True while the server of a source cannot be reached, so that the source cannot become idle (EV51)."""
    make_consistent: Callable[[], None] = not_the_trigger
    """End the epoch of an operator-driven region (B26) with the current micro-batch.

    The epoch contains all tuples submitted up to the end of the micro-batch. A source returns from `produce` next. It
    is called again once the epoch is complete or was reset.
    """
    links: PortLinks | None = None
    """The Imports and Exports at the operator's ports; None if its program does not use them while it runs."""
    generators: list[RandomNumbers] = field(default_factory=list[RandomNumbers])
    """The generator of the random numbers of all programs of the operator, which copies of the context share; empty
    before the first program."""
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("streams.operator"))
    metrics: Metrics = field(default_factory=Metrics)
    """The operator's own counters and gauges."""

    @property
    def zone(self) -> dt.tzinfo:
        """The application's time zone in the form that expressions take.

        Raises:
            ValueError: this machine does not know the time zone.
        """
        return expected_zone(self.time_zone)

    def required_at(self, port: int = 0) -> tuple[str, ...]:
        """Return the NOT NULL attributes of an output port; none if they are unknown."""
        return self.required[port] if port < len(self.required) else ()

    def require_one_channel(self, act: str) -> None:
        """Raise ValueError if several channels of a parallel region would each do the same act of a source."""
        if self.max_channels > 1:
            message = f"every channel of the parallel region would {act}; put the source in front of the region"
            raise ValueError(message)

    def output_schema(self, port: int = 0) -> pa.Schema:
        """Return the schema of an output port.

        Raises:
            ValueError: the output stream has no schema.
        """
        schema = self.outputs[port] if port < len(self.outputs) else None
        if schema is None:
            message = "the output stream needs a schema: outputs: [{stream: Name, schema: Type}]"
            raise ValueError(message)
        return schema

    @classmethod
    def declared(
        cls,
        name: str,
        inputs: Iterable[str],
        outputs: Iterable[str | None],
        base: Path = Path(),
        ports: Iterable[str] = (),
        time_zone: str = "UTC",
    ) -> OperatorContext:
        """Return a context for checks without running the operator, with ports given as DDL tuple types.

        Raises:
            ValueError: a port's type is not a tuple type.
        """
        targets = tuple(outputs)
        return cls(
            name,
            tuple(arrow_schema(ddl) for ddl in inputs),
            tuple(None if ddl is None else arrow_schema(ddl) for ddl in targets),
            tuple(required_attributes(ddl or "") for ddl in targets),
            ports=tuple(ports),
            base=base,
            time_zone=time_zone,
        )
