"""The decoupling problem: operators with measured costs, to be spread over machines.

A document in YAML with the keys of this model, written in snake_case. Loads are in percent of one machine, or in any
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
LARGEST = 1e90
"""The largest number: products of three of them, and their sums, are still numbers."""


def _number(value: object) -> object:
    if isinstance(value, bool):
        refuse("SO0009", f"a number is expected, not {show(value)}")
    if isinstance(value, int | float) and LARGEST < value < math.inf:
        refuse("SO0401", f"a number of at most {LARGEST:g} is expected")
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


class Parameters(ProblemElement):
    """What holds for the whole problem."""

    k: Annotated[Count, Field(ge=1, le=MACHINES)] = 2
    """Machines, or groups of machines where there is a machine budget."""
    ser_per_item: Number
    """Load of sending one item to another machine."""
    deser_per_item: Number
    """Load of receiving one item from another machine."""
    ser_per_byte: Number = 0.0
    """Load of sending one byte, beside that of its item (rule Q15)."""
    deser_per_byte: Number = 0.0
    """Load of receiving one byte, beside that of its item (rule Q15)."""
    penalty: Number = 0.0001
    """Load that a crossing costs on each of its sides, whatever it carries."""
    tee: Literal["exact", "head", "each"] = "exact"
    """A fan-out sends once for each destination, or once in all (rule Q5); or once in all, and each of its readers
    receives for itself."""
    forward: bool = False
    """Streams go to machines with a higher number only, so that machines never feed each other in a circle."""
    freeze_edb: bool = False
    """What no network input reaches stays together (rule Q13)."""
    latency_budget: Annotated[Count, Field(ge=0)] | None = None
    """The most added hops on any path (rule Q11); any number when None."""
    lex_epsilon: Number = 0.0
    """Weight of the sum of loads beside the largest of them; the sum decides between equals in any case (rule Q9)."""
    machine_budget: Annotated[Count, Field(ge=1, le=MACHINES)] | None = None
    """Machines in all, so that a group may have several and share its load between them; one each when None."""


class Operation(ProblemElement):
    """An operator, a tee or one end of a network."""

    id: Identifier
    kind: Kind
    parents: tuple[Identifier, ...] = ()
    """What it reads."""
    cpu: Number = 0.0
    """Load where it executes."""
    recv_cpu: Number = 0.0
    """Load of the receiving half of a network, where its output goes."""
    card: Number | None = None
    """Items that its output carries; None when that was not measured."""
    bytes: Number = 0.0
    """Size of such an item."""
    sent: bool = False
    """Its output is written for a reader outside of the problem in any case, so sending it costs nothing more."""
    pin: Annotated[Count, Field(ge=0)] | None = None
    """The machine on which it must execute."""
    tick: Identifier | None = None
    """Operators of one tick execute together: an atomic group."""
    ser: bool = True
    """May its output be sent to another machine?"""
    state: bool = False
    """Does it keep state that cannot be divided between the machines of a group?"""


class Problem(ProblemElement):
    """A decoupling problem."""

    name: str = ""
    why: str = ""
    params: Parameters
    ops: tuple[Operation, ...]
    apart: tuple[tuple[Identifier, ...], ...] = ()
    """Sets of operators no two of which may execute on one machine."""
    expect: dict[str, JsonValue] = Field(default_factory=dict)
    """A worked answer may stand beside the problem, here and in the two keys that follow; it is not looked at."""
    exec_at: dict[str, JsonValue] = Field(default_factory=dict)
    output_to: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.ops:
            refuse("SO0009", "ops has at least one operator")
        return self

    def with_machines(self, machines: int) -> Problem:
        """The same problem for another number of machines."""
        return self.model_copy(update={"params": self.params.model_copy(update={"k": machines})})
