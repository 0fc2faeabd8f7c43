"""Assignments to the output attributes of an invocation, checked against the model of its operator."""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.spl.functions.signatures import Signature
from streams_orchestration.spl.language import definitions, tree
from streams_orchestration.spl.language.walking import nodes_in
from streams_orchestration.spl.models.invocations import BEACON, Assigned
from streams_orchestration.spl.models.operators import OutputPorts, SplOperatorModel
from streams_orchestration.spl.types.types import UNKNOWN, Optional
from streams_orchestration.spl.typing.checking import ExpressionTyping
from streams_orchestration.spl.typing.defaults import own_default
from streams_orchestration.spl.typing.scopes import FunctionName, Port, Scope, output_scope, port_scope
from streams_orchestration.spl.typing.spans import Mistake, Source
from streams_orchestration.spl.typing.typed import Convert, Expression, OutputCall, PortAttribute


def check_outputs(
    written: definitions.Invocation,
    model: SplOperatorModel,
    scope: Scope,
    source: Source,
    mistakes: list[Mistake],
    inputs: Sequence[Port],
    outputs: Sequence[Port],
) -> dict[int, tuple[Assigned, ...]]:
    """Check the assignments, add defaults, and return them for each output port in the order of its attributes.

    An attribute that has neither is left out.

    Args:
        written: the invocation.
        model: the model of the operator.
        scope: the scope of the graph, with the state of the invocation.
        source: the text of the file.
        mistakes: the list that gets the mistakes.
        inputs: the input ports.
        outputs: the output ports.
    """
    within = port_scope(output_scope(scope, outputs), inputs, most=model.input_counts[1])
    typing = ExpressionTyping(source, within, mistakes)
    assigned: dict[int, dict[str, Assigned]] = {number: {} for number in range(len(outputs))}
    for clause in written.assignments:
        label = clause.port.name
        numbers = [number for number, port in enumerate(outputs) if label in (port.label, *port.names)]
        if not numbers:
            typing.report("CDISP0362E", f"{model.name} has no output port {label} here", clause.port)
            continue
        kind = model.output(numbers[0])
        if kind is not None and kind.mode == "Nonexistent":
            message = f"{label} of {model.name} has no output clause: its attributes come from the operator"
            typing.report("CDISP0231E", message, clause.port)
            continue
        here = ExpressionTyping(source, with_output_functions(typing.scope, kind), mistakes)
        for each in clause.assignments:
            _assign(here, outputs[numbers[0]], kind, each, assigned[numbers[0]])
    for number, port in enumerate(outputs):
        kind = model.output(number)
        if kind is not None and kind.auto:
            _complete(typing, written, kind, inputs, port, assigned[number])
        elif model.kind == BEACON:
            _add_defaults(typing, written.operator, port, assigned[number])
    return {
        number: tuple(done[each.name] for each in outputs[number].type.attributes if each.name in done)
        for number, done in assigned.items()
    }


def _assign(
    typing: ExpressionTyping,
    port: Port,
    kind: OutputPorts | None,
    each: definitions.OutputAssignment,
    done: dict[str, Assigned],
) -> None:
    name = each.attribute.name
    type_ = port.type.type_of(name)
    if type_ is None:
        if port.is_known:
            message = f"{name} is not an attribute of {port.label}, {port.type}"
            typing.report("CDISP0544E", message, each.attribute)
        typing.expression(each.value)
        return
    if name in done:
        typing.report("CDISP0545E", f"{name} of {port.label} is assigned twice", each.attribute)
    value = typing.expression(each.value, type_)
    default = None if kind is None else kind.default
    if default and default != "AsIs" and not any(nodes_in(value, OutputCall)) and value.type != UNKNOWN:
        value = OutputCall(value.span, value.type, default, (value,))
    done[name] = Assigned(name, value, written=True)


def _complete(
    typing: ExpressionTyping,
    written: definitions.Invocation,
    kind: OutputPorts,
    inputs: Sequence[Port],
    port: Port,
    done: dict[str, Assigned],
) -> None:
    """Assign to each attribute without an assignment the input attribute of equal name and type.

    An optional attribute also takes an input attribute of the type of its values. The first input port with one or the
    other counts, and the port's default output function is applied to it. Report an attribute without such an input
    attribute, if the model needs all (`complete`) and the types of all inputs are known.
    """
    span = typing.span(written.operator)
    for attribute in port.type.attributes:
        if attribute.name in done:
            continue
        content = attribute.type.content if isinstance(attribute.type, Optional) else attribute.type
        fitting = (attribute.type, content)
        owner = next((each for each in inputs if each.type.type_of(attribute.name) in fitting), None)
        if owner is not None:
            type_ = owner.type.type_of(attribute.name) or attribute.type
            value: Expression = PortAttribute(span, type_, owner.label, attribute.name)
            if type_ != attribute.type:
                value = Convert(span, attribute.type, value)
            if kind.default and kind.default != "AsIs":
                value = OutputCall(span, attribute.type, kind.default, (value,))
            done[attribute.name] = Assigned(attribute.name, value, written=type_ != attribute.type)
        elif kind.complete and inputs and attribute.type != UNKNOWN and all(each.is_known for each in inputs):
            message = (
                f"{attribute} of {port.label} has no assignment, and there is no input attribute of its name and type"
            )
            typing.report("CDISP0206E", message, written.operator)


def _add_defaults(typing: ExpressionTyping, operator: tree.Name, port: Port, done: dict[str, Assigned]) -> None:
    """Assign defaults to attributes without an assignment, where a Beacon does not know the default of the type."""
    span = typing.span(operator)
    for each in port.type.attributes:
        value = own_default(each.type, span)
        if value is not None and each.name not in done:
            done[each.name] = Assigned(each.name, value, written=True)


def with_output_functions(scope: Scope, kind: OutputPorts | None) -> Scope:
    """Return a scope with the output functions of a port, none for an unknown one (None)."""
    functions: dict[str, list[Signature]] = {}
    for each in kind.functions if kind is not None else ():
        functions.setdefault(each.name, []).append(each)
    for name in kind.opaque if kind is not None else ():
        functions[name] = []
    return scope.child({name: FunctionName(tuple(each), "output") for name, each in functions.items()})


def with_assumed_functions(scope: Scope, *values: object) -> Scope:
    """Return a scope in which unknown functions that the values call count as output functions without known types."""
    names = [each.function for each in nodes_in(values, tree.Call)]
    called = {each.name for each in names if isinstance(each, tree.Name) and not each.namespace}
    return scope.child({name: FunctionName((), "output") for name in called if scope.find(name) is None})
