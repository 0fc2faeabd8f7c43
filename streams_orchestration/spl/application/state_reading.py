"""Reads of input ports by expressions, and of state variables by those that are evaluated apart from the logic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from streams_orchestration.spl.application.rewriting import by_attributes, with_values
from streams_orchestration.spl.language.walking import nodes_in
from streams_orchestration.spl.models.operators import SplOperatorModel
from streams_orchestration.spl.types.columns import beyond_column
from streams_orchestration.spl.types.types import Tuple, TupleAttribute
from streams_orchestration.spl.typing.scopes import Port
from streams_orchestration.spl.typing.spans import Mistake
from streams_orchestration.spl.typing.typed import (
    Assign,
    Call,
    Cast,
    Declare,
    Expression,
    Index,
    Member,
    PortAttribute,
    PortTuple,
    Postfix,
    Prefix,
    Variable,
)


@dataclass
class StateReading:
    """The state variables of one invocation, and the check that expressions may read them.

    A variable that changes is a column beside the attributes of an input port, with its value after `onTuple` has run
    for the tuple. That is the only input port, or the port whose tuples a parameter is about. An expression that pairs
    the tuples of several ports reads the value after `onTuple` of the tuple that came last.
    """

    variables: Mapping[str, Declare]
    inputs: tuple[Port, ...] = ()
    columns: dict[str, None] = field(default_factory=dict[str, None])
    """The variables that expressions read as columns."""
    port: int | None = None
    """The input port whose tuples the present parameter is about, of several ports; None for other parameters."""
    paired: bool = False
    """True if expressions about no single port are evaluated for tuples of several ports that came together."""

    def changing(self, checked: Expression) -> Variable | None:
        """Return the first state variable that an expression cannot read; None if it can read all.

        Such a variable is neither a constant nor a column. Without input ports no variable is a column.
        """
        for each in _read(checked):
            if each.name in self.variables and self._value(each, ()) is None and self._column(each) is None:
                return each
        return None

    def mistakes(self, checked: Expression) -> list[Mistake]:
        """Return mistakes for the first variable that an expression cannot read, and for all variables it changes."""
        found: list[Mistake] = []
        if (variable := self.changing(checked)) is not None:
            message = f"this reads {variable.name} of the logic, which changes; compute it in a Custom upstream"
            found.append(Mistake("SO0724", message, variable.span))
        for each in _changed(checked):
            if each.name in self.variables:
                message = f"this changes {each.name} of the logic; change it in onTuple, or in a Custom upstream"
                found.append(Mistake("SO0724", message, each.span))
        return found

    def with_columns(self, port: Port) -> Port:
        """Return a port that has the variables which expressions read as columns beside its attributes."""
        own = [TupleAttribute(name, self.variables[name].type) for name in self.columns]
        return replace(port, type=Tuple((*port.type.attributes, *own))) if own else port

    def beyond_columns(self, checked: Expression) -> Tuple:
        """Return the variables that an expression about several ports reads, if columns do not determine their types.

        The expression must have passed `without`.
        """
        read = {each.name: self.variables[each.name].type for each in _read(checked) if each.name in self.variables}
        return beyond_column(Tuple(tuple(TupleAttribute(name, type_) for name, type_ in read.items())))

    def without(self, checked: Expression) -> Expression:
        """Replace state variables by their initial expressions, or by columns, which are noted in `columns`.

        A variable that the expression cannot read (`changing`) is kept. If a state variable may change, reads of whole
        tuples become tuple literals.
        """
        read = [each for each in _read(checked) if each.name in self.variables]
        constants = {each.name: self._value(each, ()) for each in read}
        columns = {each.name: self._column(each) for each in read if constants[each.name] is None}
        self.columns.update(dict.fromkeys(name for name, value in columns.items() if value is not None))
        if any(each.mutable for each in self.variables.values()):  # the columns are not attributes of the tuple
            checked = by_attributes(checked)
        values = constants | columns
        return with_values(checked, {name: value for name, value in values.items() if value is not None})

    def _column(self, variable: Variable) -> Expression | None:
        """Return the column of a variable; None for an expression that cannot read it.

        Tuples of several ports that came together have the variable itself as a column.
        """
        port = 0 if len(self.inputs) == 1 else self.port
        if port is None:
            return variable if self.paired else None
        if port >= len(self.inputs):
            return None
        return PortAttribute(variable.span, variable.type, self.inputs[port].label, variable.name)

    def _value(self, variable: Variable, within: tuple[str, ...]) -> Expression | None:
        """Return the initial expression of an unchangeable variable if it is pure; None otherwise."""
        declared = self.variables.get(variable.name)
        if declared is None or declared.mutable or declared.value is None or variable.name in within:
            return None
        calls = nodes_in(declared.value, Call)
        if not all(each.signature.is_pure for each in calls):
            return None
        inner = {each.name: self._value(each, (*within, variable.name)) for each in _read(declared.value)}
        if None in inner.values():
            return None
        value = with_values(declared.value, {name: each for name, each in inner.items() if each is not None})
        return value if value.type == declared.type else Cast(value.span, declared.type, value)


def before_tuples(
    model: SplOperatorModel,
    given: Mapping[str, tuple[Expression, ...]],
    state: StateReading,
    mistakes: list[Mistake],
) -> dict[str, tuple[Expression, ...]]:
    """Return parameters, with initial expressions for the state variables in each parameter of mode `AttributeFree`.

    These parameters are evaluated before the first tuple; others are returned unchanged. A parameter that reads a
    variable without a constant value is left out.

    Args:
        model: the model of the operator.
        given: the values of the parameters.
        state: the state variables, without input ports.
        mistakes: the list that gets a mistake for each value that reads a variable without a constant value.
    """
    made: dict[str, tuple[Expression, ...]] = {}
    for name, values in given.items():
        if name not in model.parameters or model.parameters[name].mode != "AttributeFree":
            made[name] = values
            continue
        wrong = [variable for each in values if (variable := state.changing(each)) is not None]
        for each in wrong:
            message = (
                f"{name} of {model.name} is evaluated before the first tuple, but {each.name} of the logic has no "
                "constant value; write the value itself, or a submission-time value"
            )
            mistakes.append(Mistake("SO0724", message, each.span))
        if not wrong:
            made[name] = tuple(map(state.without, values))
    return made


def _read(checked: Expression) -> list[Variable]:
    return [each for each in nodes_in(checked, Variable) if each.kind == "state"]


def _changed(checked: Expression) -> list[Variable]:
    """Return the state variables that an expression changes, as often as it does."""
    targets: list[Expression] = []
    for each in nodes_in(checked, Prefix, Postfix, Assign, Call):
        match each:
            case Prefix(operator="++" | "--", operand=target) | Postfix(operator="++" | "--", operand=target):
                targets.append(target)
            case Assign(target=target):
                targets.append(target)
            case Call(signature=signature, arguments=arguments):
                parameters = zip(signature.parameters, arguments, strict=False)
                targets += [argument for parameter, argument in parameters if parameter.mutable]
            case _:
                pass
    roots = map(_root, targets)
    return [each for each in roots if isinstance(each, Variable) and each.kind == "state"]


def _root(target: Expression) -> Expression:
    """Return the variable or port of which an assigned expression is a part."""
    while isinstance(target, Member | Index):
        target = target.operand
    return target


def reads(checked: Expression, port: Port) -> bool:
    """Return True if an expression reads an attribute of a port, or its tuple."""
    return any(each.port == port.label for each in nodes_in(checked, PortTuple, PortAttribute))


def reads_whole(checked: Expression, port: Port) -> bool:
    """Return True if an expression reads the tuple of a port as one value."""
    return any(each.port == port.label for each in nodes_in(checked, PortTuple))


def beyond_columns(checked: Expression, port: Port) -> Tuple:
    """Return the attributes of a port that an expression reads, but whose SPL types their columns do not determine."""
    if reads_whole(checked, port):
        return beyond_column(port.type)
    read = {each.name for each in nodes_in(checked, PortAttribute) if each.port == port.label}
    return beyond_column(Tuple(tuple(each for each in port.type.attributes if each.name in read)))
