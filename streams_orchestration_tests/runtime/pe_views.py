"""PEs of one or two operators, and what the catalog says that there is for them to read."""

from __future__ import annotations

from typing import Any

from streams_orchestration.compiler.pe_program import InputStream, OperatorProgram, PeProgram, Task
from streams_orchestration.runtime.programs.batches import Position, Segment
from streams_orchestration.runtime.queries.pe_view import PeView, StreamView

SOURCE, OPERATOR = 0, 1


def operator(index: int, name: str, *, source: bool = False) -> OperatorProgram:
    return OperatorProgram(
        index, name, "m:C", {}, (), (), (), -1, 0, -1, 0, stateful=False, source=source, preserves=(), deliveries=()
    )


def program(
    *streams: str, foreign: tuple[str, ...] = (), source: bool = False, starts: bool = False, autonomous: bool = False
) -> PeProgram:
    inputs = tuple(InputStream(name, 9, OPERATOR, 0, name in foreign) for name in (*streams, *foreign))
    tasks = [Task(0, 0, OPERATOR, (OPERATOR,), (), inputs)]
    if source:
        tasks.append(Task(0, 1, SOURCE, (SOURCE,), (SOURCE,), ()))
    operators = {SOURCE: operator(SOURCE, "Src", source=True), OPERATOR: operator(OPERATOR, "Op")}
    return PeProgram("app", 0, "region-0", starts, autonomous, operators, tuple(tasks), {})


def stream(*epochs: int, producer: int, first: int = 0, ended: bool = False) -> StreamView:
    """Segments of these epochs; the producer works in epoch `producer`."""
    segments = tuple((first + i, epoch, segment(first + i)) for i, epoch in enumerate(epochs))
    return StreamView(segments, producer, ended)


def segment(number: int) -> Segment:
    return Segment("S", f"{number}", 1, 1, 0)


def view(*, epoch: int = 1, trigger: int = 0, final_epoch: int | None = None, position: Position | None = None,
         final: bool = False, **streams: StreamView) -> PeView:  # fmt: skip
    given = position or Position(sources={"Src": {"row": 3}})
    return PeView("life", True, 2, 7, epoch, final, given, {}, trigger, final_epoch, streams)


def read(plan: Any) -> list[str]:
    return [segment.path for given in plan.inputs for _, _, segment in given.segments]
