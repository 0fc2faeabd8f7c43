"""Resolution of operator names in invocations."""

from __future__ import annotations

from streams_orchestration.model.application import Application, Composite, Invocation
from streams_orchestration.model.operators import OperatorSignature
from streams_orchestration.model.standard import STANDARD
from streams_orchestration.model.values import is_implementation


def signature_of(application: Application, operator: str) -> OperatorSignature | None:
    """Return the signature of a primitive operator; None for a composite and for an unknown name.

    A declared operator shadows a standard one. A class that is named directly takes any number of ports.
    """
    if operator in application.composites:
        return None
    if operator in application.operators:
        return application.operators[operator].signature()
    if operator in STANDARD:
        return STANDARD[operator]
    return OperatorSignature(implementation=operator) if is_implementation(operator) else None


def is_standard(application: Application, operator: str) -> bool:
    """Return True if the name means the standard operator, which the application does not redeclare."""
    return operator in STANDARD and operator not in application.operators and operator not in application.composites


def routes_failures(signature: OperatorSignature, invocation: Invocation) -> bool:
    """Return True if the last output port is the one of `onError: route`, or if a submission-time value may add it."""
    written = invocation.parameters.get("onError")
    return signature.routes_failures and isinstance(written, str) and (written == "route" or "${" in written)


def most_outputs(signature: OperatorSignature, invocation: Invocation) -> int | None:
    """Return the highest number of output ports that an invocation may have; None without a limit."""
    most = signature.most_outputs
    return most if most is None else most + routes_failures(signature, invocation)


def output_names(application: Application, invocation: Invocation) -> tuple[str, ...]:
    """Return the names of an invocation's output streams; by default one of its own name, none for a sink.

    A composite without outputs is a sink; an unknown operator is not.
    """
    if invocation.outputs is not None:
        return tuple(output.stream for output in invocation.outputs)
    composite: Composite | None = application.composites.get(invocation.operator)
    if composite is not None:
        return (invocation.name,) if composite.outputs else ()
    signature = signature_of(application, invocation.operator)
    if signature is None:
        return (invocation.name,)
    if signature.most_outputs == 0 or (is_standard(application, invocation.operator) and not signature.least_outputs):
        # The optional output of a standard sink exists only where it is declared; a Custom has one by default.
        return (invocation.name,) if signature.most_outputs is None else ()
    return (invocation.name,)
