"""Checks of operator invocations against operator models: numbers of ports, parameters, output assignments.

Mistakes are added to a list. Parameters and assignments are returned as typed expressions. Attributes without an
assignment are completed as the model says, usually from an input attribute of equal name and type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streams_orchestration.spl.language import definitions, tree
from streams_orchestration.spl.language.printing import text_of
from streams_orchestration.spl.language.walking import nodes_in
from streams_orchestration.spl.models.operators import ParameterModel, SplOperatorModel
from streams_orchestration.spl.types.types import UNKNOWN, VOID, Enumeration, Type
from streams_orchestration.spl.types.written import WrittenTypeError, type_of_text
from streams_orchestration.spl.typing.checking import ExpressionTyping
from streams_orchestration.spl.typing.conversions import converted
from streams_orchestration.spl.typing.naming import named_actual
from streams_orchestration.spl.typing.scopes import Port, Scope, port_scope
from streams_orchestration.spl.typing.spans import Mistake, Report, Source
from streams_orchestration.spl.typing.typed import Call, Constant, Expression, PortAttribute, PortTuple, Variable

BEACON = "spl.utility::Beacon"


@dataclass(frozen=True, slots=True)
class Assigned:
    """The value of an output attribute; `written` is False if the value comes from an input attribute of equal name."""

    attribute: str
    value: Expression
    written: bool


def check_ports(written: definitions.Invocation, model: SplOperatorModel, report: Report) -> None:
    """Report a wrong number of input or output ports at the operator's name."""
    sides = (
        ("CDISP0203E", "input", len(written.inputs), model.input_counts),
        ("CDISP0204E", "output", len(written.outputs), model.output_counts),
    )
    for code, side, count, (least, most) in sides:
        if count < least or (most is not None and count > most):
            wanted = str(least) if least == most else f"{least} or more" if most is None else f"{least} to {most}"
            ports = "port" if wanted == "1" else "ports"
            message = f"{model.name} has {wanted} {side} {ports}, but {count} {'is' if count == 1 else 'are'} given"
            report(code, message, written.operator)


def check_windows(written: definitions.Invocation, model: SplOperatorModel, report: Report) -> None:
    """Report a missing window at the operator's name, and a window that the port does not allow at its label."""
    labels = {each.label.name for each in written.windows}
    for number, port in enumerate(written.inputs):
        kind = model.input(number)
        names = {each.name for each in (*port.streams, *(() if port.alias is None else (port.alias,)))}
        if kind is not None and kind.windowing == "always" and not labels & names:
            report("CDISP0224E", f"input port {number} of {model.name} needs a window", written.operator)
        elif kind is not None and kind.windowing == "never" and (wrong := labels & names):
            label = next(each.label for each in written.windows if each.label.name in wrong)
            report("CDISP0224E", f"input port {number} of {model.name} has no window", label)


def check_parameters(
    written: definitions.Invocation,
    model: SplOperatorModel,
    scope: Scope,
    source: Source,
    mistakes: list[Mistake],
    inputs: Sequence[Port],
) -> dict[str, tuple[Expression, ...]]:
    """Return the typed values of the parameters; a word of a `CustomLiteral` becomes a constant of its enumeration.

    Parameters of mode `Text` are left out. Mistakes are reported; a parameter is left out, too, if the model lacks it,
    it is a type, or the number of its values is wrong.

    Args:
        written: the invocation.
        model: the model of the operator.
        scope: the scope of the graph, with the state of the invocation.
        source: the text of the file.
        mistakes: the list that gets the mistakes.
        inputs: the input ports.
    """
    typing = ExpressionTyping(source, port_scope(scope, inputs, most=model.input_counts[1]), mistakes)
    given: dict[str, tuple[Expression, ...]] = {}
    for argument in written.arguments:
        name = argument.label.name
        parameter = model.parameters.get(name)
        if parameter is None and not model.any_parameter:
            known = ", ".join(sorted(model.parameters)) or "none"
            message = f"{model.name} has no parameter {name}; its parameters: {known}"
            typing.report("CDISP0054E", message, argument.label)
            continue
        values = _expressions(argument)
        if values is None:
            node = argument.label if isinstance(argument.values, tuple) else argument.values
            typing.report("CDISP0373E", f"{name} of {model.name} must be a value, but {text_of(node)} is a type", node)
            continue
        if parameter is None:
            number = name.removeprefix("partitionBy")
            own = inputs[int(number) : int(number) + 1] if number.isdecimal() else inputs
            here = ExpressionTyping(source, port_scope(scope, own), mistakes)
            given[name] = tuple(here.expression(each) for each in values)
            continue
        if parameter.count is not None and len(values) != parameter.count:
            message = f"{name} of {model.name} has {len(values)} values, but takes {parameter.count}"
            typing.report("CDISP0030E", message, argument.label)
            continue
        if parameter.mode == "Text":
            continue
        here = typing
        if parameter.port is not None and parameter.port < len(inputs):
            here = ExpressionTyping(source, port_scope(scope, (inputs[parameter.port],)), mistakes)
        given[name] = tuple(_value(here, model, parameter, each) for each in values)
    for parameter in model.parameters.values():
        if not parameter.optional and all(each.label.name != parameter.name for each in written.arguments):
            message = f"{model.name} needs the parameter {parameter.name}"
            typing.report("CDISP0208E", message, written.operator)
    return given


