"""The decoupling problem: operators with measured costs, to be spread over machines.

The document is YAML with the keys of this model, written in snake_case. Loads are in percent of one machine, or in any
other unit that all of them share.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, PlainValidator, model_validator

from streams_orchestration.model.element import Element, refuse
from streams_orchestration.model.values import show

MACHINES = 1000
"""The most machines that a problem may have."""

Kind = Literal["source", "net_recv", "net_send", "net_self", "tee", "op", "sink"]
MAX_NUMBER = 1e90
"""The largest number that a problem may contain; sums of products of three such numbers stay finite."""


def _number(value: object) -> object:
    if isinstance(value, bool):
        refuse("SO0009", f"a number is expected, not {show(value)}")
    if isinstance(value, int | float) and MAX_NUMBER < value < math.inf:
        refuse("SO0401", f"a number of at most {MAX_NUMBER:g} is expected")
    return value


Number = Annotated[float, BeforeValidator(_number), Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, BeforeValidator(_number)]


def _identifier(value: object) -> int | str:
    if not isinstance(value, str | int) or isinstance(value, bool):
        refuse("SO0009", f"a text or an integer is expected, not {show(value)}")
    return value


Identifier = Annotated[int | str, PlainValidator(_identifier)]


class ProblemElement(Element):
    """A part of a problem; its keys are the names of its fields."""

    model_config = ConfigDict(alias_generator=None)


class ProblemParameters(ProblemElement):
    """Parameters of the whole problem."""

    k: Annotated[Count, Field(ge=1, le=MACHINES)] = 2
    """The number of machines; with a machine budget, the number of groups of machines."""
    ser_per_item: Number
    """Load of sending one item to another machine."""
    deser_per_item: Number
    """Load of receiving one item from another machine."""
    ser_per_byte: Number = 0.0
    """Load of sending one byte, added to the load per item (rule Q15)."""
    deser_per_byte: Number = 0.0
    """Load of receiving one byte, added to the load per item (rule Q15)."""
    penalty: Number = 0.0001
    """Fixed load of a crossing between machines, on each of its two sides."""
    tee: Literal["exact", "head", "each"] = "exact"
    """The cost of a fan-out (rule Q5): with `exact` the sender pays once for each destination, with `head` once in all,
    and with `each` once in all while every reader pays for receiving."""
    forward: bool = False
    """True if streams may only go to machines with a higher number, so that machines form no cycle."""
    freeze_edb: bool = False
    """True to keep operators that no network input reaches on one machine (rule Q13)."""
    latency_budget: Annotated[Count, Field(ge=0)] | None = None
    """The most hops that may be added on any path (rule Q11); None for no limit."""
    lex_epsilon: Number = 0.0
    """The weight of the sum of loads in the objective, relative to the peak load (rule Q9).

    At any weight, the sum decides between decisions with equal objectives."""
    machine_budget: Annotated[Count, Field(ge=1, le=MACHINES)] | None = None
    """The total number of machines; a group with several divides its load. None gives each group one machine."""


class Operation(ProblemElement):
    """An operator, a tee or one end of a network."""

    id: Identifier
    kind: Kind
    parents: tuple[Identifier, ...] = ()
    """The operators whose output this operator reads."""
    cpu: Number = 0.0
    """The load on the machine that executes the operator."""
    recv_cpu: Number = 0.0
    """The load of the receiving half of a network, on the machine that its output goes to."""
    card: Number | None = None
    """The number of items on the operator's output; None if not measured."""
    bytes: Number = 0.0
    """The size of an output item in bytes."""
    sent: bool = False
    """True if a reader outside of the problem gets the output in any case, so that sending is already paid."""
    pin: Annotated[Count, Field(ge=0)] | None = None
    """The machine on which the operator must execute; None if any will do."""
    tick: Identifier | None = None
    """The name of the operator's atomic group, which executes on one machine; None if it is in none."""
    ser: bool = True
    """True if the operator's output may be sent to another machine."""
    state: bool = False
    """True if the operator keeps state that cannot be divided among the machines of a group."""


class Problem(ProblemElement):
    """A decoupling problem."""

    name: str = ""
    why: str = ""
    params: ProblemParameters
    ops: tuple[Operation, ...]
    apart: tuple[tuple[Identifier, ...], ...] = ()
    """Sets of operators; no two of a set may execute on the same machine."""
    expect: dict[str, JsonValue] = Field(default_factory=dict)
    """A worked answer for readers of the file; the solver ignores it, and the next two keys, too."""
    exec_at: dict[str, JsonValue] = Field(default_factory=dict)
    output_to: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.ops:
            refuse("SO0009", "ops has at least one operator")
        return self

    def with_machines(self, machines: int) -> Problem:
        """Return the problem with another number of machines."""
        return self.model_copy(update={"params": self.params.model_copy(update={"k": machines})})
