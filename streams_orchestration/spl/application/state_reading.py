"""Reads of state variables by expressions that are evaluated apart from the logic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streams_orchestration.spl.application.rewriting import with_values
from streams_orchestration.spl.application.values import parts_of
from streams_orchestration.spl.typing.typed import Call, Cast, Declare, Expression, Variable


@dataclass(frozen=True)
class StateReading:
    """The state variables of one invocation, and the checks if expressions may read them."""

    variables: Mapping[str, Declare]

    def changing(self, checked: Expression) -> Variable | None:
        """Return the first state variable that an expression reads and that is not a constant, or None."""
        for each in _read(checked):
            if each.name in self.variables and self._value(each, ()) is None:
                return each
        return None

    def without(self, checked: Expression) -> Expression:
        """Return an expression in which constant state variables are replaced by their initial expressions."""
        found = {each.name: self._value(each, ()) for each in _read(checked)}
        return with_values(checked, {name: value for name, value in found.items() if value is not None})

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
