"""The attributes that parameters mention, found without the operator's own `check`.

The compiler only needs to know whether a parameter names an attribute that the stream lacks. The parser of expressions
can tell that. Only if it refuses an expression does the compiler wait for Arrow and the operator's `check`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.naming import names_of
from streams_orchestration.operators.expressions.spl.text import SplText


class Mentions(NamedTuple):
    """The attributes that an operator's parameters name."""

    inputs: Collection[str] = ()
    """Attributes that every input stream must have."""
    outputs: Collection[str] = ()
    """Attributes that every output stream must have."""
    expressions: Collection[str] = ()
    """Texts of expressions over the attributes of the input streams."""

    def are_known(self, inputs: Sequence[Collection[str]], outputs: Sequence[Collection[str]]) -> bool:
        """Return True if the streams certainly have all mentioned attributes."""
        common = set(inputs[0]).intersection(*inputs[1:]) if inputs else set[str]()
        return (
            common.issuperset(self.inputs)
            and all(set(names).issuperset(self.outputs) for names in outputs)
            and all(is_over(text, common) for text in self.expressions)
        )


class NamingParameters(NamedTuple):
    """The fields of an operator's parameters that name attributes: each is a text, a list, a map or None."""

    inputs: tuple[str, ...] = ()
    """Fields with attributes of the input streams; expressions of SPL may be among them. A map has them as its keys."""
    outputs: tuple[str, ...] = ()
    """Fields with attributes of the output streams. A map has them as its keys."""
    expressions: tuple[str, ...] = ()
    """Fields with expressions over the input streams. A map assigns them to attributes of the output streams."""

    def mentions(self, parameters: Any) -> Mentions:
        """Return the attributes and expressions in the fields."""
        inputs, outputs, expressions = list[str](), list[str](), list[str]()
        for field in self.inputs:
            for name in _texts(getattr(parameters, field)):
                (expressions if isinstance(name, SplText) else inputs).append(name)
        for field in self.outputs:
            outputs += _texts(getattr(parameters, field))
        for field in self.expressions:
            written = getattr(parameters, field)
            for clause in written if isinstance(written, list) else [written]:
                if isinstance(clause, Mapping):
                    outputs += clause.keys()
                    expressions += clause.values()
                else:
                    expressions += _texts(clause)
        return Mentions(inputs, outputs, expressions)


def _texts(value: Any) -> list[str]:
    """Return a text alone, the texts in a list, or the keys of a map; none for other values."""
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, Collection) else []


def is_over(expression: str, names: Collection[str]) -> bool:
    """Return True if an expression uses only the given names; False also for a text that is not an expression.

    As in typing, a name that differs in case matches if only one attribute is meant.
    """
    try:
        used = names_of(expression)
    except ExpressionError:
        return False
    unknown = used.difference(names)
    if not unknown:
        return True
    folded = [name.lower() for name in names]
    return all(folded.count(name.lower()) == 1 for name in unknown)
