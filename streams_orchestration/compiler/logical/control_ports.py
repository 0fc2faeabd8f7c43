"""Control ports: inputs that steer an operator and do not make it submit (A35, rule 39)."""

from __future__ import annotations

from streams_orchestration.compiler.logical_graph import LogicalOperator


def is_control_port(operator: LogicalOperator, port: int) -> bool:
    """Return True for a declared control port, and for a port of a Custom whose logic does not submit."""
    if operator.inputs[port].control:
        return True
    custom = operator.standard and operator.kind == "Custom"
    return custom and port < len(operator.submits) and not operator.submits[port]
