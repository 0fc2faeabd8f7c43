"""Reads from the program of a PE the parts that define a Spark query."""

from __future__ import annotations

from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram
from streams_orchestration.operators.frames import FrameParameters
from streams_orchestration.operators.implementation import import_operator


def state_operator(program: PeProgram) -> str:
    """Return the name of the operator under which Spark's state of the whole PE is kept."""
    return program.operators[program.tasks[0].home].name


def frame_parameters(program: OperatorProgram) -> FrameParameters:
    """Return the parameters of a DataFrame operator."""
    return import_operator(program.implementation).Parameters.model_validate(program.parameters)  # type: ignore[return-value]


def frame_text(program: OperatorProgram) -> str:
    """Return the text that the user has written for an operator: its query, or the name of its function."""
    return str(program.parameters.get("query") or program.parameters.get("function", ""))


def watermarked_ports(program: PeProgram) -> dict[str, str]:
    """Return the names of input ports that have a watermark and are fed from outside, by their keys `operator:port`.

    The names consist of operator name and port, since a redeploy may give operators other numbers.
    """
    outside = {(stream.operator, stream.port) for stream in program.inputs} | set(program.imports)
    marked: dict[str, str] = {}
    for index, port in sorted(outside):
        operator = program.operators[index]
        watermark = frame_parameters(operator).watermarks.get(operator.ports[port])
        if watermark is not None:
            marked[f"{index}:{port}"] = f"{operator.name}:{port}"
    return marked
