"""Composites of an application in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from streams_orchestration.builder.nodes import BuildError, Definition
from streams_orchestration.builder.places import calling_place
from streams_orchestration.builder.streams import Builds, Input, Stream, source


class Invoke(Protocol):
    """A function that adds an invocation of a composite to the graph being built."""

    def __call__(self, inputs: Sequence[Input], name: str | None, uid: str | None, /) -> tuple[Stream, ...]:
        """Add the invocation and return its output streams."""
        ...


class Composite:
    """A graph with ports that can be invoked like an operator; `Application.composite` makes one."""

    def __init__(self, app: Builds, definition: Definition, invoke: Invoke) -> None:
        self._app = app
        self._definition = definition
        self._invoke = invoke

    def __getitem__(self, port: str) -> Stream:
        """Return the stream that enters through an input port.

        Raises:
            KeyError: the composite has no such port.
        """
        for each in self._definition.inputs:
            if each.name == port:
                return Stream(self._app, each)
        ports = ", ".join(each.name or "" for each in self._definition.inputs)
        message = f"{self._definition.name} has no input port {port}; its input ports are {ports}"
        raise KeyError(message)

    def outputs(self, *streams: Stream | str) -> None:
        """Set the streams of the composite's graph that leave it, in the order of the output ports."""
        self._definition.outputs = [source(stream) for stream in streams]

    def __call__(self, *inputs: Input, name: str | None = None, uid: str | None = None) -> Stream:
        """Add an invocation and return its only output.

        Raises:
            BuildError: the composite does not have exactly one output, and the invocation stays in the graph; or an
                input comes from another composite.
        """
        outputs = self._invoke(inputs, name, uid)
        if len(outputs) != 1:
            message = f"{self._definition.name} has {len(outputs)} outputs, not one: use its `streams`"
            raise BuildError(message, calling_place())
        return outputs[0]

    def streams(self, *inputs: Input, name: str | None = None, uid: str | None = None) -> tuple[Stream, ...]:
        """Add an invocation and return all its outputs."""
        return self._invoke(inputs, name, uid)
