"""The names that a composite defines: its streams and types, which are computed on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from streams_orchestration.spl.application.located import mapping
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.definitions import Invocation, InvocationInput
from streams_orchestration.spl.types.columns import ddl_of
from streams_orchestration.spl.types.types import COMPILED_ONLY, UNKNOWN, Tuple, Type, parts_of_type
from streams_orchestration.spl.typing.scopes import Meaning, Port, Scope, StreamName, TypeName, Unclear
from streams_orchestration.spl.typing.spans import Report, Source

UNKNOWN_TUPLE = Tuple(())
"""The tuple type that represents an unknown one: a tuple without attributes."""


class StreamNames(dict[str, Meaning]):
    """The meanings of names in a composite. The type of a stream or of a type's name is computed at its first use."""

    def __init__(self) -> None:
        super().__init__()
        self.pending: dict[str, Callable[[], Tuple]] = {}
        """Name of a stream -> the computation of its type."""
        self.types: dict[str, Callable[[], Type]] = {}
        """Name of a type of the composite -> the computation of the type."""

    def declare_types(self, definitions: tuple[tree.TypeDefinition, ...], compute: Callable[[tree.Type], Type]) -> None:
        """Add the types of a composite, which may name one another in any order.

        An enumeration is computed at once, and its words become names as well.
        """
        for each in definitions:
            self.types[each.name.name] = lambda written=each.type: compute(written)
        for each in definitions:
            if isinstance(each.type, tree.EnumType):
                Scope(names=self).declare_type(each.name.name, compute(each.type))
                self.types.pop(each.name.name, None)

    def get(self, name: str, default: Any = None) -> Any:  # type: ignore[override]
        """Return the meaning of a name, or `default`; for a name in `pending` or `types`, compute its type first.

        While the type is computed, the name is `Unclear`, so a type that contains itself is reported.
        """
        read = self.types.pop(name, None)
        if read is not None:
            self[name] = Unclear("CDISP0050E", f"the type {name} contains itself")
            self[name] = TypeName(read())
            return self[name]
        compute = self.pending.pop(name, None)
        if compute is not None:
            self[name] = Unclear("CDISP0050E", f"the type of the stream {name} contains itself")
            self[name] = StreamName(compute())
        return super().get(name, default)


def named_apart(ports: Iterable[Port], invocation: Invocation) -> tuple[Port, ...]:
    """Return ports without the names of streams that name other ports.

    An alias hides a stream, and a port with an alias leaves the name of its stream to another port with the stream.

    Args:
        ports: the input or output ports of the invocation.
        invocation: the invocation.
    """
    known = tuple(ports)
    taken = {port.alias.name for port in (*invocation.inputs, *invocation.outputs) if port.alias is not None}
    taken |= {port.label for port in known}
    return tuple(
        replace(port, names=tuple(name for name in port.names if name == port.label or name not in taken))
        for port in known
    )


def written_names(ports: Sequence[InvocationInput], *, aliases: bool) -> list[str | None]:
    """Return the name of each input port in the document; None without a name, or if an earlier port has the name.

    Args:
        ports: the input ports of an invocation.
        aliases: True if only aliases are names, as they are of a composite, which names its ports itself.
    """
    names: list[str | None] = []
    for port in ports:
        stream = None if aliases else port.streams[0].name
        name = stream if port.alias is None else port.alias.name
        names.append(None if name in names else name)
    return names


def stream_entry(stream: tree.Name, type_: Tuple, source: Source, report: Report) -> Any:
    """Return the entry of an output stream in the document, with its columns if their types are known and can run.

    Args:
        stream: the name of the stream.
        type_: the type of its tuples.
        source: the file.
        report: is called for a type whose values cannot be sent.
    """
    parts = set(parts_of_type(type_))
    if not type_.attributes or UNKNOWN in parts:
        return {"stream": stream.name}
    if only := sorted(str(each) for each in parts & COMPILED_ONLY):
        report("SO0720", f"{stream} has the types {', '.join(only)}, which compile but cannot run", stream)
        return {"stream": stream.name}
    return mapping(source, stream, {"stream": stream.name, "schema": ddl_of(type_)})
