"""Operator models: the properties of operators that the compiler uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from streams_orchestration.model.element import Element, refuse
from streams_orchestration.model.engines import EngineKind
from streams_orchestration.model.values import Count, Flag, Implementation, Text

SingleThreadedMode = Literal[
    "Always", "Never", "WindowBound", "WindowTriggerBound", "WindowEvictionBound", "WindowPartitionEvictionBound"
]

WatermarkMode = Literal["inputWatermark", "heldInput", "manual"]
"""The origin of the watermark of an operator that the application declares; see `EventTimeMode`."""


class InputPortModel(Element):
    """One input port of an operator model (rules 25, 35, 78)."""

    name: Text = ""
    mutable: Flag | None = None
    mutates: tuple[Text, ...] | None = None
    """The attributes that the operator changes in arriving tuples; a port with this key is mutable.

    None means all if the port is mutable.
    """
    control: Flag = False
    expects_window_punctuation: Flag = False
    window_bound: Flag = False
    """True if the port expects window punctuation exactly when its window is evicted by punctuation."""

    @model_validator(mode="after")
    def _check_mutates(self) -> InputPortModel:
        if self.mutates and self.mutable is False:
            refuse("SO0307", "mutates contradicts `mutable: false`")
        return self

    @property
    def is_mutable(self) -> bool:
        """True if the operator may change the tuples that arrive here: by `mutable`, else if `mutates` names any."""
        return bool(self.mutates) if self.mutable is None else self.mutable


class OutputPortModel(Element):
    """One output port of an operator model (rules 24, 78)."""

    mutable: Flag = False
    generates_window_punctuation: Flag = False
    preserves_window_punctuation: Flag = False


class ConsistentSupport(Element):
    """Permissions to be in a consistent region and to start one (A36)."""

    member: Flag = True
    start: Flag = True
    reason: Text = ""
    """The reason for a permission that is refused, as the error message shows it; empty for none."""


_SUPPORTED = ConsistentSupport()


class Wait(Element):
    """A dependency between input ports: processing on `port` waits for a signal from the port of the key `for`."""

    port: Count
    other: Annotated[int, Field(strict=True, ge=0, alias="for")]


class OperatorModel(Element):
    """A model of an operator that the application declares.

    The last entry of `inputs` and `outputs` holds for further ports. Without these keys, the operator has the ports of
    the invocation; `[]` means no ports.
    """

    implementation: Implementation | None = None
    inputs: tuple[InputPortModel, ...] | None = None
    outputs: tuple[OutputPortModel, ...] | None = None
    stateful: Flag = False
    single_threaded: SingleThreadedMode = "Always"
    consistent: ConsistentSupport = ConsistentSupport()
    waits: tuple[Wait, ...] = ()
    watermark_mode: WatermarkMode | None = None

    def signature(self) -> OperatorSignature:
        """Return the signature of the declared operator.

        Declared input ports require at least one of them. Only `[]` limits the number of ports.
        """
        inputs = (InputPortModel(),) if self.inputs is None else self.inputs
        outputs = (OutputPortModel(mutable=True),) if self.outputs is None else self.outputs
        return OperatorSignature(
            implementation=self.implementation,
            inputs=inputs,
            outputs=outputs,
            least_inputs=1 if self.inputs else 0,
            most_inputs=None if inputs else 0,
            least_outputs=0,
            most_outputs=None if outputs else 0,
            stateful=self.stateful,
            single_threaded=self.single_threaded,
            consistent=self.consistent,
            waits=tuple((wait.port, wait.other) for wait in self.waits),
            watermark_mode=self.watermark_mode,
        )


@dataclass(frozen=True)
class OperatorSignature:
    """The ports and properties of a standard or declared operator. The last port model holds for further ports, too."""

    implementation: str | None = None
    inputs: tuple[InputPortModel, ...] = (InputPortModel(),)
    outputs: tuple[OutputPortModel, ...] = (OutputPortModel(mutable=True),)
    least_inputs: int = 0
    most_inputs: int | None = None
    least_outputs: int = 0
    most_outputs: int | None = None
    stateful: bool = False
    single_threaded: SingleThreadedMode = "Always"
    consistent: ConsistentSupport = _SUPPORTED
    waits: tuple[tuple[int, int], ...] = ()
    engine: EngineKind = "tuples"
    watermark_mode: WatermarkMode | None = None
    """The origin of the operator's watermark; None for the default: its inputs, or its output tuples if it is
    annotated."""
    routes_failures: bool = False
    """True if `onError: route` adds an output port for tuples on which an expression fails."""

    def input(self, port: int) -> InputPortModel:
        """Return the model of an input port; the last model holds for all further ports, without any the default."""
        return self.inputs[min(port, len(self.inputs) - 1)] if self.inputs else InputPortModel()

    def output(self, port: int) -> OutputPortModel:
        """Return the model of an output port; the last model holds for all further ports, without any the default."""
        return self.outputs[min(port, len(self.outputs) - 1)] if self.outputs else OutputPortModel()
