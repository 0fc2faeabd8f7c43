"""Reads from the program of a PE the parts that define a Spark query."""

from __future__ import annotations

from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram
from streams_orchestration.operators.frames import FrameParameters
from streams_orchestration.operators.implementation import import_operator


def state_operator(program: PeProgram) -> str:
    """Return the operator in whose name Spark's state is kept: that of all of the PE."""
    return program.operators[program.tasks[0].home].name


def frame_parameters(program: OperatorProgram) -> FrameParameters:
    """Return the parameters of an operator of such a PE."""
    return import_operator(program.implementation).Parameters.model_validate(program.parameters)  # type: ignore[return-value]


def frame_text(program: OperatorProgram) -> str:
    """Return the text that a user has written for an operator: its query, or the name of its function."""
    return str(program.parameters.get("query") or program.parameters.get("function", ""))


def watermarked_ports(program: PeProgram) -> dict[str, str]:
    """Input ports from outside with a watermark, by their numbers as `operator:port`, each with a name that stays.

    A redeploy may give operators other numbers.
    """
    outside = {(stream.operator, stream.port) for stream in program.inputs} | set(program.imports)
    marked: dict[str, str] = {}
    for index, port in sorted(outside):
        operator = program.operators[index]
        watermark = frame_parameters(operator).watermarks.get(operator.ports[port])
        if watermark is not None:
            marked[f"{index}:{port}"] = f"{operator.name}:{port}"
    return marked
