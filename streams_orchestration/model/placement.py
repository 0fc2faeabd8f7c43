"""Configs: placement, threaded ports, restart and checkpointing; host pools."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from streams_orchestration.model.containers import is_mapping, listed
from streams_orchestration.model.element import Element, refuse
from streams_orchestration.model.values import Boolean, Count, Flag, Integer, Name, Number, Text, is_reference

Tags = Annotated[tuple[Annotated[Text, Field(min_length=1)], ...], BeforeValidator(listed)]
"""One tag or several; each may hold channel functions, or be `byChannel()` or `byReplica()`."""


class Placement(Element):
    """Constraints on the PE and the host of an operator (rule 42)."""

    partition_colocation: Tags | None = None
    partition_exlocation: Tags | None = None
    partition_isolation: Flag | None = None
    host: Text | None = None
    host_pool: Text | None = None
    host_colocation: Tags | None = None
    host_exlocation: Tags | None = None
    host_isolation: Flag | None = None


class ThreadedPortConfig(Element):
    """A queue on an input port with a thread of its own (rule 64)."""

    port: Count
    congestion_policy: Literal["Sys.Wait", "Sys.DropFirst", "Sys.DropLast"] = "Sys.Wait"
    queue_size: Integer = 1000

    @field_validator("queue_size", mode="before")
    @classmethod
    def _check_size(cls, value: Any) -> Any:
        if is_reference(value):
            return value
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**31:
            refuse("CDISP0090E", "the queue size is an int32 of at least 1, or ${name}")
        return value


class CheckpointConfig(Element):
    """Checkpointing of an operator outside of regions (A46): every `periodic` seconds, or when the operator decides."""

    periodic: Number | None = None
    operator_driven: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _check_form(cls, value: Any) -> Any:
        if value == "operatorDriven":
            return {"operatorDriven": True}
        if not is_mapping(value) or not {"periodic", "operatorDriven", "operator_driven"} & value.keys():
            refuse("CDISP0407E", "operatorDriven or {periodic: seconds} is expected")
        if len(value) > 1:
            refuse("CDISP0408E", "periodic and operatorDriven exclude each other")
        period = value.get("periodic")
        if isinstance(period, int | float) and period <= 0:
            refuse("CDISP0410E", "the period must be above zero")
        if "periodic" in value and not isinstance(period, int | float) and not is_reference(period):
            refuse("CDISP0407E", "the period is a number of seconds")
        return value


class Config(Element):
    """The configs of an invocation, a composite definition or the application (rules 42-44, A46-A48)."""

    placement: Placement | None = None
    threaded_port: tuple[ThreadedPortConfig, ...] = ()
    restartable: Boolean | None = None
    relocatable: Boolean | None = None
    checkpoint: CheckpointConfig | None = None
    visibility: Literal["read_committed", "read_uncommitted"] | None = None
    """Visibility of the output streams outside of the region: after each epoch, or after each batch (B33).

    None takes the value around it, `read_committed` by default.
    """
    complete_within: Number | None = None
    """The most seconds by which the results of a sink may be behind the present (EV67); None for no limit."""


class HostPoolDeclaration(Element):
    """A pool of hosts, declared by the tags that its hosts have (rule 36)."""

    name: Name
    tags: tuple[Text, ...] = ()
    size: Annotated[int, Field(strict=True, ge=1)] | None = None
