"""Attributes that parameters mention, as far as that is plain to see without the operator's own check.

Compiling only wants to know whether an attribute is named that the stream does not have. The parser of expressions says
so; only for an expression that it refuses, compiling has to wait for Arrow, and for the operator's own check.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.naming import names_of


class Mentions(NamedTuple):
    """The attributes that an operator's parameters name."""

    inputs: Collection[str] = ()
    """Attributes of every input stream."""
    outputs: Collection[str] = ()
    """Attributes of every output stream."""
    expressions: Collection[str] = ()
    """Over the attributes of the input streams."""

    @classmethod
    def of(cls, *conditions: str | None, output: Mapping[str, str] | Sequence[Mapping[str, str]] = ()) -> Mentions:
        """Return the mentions of conditions and of `output` clauses."""
        clauses = [output] if isinstance(output, Mapping) else output
        return cls(
            outputs=[name for clause in clauses for name in clause],
            expressions=[
                *(text for text in conditions if text is not None),
                *(text for clause in clauses for text in clause.values()),
            ],
        )

    def are_known(self, inputs: Sequence[Collection[str]], outputs: Sequence[Collection[str]]) -> bool:
        """Return True if the streams certainly have all mentioned attributes.

        Args:
            inputs: attributes of every input stream.
            outputs: attributes of every output stream.
        """
        common = set(inputs[0]).intersection(*inputs[1:]) if inputs else set[str]()
        return (
            common.issuperset(self.inputs)
            and all(set(names).issuperset(self.outputs) for names in outputs)
            and all(is_over(text, common) for text in self.expressions)
        )


def is_over(expression: str, names: Collection[str]) -> bool:
    """Return True if an expression uses no other attributes; False, too, for a text that is no expression.

    The case of a name is ignored as far as only one attribute is meant, as typing does it.
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
