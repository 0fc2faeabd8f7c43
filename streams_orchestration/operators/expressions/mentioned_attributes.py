"""The attributes that parameters mention, found without the operator's own `check`.

The compiler only needs to know whether a parameter names an attribute that the stream lacks. The parser of expressions
can tell that. Only if it refuses an expression does the compiler wait for Arrow and the operator's `check`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.naming import names_of


class Mentions(NamedTuple):
    """The attributes that an operator's parameters name."""

    inputs: Collection[str] = ()
    """Attributes that every input stream must have."""
    outputs: Collection[str] = ()
    """Attributes that every output stream must have."""
    expressions: Collection[str] = ()
    """Texts of expressions over the attributes of the input streams."""

    @classmethod
    def of(cls, *conditions: str | None, output: Mapping[str, str] | Sequence[Mapping[str, str]] = ()) -> Mentions:
        """Return the mentions of some conditions and `output` clauses. A condition that is None has none."""
        clauses = [output] if isinstance(output, Mapping) else output
        return cls(
            outputs=[name for clause in clauses for name in clause],
            expressions=[
                *(text for text in conditions if text is not None),
                *(text for clause in clauses for text in clause.values()),
            ],
        )

    def are_known(self, inputs: Sequence[Collection[str]], outputs: Sequence[Collection[str]]) -> bool:
        """Return True if the streams certainly have all mentioned attributes."""
        common = set(inputs[0]).intersection(*inputs[1:]) if inputs else set[str]()
        return (
            common.issuperset(self.inputs)
            and all(set(names).issuperset(self.outputs) for names in outputs)
            and all(is_over(text, common) for text in self.expressions)
        )


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
