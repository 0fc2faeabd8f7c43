"""Composites of an application in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from streams_orchestration.builder.nodes import BuildError, Definition
from streams_orchestration.builder.places import calling_place
from streams_orchestration.builder.streams import Builds, Input, Stream, source


class Invoke(Protocol):
    """Adds a use of a composite to the graph that is being put together."""

    def __call__(self, inputs: Sequence[Input], name: str | None, uid: str | None, /) -> tuple[Stream, ...]:
        """Its outputs."""
        ...


class Composite:
    """A graph with ports that is used like an operator; made by `Application.composite`."""

    def __init__(self, app: Builds, definition: Definition, invoke: Invoke) -> None:
        self._app = app
        self._definition = definition
        self._invoke = invoke

    def __getitem__(self, port: str) -> Stream:
        """The stream that comes in through a port.

        Raises:
            KeyError: the composite has no such port.
        """
        for each in self._definition.inputs:
            if each.name == port:
                return Stream(self._app, each)
        message = (
            f"{self._definition.name} has the input ports {', '.join(e.name or '' for e in self._definition.inputs)}"
        )
        raise KeyError(message)

    def outputs(self, *streams: Stream | str) -> None:
        """The streams of its graph that go out, in the order of its output ports."""
        self._definition.outputs = [source(stream) for stream in streams]

    def __call__(self, *inputs: Input, name: str | None = None, uid: str | None = None) -> Stream:
        """Use it; its only output."""
        outputs = self._invoke(inputs, name, uid)
        if len(outputs) != 1:
            message = f"{self._definition.name} has {len(outputs)} outputs, not one: call its `streams`"
            raise BuildError(message, calling_place())
        return outputs[0]

    def streams(self, *inputs: Input, name: str | None = None, uid: str | None = None) -> tuple[Stream, ...]:
        """Use it; all its outputs."""
        return self._invoke(inputs, name, uid)
