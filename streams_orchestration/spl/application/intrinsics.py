"""Functions with values that the compiler knows: the place of a call, and the composite instance that contains it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from streams_orchestration.spl.language.definitions import Composite
from streams_orchestration.spl.types.types import INT32, RSTRING
from streams_orchestration.spl.typing.spans import Source
from streams_orchestration.spl.typing.typed import Call, Constant


@dataclass(frozen=True)
class ExpandedInstance:
    """An instance of a composite: its name in Streams, and the first and last token of its definition."""

    name: str
    source: Source
    first: int
    last: int


@dataclass
class Intrinsics:
    """The values of functions such as `getThisLine` while composites are expanded."""

    instances: list[ExpandedInstance] = field(default_factory=list[ExpandedInstance])
    """The composite instances that are being expanded, outermost first."""

    def enter(self, source: Source, composite: Composite, name: str) -> None:
        """Begin the expansion of a composite instance. Names of instances leave out the main composite."""
        outer = f"{self.instances[-1].name}." if len(self.instances) > 1 else ""
        self.instances.append(ExpandedInstance(f"{outer}{name}", source, composite.first, composite.last))

    def leave(self) -> None:
        """End the expansion of the innermost instance."""
        self.instances.pop()

    def value(self, call: Call) -> Constant | None:
        """Return the value of a call such as `getThisLine()`; None if it is another call, or in no instance."""
        path = Path(call.span.source.file)
        match call.signature.name:
            case "getThisFileName":
                return Constant(call.span, RSTRING, path.name)
            case "getThisFilePath":
                return Constant(call.span, RSTRING, str(path.absolute()))
            case "getThisFileDir":
                return Constant(call.span, RSTRING, str(path.absolute().parent))
            case "getThisLine":
                return Constant(call.span, INT32, call.span.line)
            case "getThisCompositeInstanceName":
                name = self._instance(call)
                return None if name is None else Constant(call.span, RSTRING, name)
            case _:
                return None

    def _instance(self, call: Call) -> str | None:
        """Return the name of the innermost instance whose composite's text contains the call.

        So a call in an actual parameter belongs to the invoking composite. None if there is none.
        """
        for each in reversed(self.instances):
            if each.source is call.span.source and each.first <= call.span.first <= each.last:
                return each.name
        return None
