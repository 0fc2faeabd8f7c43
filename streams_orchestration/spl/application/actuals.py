"""Checks of the actual parameters of composites at an invocation, even of those that the body does not use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from streams_orchestration.spl.application.names import FileNames
from streams_orchestration.spl.functions.signatures import builtin
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.definitions import Argument
from streams_orchestration.spl.types.types import UNKNOWN
from streams_orchestration.spl.typing.checking import ExpressionTyping, type_of
from streams_orchestration.spl.typing.naming import named_actual, type_of_values
from streams_orchestration.spl.typing.scopes import Actual, FunctionName, Scope
from streams_orchestration.spl.typing.spans import Mistake, Report, Source
from streams_orchestration.spl.typing.typed import PortAttribute


def check_actual(
    actual: Actual,
    argument: Argument,
    mistakes: list[Mistake],
    find_operator: Callable[[tree.Name], object],
    report: Report,
) -> bool:
    """Report an actual parameter that does not match the mode and type of its formal.

    Return False if the body cannot use it: it has several values, or is not an operator, a function, a value, or an
    attribute of an input port as its mode requires. A mistake within an expression, an unknown function, and a value
    that is not a type give True.

    Args:
        actual: the actual parameter.
        argument: the parameter of the invocation that gives it.
        mistakes: the list that gets the mistakes in expressions and types.
        find_operator: looks up an operator, and reports a name that means none.
        report: takes each other mistake.
    """
    values, label = actual.values, argument.label
    if isinstance(values, tuple) and len(values) != 1:
        report("CDISP0030E", f"{label} has {len(values)} values here, but one is needed", label)
        return False
    named = type_of_values(values)
    match actual.mode:
        case "type" if named is None:
            report("CDISP0050E", f"the value of {label} is not a type", node_of(actual))
        case "type" if named is not None:
            type_of(named, actual.scope, actual.source, mistakes)
        case "operator" if isinstance(named, tree.NamedType) and not named.member:
            return find_operator(named.name) is not None
        case "function" if isinstance(named, tree.NamedType) and not named.member:
            _check_function(named.name, actual.scope, report)
        case "operator" | "function":
            code = "CDISP0800E" if actual.mode == "operator" else "CDISP0052E"
            report(code, f"the value of {label} names no {actual.mode}", node_of(actual))
            return False
        case _:
            return _is_value(actual, argument, mistakes, report)
    return True


def named_operator(name: tree.Name, scope: Scope, names: FileNames) -> tuple[FileNames, tree.Name] | None:
    """Return the name of an operator and the file in which the name is used.

    For a formal parameter of mode `operator`, this is the name that the invocation passes for it. The result is None
    if the passed value is not a name.
    """
    found = named_actual(name, scope)
    if found is None:
        return None
    written, within = found
    return within.definitions if isinstance(within.definitions, FileNames) else names, written


def add_invocation(mistakes: list[Mistake], first: int, source: Source, within: str) -> None:
    """Add the invocation of a composite to the mistakes in the composite's file, from index `first` in the list on.

    A mistake that has an invocation already keeps it.
    """
    for at, each in enumerate(mistakes[first:], first):
        if not each.within and each.span.source is source:
            mistakes[at] = replace(each, within=within)


def node_of(actual: Actual | Argument) -> tree.Node:
    """Return the syntax-tree node of an actual parameter; if it has several values, the node of the first."""
    return actual.values[0] if isinstance(actual.values, tuple) else actual.values


def _is_value(actual: Actual, argument: Argument, mistakes: list[Mistake], report: Report) -> bool:
    """Return True if an actual parameter is an expression, an attribute if its formal is; else report a mistake.

    Mistakes within the expression are reported, too, and do not make the result False.
    """
    written = expression_of_values(actual.values)
    if written is None:
        report("CDISP0302E", f"the value of {argument.label} is a type, not an expression", node_of(actual))
        return False
    typing = ExpressionTyping(actual.source, actual.scope, mistakes)
    value = typing.expression(written) if actual.type is None else typing.initialiser(written, actual.type)
    if actual.mode == "attribute" and not isinstance(value, PortAttribute) and value.type != UNKNOWN:
        report("CDISP0213E", f"the value of {argument.label} is not an attribute of an input port", written)
        return False
    return True


def expression_of_values(values: tree.Type | tuple[tree.Expression, ...]) -> tree.Expression | None:
    """Return an actual parameter as an expression, the first of several; None if it can only be a type.

    The parser reads a plain name as a type, so a name is converted back.
    """
    match values:
        case tuple():
            return values[0]
        case tree.NamedType(name=name, member=""):
            return name
        case tree.NamedType(name=name, member=member) as whole:
            return tree.Member(whole.first, whole.last, name, tree.Name(whole.last, whole.last, "", member))
        case _:
            return None


def _check_function(name: tree.Name, scope: Scope, report: Report) -> None:
    meaning = scope.find(name.name, name.namespace)
    if isinstance(meaning, Actual | FunctionName) or builtin(name.name, name.namespace):
        return
    if scope.definitions.assumed_function(name) is None:
        report("CDISP0052E", f"there is no function {name}", name)
