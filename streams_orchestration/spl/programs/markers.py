"""The output ports to which logic submits window markers, by its typed tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from streams_orchestration.spl.language.walking import nodes_in
from streams_orchestration.spl.programs.logic import LogicReading, LogicText
from streams_orchestration.spl.programs.reading import ProgramTextError
from streams_orchestration.spl.types.types import INT32, Enumeration, Tuple, TupleAttribute
from streams_orchestration.spl.typing import typed

_UNLIKE = Tuple((TupleAttribute("@", INT32),))
"""The type of every port here, which no tuple of a program has, so only submissions of markers have a type."""
_WINDOW = "WindowMarker"


def ports_with_markers(logic: Mapping[str, Any], inputs: int, outputs: int) -> frozenset[int] | None:
    """Return the numbers of the output ports to which logic may submit window markers.

    Return None if the port of such a submission is computed, or if the logic cannot be read.

    >>> ports_with_markers({"onTuple": {"0": "submit(Sys.WindowMarker, Out);"}}, 1, 1)
    frozenset({0})
    >>> ports_with_markers({"onTuple": {"0": "{ /* WindowMarker */ submit(In, Out); }"}}, 1, 1)
    frozenset()

    Args:
        logic: the parameter `spl` of a Custom.
        inputs: the number of its input ports.
        outputs: the number of its output ports.
    """
    reading = LogicReading(
        _ports(logic, "inputs", "in", inputs), _ports(logic, "outputs", "out", outputs), submits=True
    )
    try:
        reading.functions([_text(each) for each in logic.get("functions", ()) if _text(each)[0]])
        reading.state(_text(logic.get("state", "")))
        bodies = [
            reading.body(event, int(port), _text(body))
            for event in ("onTuple", "onPunct")
            for port, body in dict(logic.get(event) or {}).items()
        ]
        if logic.get("onProcess"):
            bodies.append(reading.body("onProcess", 0, _text(logic["onProcess"])))
    except ProgramTextError:
        return None
    marked = [port for body in bodies for port in _marked(body)]
    return None if None in marked else frozenset(cast("list[int]", marked))


def _ports(logic: Mapping[str, Any], key: str, prefix: str, count: int) -> list[tuple[str, Tuple]]:
    names: Sequence[str] = list(logic.get(key) or ())
    names = [*names, *(f"{prefix}{at}" for at in range(len(names), count))]
    return [(name, _UNLIKE) for name in names]


def _text(written: Any) -> LogicText:
    """Return the text of a part of logic, which has no place here; empty for a native function."""
    text = cast("Mapping[str, Any]", written).get("spl", "") if isinstance(written, Mapping) else written
    return str(text), ("", 1, 1), ()


def _marked(body: typed.Statement) -> Iterator[int | None]:
    """Yield the port of each submission of a marker that may be a window marker; None if the port is computed."""
    for each in nodes_in(body, typed.Submit):
        if not isinstance(each.value.type, Enumeration):
            continue
        if not (isinstance(each.value, typed.Constant) and each.value.value != _WINDOW):
            port = each.port.value if isinstance(each.port, typed.Constant) else each.port
            yield port if isinstance(port, int) else None
