"""Applications with annotations of event time, and the event-time maps of these as short texts."""

from __future__ import annotations

from typing import Any

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import broken_conditions, compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic
from streams_orchestration.model.loading import application_from_mapping

TYPE = "k string, v bigint, at bigint, dt timestamp, s string"
AT = {"eventTimeAttribute": "at"}
SCHEMAS = {"T": TYPE}


def compiled(spec: dict[str, Any], **options: Any) -> PlannedCompilation:
    """Compile a spec without its first two keys."""
    return compile_application(
        application_from_mapping({"specVersion": 1, "application": "test"} | spec), Options(**options)
    )


def findings(spec: dict[str, Any], **options: Any) -> tuple[Diagnostic, ...]:
    """Return all that is reported on a spec."""
    try:
        return compiled(spec, **options).diagnostics
    except ApplicationError as error:
        return error.diagnostics


def codes(found: tuple[Diagnostic, ...]) -> list[str]:
    """Return the codes of findings, without the warning that nothing uses event time."""
    return sorted({each.code for each in found} - {"SO0803", "SO0111"})


def source(name: str, note: dict[str, Any] | None = None, schema: str = "T") -> dict[str, Any]:
    """Return a source, annotated if a note is given."""
    return {
        "name": name,
        "operator": "FileSource",
        "outputs": [{"stream": name, "schema": schema}],
        "parameters": {"file": "a.jsonl", "format": "jsonl"},
        **({} if note is None else {"annotations": {"eventTime": note}}),
    }


def sink(name: str, *streams: str) -> dict[str, Any]:
    """Return a sink of one port."""
    return {
        "name": name,
        "operator": "FileSink",
        "inputs": [list(streams)],
        "parameters": {"file": name, "format": "jsonl"},
    }


def connections(done: PlannedCompilation) -> list[str]:
    """Return the event-time connections of the physical graph, sorted."""
    names = [operator.name for operator in done.physical.operators]
    numbers = [number for each in done.event_time.operators for number in each.connections]
    ends = [done.physical.connections[number] for number in numbers]
    return sorted(f"{names[c.source]}:{c.source_port} -> {names[c.target]}:{c.target_port}" for c in ends)


def outputs(done: PlannedCompilation) -> list[str]:
    """Return the event-time output ports of the physical graph, sorted."""
    operators = done.physical.operators
    return sorted(
        f"{operators[each.operator].name}:{port}" for each in done.event_time.operators for port in each.outputs
    )


def roles(done: PlannedCompilation) -> dict[str, dict[str, Any]]:
    """Return mode, lag and gap of each replica in a graph."""
    return {
        done.physical.operators[each.operator].name: {
            "mode": each.mode,
            "lag": each.lag,
            "minimumGap": each.minimum_gap,
        }
        for each in done.event_time.operators
    }


def through(name: str, *inputs: Any, **more: Any) -> dict[str, Any]:
    """Return a Filter."""
    return {"name": name, "operator": "Filter", "inputs": list(inputs), "parameters": {"filter": "v > 0"}, **more}


def sound(spec: dict[str, Any], **options: Any) -> Any:
    """Compile a spec without its first three keys, and hold the invariants of all stages."""
    done = compiled({"schemas": SCHEMAS} | spec, **options)
    assert broken_conditions(done) is None
    return done
