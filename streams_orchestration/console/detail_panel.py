"""The content of the page's panel on one operator, stream, PE or region: facts, explanations and measurements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal, get_args

from streams_orchestration.compiler.column_sources import expression_types, port_of
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.drawing.picture import short_kind
from streams_orchestration.compiler.explain import UnknownSubjectError, explain
from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.console.responses import WrongRequestError
from streams_orchestration.model.secrets import without_secrets
from streams_orchestration.runtime import api

Kind = Literal["operator", "stream", "pe", "region"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MAX_LOG_LINES = 30
"""Number of a log's last lines that are shown."""
TAIL_BYTES = 64 * 1024
Document = dict[str, Any]


def requested(parameters: Mapping[str, str]) -> tuple[Kind, str]:
    """Return the kind and the name of the subject in the parameters of a request.

    Raises:
        WrongRequestError: the kind is unknown, or the name is missing or is not a number where it must be one.
    """
    name = parameters.get("name", "")
    kind: Kind | None = next((each for each in KINDS if each == parameters.get("kind")), None)
    if kind is None or not name or (kind in ("pe", "region") and re.fullmatch("[0-9]{1,9}", name) is None):
        message = f"`kind` must be one of {', '.join(KINDS)}, and `name` a name, or the number of a PE or region."
        raise WrongRequestError(message)
    return kind, name


def subject(
    compilation: Compilation,
    kind: Kind,
    name: str,
    metrics: api.ApplicationMetrics | None,
    status: api.ApplicationStatus | None,
) -> Document:
    """Return the panel of one subject as a JSON document.

    Args:
        compilation: the compilation of the application.
        kind: the kind of the subject.
        name: the name of an operator or a stream, or the number of a PE or of a consistent region.
        metrics: the metrics of the application; None if it is not deployed.
        status: the status of the application; None without a deployment.

    Raises:
        UnknownSubjectError: the application has no subject of that name.
        ImplementationError: the class of an operator can no longer be imported.
    """
    question = f"PE {name}" if kind == "pe" else f"{kind} {name}"
    document: Document = {"kind": kind, "name": name, "explanation": explain(compilation, question).document()}
    if kind == "operator":
        document |= _operator(compilation, name)
    elif kind == "stream":
        document |= _stream(compilation, name)
    if metrics is not None and status is not None:
        document |= _running(compilation, kind, name, metrics, status)
    return document


def _operator(compilation: Compilation, name: str) -> Document:
    logical = compilation.logical.operators
    physical = next((each for each in compilation.physical.operators if each.name == name), None)
    model = logical[physical.logical] if physical else next((each for each in logical if each.name == name), None)
    if model is None:
        message = f"the application has no operator {name}"
        raise UnknownSubjectError(message)
    return {
        "operator": model.kind,
        "implementation": model.implementation,
        "location": None if model.location is None else str(model.location),
        "parameters": without_secrets(model.parameters),
        "types": _types(compilation, model),
        "pe": None if physical is None else compilation.fusion.pe_of[physical.index],
        "logical": model.name,
        "physical": [each.name for each in compilation.physical.operators if each.logical == model.index],
        "outputs": [{"stream": port.stream, "schema": port.schema} for port in model.outputs],
    }


def _types(compilation: Compilation, model: LogicalOperator) -> dict[str, str]:
    """Return parameter -> the type of its expression, for a standard operator; empty for any other."""
    if not model.standard:
        return {}
    schemas: dict[int, str | None] = {}
    for connection in compilation.logical.connections:
        if connection.target == model.index:
            source = compilation.logical.operators[connection.source].outputs[connection.source_port]
            schemas.setdefault(connection.target_port, source.schema)
    ports = [port_of(schemas.get(number) or "") for number in range(len(model.inputs))]
    return expression_types(short_kind(model.kind), model.parameters, ports)


def _stream(compilation: Compilation, name: str) -> Document:
    for operator in compilation.physical.operators:
        model = compilation.logical.operators[operator.logical]
        for port, stream in zip(model.outputs, operator.streams, strict=True):
            if name in (stream, port.stream):
                location = None if model.location is None else str(model.location)
                return {"schema": port.schema, "producer": operator.name, "location": location}
    return {}


def _running(
    compilation: Compilation, kind: Kind, name: str, metrics: api.ApplicationMetrics, status: api.ApplicationStatus
) -> Document:
    """Return the metrics of a subject; empty for a region.

    An operator or PE also gets the last `MAX_LOG_LINES` of its PE's log. A log on another machine is replaced by
    the command that shows it. Metrics are None if nothing was measured.
    """
    if kind == "operator":
        measured = next((asdict(each) for each in metrics.operators if each.name == name), None)
        number = next(
            (compilation.fusion.pe_of[o.index] for o in compilation.physical.operators if o.name == name), None
        )
        return {"metrics": measured, "event_time": _event_time(metrics, name), "log": _log(status, number)}
    if kind == "stream":
        return {"metrics": next((asdict(each) for each in metrics.streams if each.name == name), None)}
    if kind == "pe":
        measured = next((asdict(each) for each in metrics.pes if each.pe == int(name)), None)
        of = next((each for each in status.pes if each.id == int(name)), None)
        state = None if of is None else api.pe_document(status, of)
        return {"metrics": measured, "state": state, "log": _log(status, int(name))}
    return {}


def _event_time(metrics: api.ApplicationMetrics, name: str) -> Document | None:
    """Return the watermark of an operator with its holder, and the watermark as text; None outside of event time."""
    each = next((each for each in metrics.event_time if each.operator == name), None)
    return None if each is None else asdict(each) | {"reached": each.reached}


def _log(status: api.ApplicationStatus, pe: int | None) -> Document | None:
    of = next((each for each in status.pes if each.id == pe), None)
    if of is None:
        return None
    if not of.here:
        return {"path": of.log_place, "lines": [f"`streams logs {status.application} --pe {pe}` shows its end."]}
    lines, _ = api.read_log_end(of.log, MAX_LOG_LINES, most=TAIL_BYTES)
    return {"path": str(of.log), "lines": lines}
