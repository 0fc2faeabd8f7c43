"""Reads of state variables by expressions that are evaluated apart from the logic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streams_orchestration.spl.application.rewriting import by_attributes, with_values
from streams_orchestration.spl.application.values import parts_of
from streams_orchestration.spl.types.columns import type_of_column
from streams_orchestration.spl.typing.scopes import Port
from streams_orchestration.spl.typing.typed import Call, Cast, Declare, Expression, PortAttribute, Variable


@dataclass
class StateReading:
    """The state variables of one invocation, and the check that expressions may read them.

    A variable that changes is a column beside the attributes of an input port, with its value after `onTuple` has run
    for the tuple. That is the only input port, or the port whose tuples a parameter is about.
    """

    variables: Mapping[str, Declare]
    inputs: tuple[Port, ...] = ()
    columns: dict[str, None] = field(default_factory=dict[str, None])
    """The variables that expressions read as columns."""
    port: int | None = None
    """The input port whose tuples the present parameter is about, of several ports; None for other parameters."""

    def changing(self, checked: Expression, *, columns: bool = True) -> Variable | None:
        """Return the first state variable that an expression cannot read: one that is neither a constant nor a column.

        Args:
            checked: the expression.
            columns: True if the expression is evaluated for tuples, so that a variable may be a column.
        """
        for each in _read(checked):
            is_column = columns and self._column(each) is not None
            if each.name in self.variables and self._value(each, ()) is None and not is_column:
                return each
        return None

    def without(self, checked: Expression) -> Expression:
        """Return an expression in which state variables are replaced by their initial expressions or by columns."""
        read = [each for each in _read(checked) if each.name in self.variables]
        constants = {each.name: self._value(each, ()) for each in read}
        columns = {each.name: self._column(each) for each in read if constants[each.name] is None}
        self.columns.update(dict.fromkeys(name for name, value in columns.items() if value is not None))
        if any(each.mutable for each in self.variables.values()):  # the columns are not attributes of the tuple
            checked = by_attributes(checked)
        values = constants | columns
        return with_values(checked, {name: value for name, value in values.items() if value is not None})

    def _column(self, variable: Variable) -> Expression | None:
        """Return the column of a variable; None for an expression of several ports, or a type that no column shows."""
        port = 0 if len(self.inputs) == 1 else self.port
        if port is None or port >= len(self.inputs) or type_of_column(variable.type) != variable.type:
            return None
        return PortAttribute(variable.span, variable.type, self.inputs[port].label, variable.name)

    def _value(self, variable: Variable, within: tuple[str, ...]) -> Expression | None:
        """Return the initial expression of an unchangeable variable if it is pure; None otherwise."""
        declared = self.variables.get(variable.name)
        if declared is None or declared.mutable or declared.value is None or variable.name in within:
            return None
        calls = [each for each in parts_of(declared.value) if isinstance(each, Call)]
        if not all(each.signature.is_pure for each in calls):
            return None
        inner = {each.name: self._value(each, (*within, variable.name)) for each in _read(declared.value)}
        if None in inner.values():
            return None
        value = with_values(declared.value, {name: each for name, each in inner.items() if each is not None})
        return value if value.type == declared.type else Cast(value.span, declared.type, value)


def _read(checked: Expression) -> list[Variable]:
    return [each for each in parts_of(checked) if isinstance(each, Variable) and each.kind == "state"]
