"""Reads from the program of a PE the parts that define a Spark query."""

from __future__ import annotations

from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram
from streams_orchestration.operators.contract.frame_operator import FrameParameters, ViewWatermark
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.runtime.errors.operator_errors import OperatorError


def state_operator(program: PeProgram) -> str:
    """Return the name of the operator under which Spark's state of the whole PE is kept."""
    return program.operators[program.tasks[0].home].name


def frame_parameters(program: OperatorProgram) -> FrameParameters:
    """Return the parameters of a DataFrame operator.

    Raises:
        ImplementationError: its class cannot be imported.
    """
    return import_operator(program.implementation).Parameters.model_validate(program.parameters)  # type: ignore[return-value]


def frame_text(program: OperatorProgram) -> str:
    """Return the text that the user has written for an operator: its query, or the name of its function, or nothing."""
    return str(program.parameters.get("query") or program.parameters.get("function", ""))


def port_watermark(program: OperatorProgram, port: int) -> ViewWatermark | None:
    """Return the attribute and delay of Spark's watermark on an input port; None for a port without a watermark.

    With `eventTime`, the tuples have waited for the watermark of the graph, so Spark adds no delay (EV66).

    Raises:
        OperatorError: the port declares `eventTime`, but no event time arrives there.
        ImplementationError: the class of an operator cannot be imported.
    """
    declared = frame_parameters(program).watermarks.get(program.ports[port])
    if not isinstance(declared, str):
        return declared
    if program.event_time is None:
        message = (
            f"watermarks: no event time arrives at {program.ports[port]}; annotate an operator upstream with "
            "eventTime, or declare attribute and delay"
        )
        raise OperatorError(program.name, message)
    return ViewWatermark(attribute=program.event_time.attribute, delay="0 seconds")


def watermarked_ports(program: PeProgram) -> dict[str, str]:
    """Return the names of input ports that have a watermark and are fed from outside, by their keys `operator:port`.

    The names consist of operator name and port, since a redeploy may give operators other numbers.

    Raises:
        ImplementationError: the class of an operator cannot be imported.
    """
    outside = {(stream.operator, stream.port) for stream in program.inputs} | set(program.imports)
    marked: dict[str, str] = {}
    for index, port in sorted(outside):
        operator = program.operators[index]
        if operator.ports[port] in frame_parameters(operator).watermarks:
            marked[f"{index}:{port}"] = f"{operator.name}:{port}"
    return marked