def _expressions(argument: definitions.Argument) -> tuple[tree.Expression, ...] | None:
    """Return the expressions of an argument; None if it is a type."""
    return argument.values if isinstance(argument.values, tuple) else None


def _value(
    typing: ExpressionTyping, model: SplOperatorModel, parameter: ParameterModel, written: tree.Expression
) -> Expression:
    if parameter.mode == "CustomLiteral":
        return _word(typing, model, parameter, written)
    expected = _type(parameter)
    value = typing.whole(written, expected)
    what = f"{parameter.name} of {model.name}"
    if value.type == UNKNOWN:
        return value
    if value.type == VOID:
        typing.report("CDISP0373E", f"{what} must be a value, but this expression has none", written)
        return typing.wrong(written)
    if expected is not None:
        result = converted(value, expected)
        if result is None:
            message = f"{what} must be {expected}, but this is {value.type}"
            typing.report("CDISP0048E", message, written)
            return typing.wrong(written)
        value = result
    read = next(nodes_in(value, PortAttribute, PortTuple), None)
    if parameter.mode == "Attribute" and not isinstance(value, PortAttribute):
        typing.report("CDISP0213E", f"{what} must be an attribute of an input port", written)
    elif parameter.mode == "AttributeFree" and read is not None:
        message = f"{what} cannot read attributes of tuples"
        typing.mistakes.append(Mistake("CDISP0360E", message, read.span))
    elif parameter.mode == "Constant" and (read is not None or _varies(value)):
        typing.report("CDISP0216E", f"{what} must be known when the application is compiled", written)
    return value


def _varies(value: Expression) -> bool:
    """Return True if an expression reads a state variable, or calls a stateful function."""
    return any(each.signature.stateful for each in nodes_in(value, Call)) or any(
        each.kind == "state" for each in nodes_in(value, Variable)
    )


def _word(
    typing: ExpressionTyping, model: SplOperatorModel, parameter: ParameterModel, written: tree.Expression
) -> Expression:
    """Return a word of a parameter's enumeration as a constant; a formal parameter is replaced by its actual.

    Any name is a word if the parameter declares none. Report any other value, and return an expression in error for it.
    """
    found = named_actual(written, typing.scope) if isinstance(written, tree.Name) else None
    sought = written if found is None else found[0]
    type_ = Enumeration(parameter.words)
    if isinstance(sought, tree.Member) and isinstance(sought.operand, tree.Name) and sought.operand.name == model.name:
        sought = sought.name
    if isinstance(sought, tree.Name) and (sought.name in parameter.words or not parameter.words):
        return Constant(typing.span(written), type_, sought.name)
    words = ", ".join(parameter.words)
    message = f"{parameter.name} of {model.name} must be one of these words, not {text_of(written)}: {words}"
    typing.report("CDISP0088E", message, written)
    return typing.wrong(written)


def _type(parameter: ParameterModel) -> Type | None:
    """Return the SPL type that a parameter's model declares; None without one, or for a type of the toolkit itself."""
    if not parameter.type:
        return None
    try:
        return type_of_text(parameter.type)
    except WrittenTypeError:
        return None
