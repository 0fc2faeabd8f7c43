"""Attributes that parameters mention, as far as that is plain to see without the operator's own check.

Compiling only wants to know whether an attribute is named that the stream does not have, and nearly always it is plain
that there is none. Only otherwise it has to wait for Arrow, and for the operator's own check.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

_BEGIN = re.compile(
    r"""\s*(?: (?P<value>'[^']*'(?:'[^']*')* | \d+(?:\.\d+)?(?:e[+-]?\d+)?(?!['.\w]) | (?:NULL|TRUE|FALSE)\b(?!\s*[('.])
                        | [a-z_]\w*\s*\(\s*\))
             | (?P<before>NOT\b | [+-](?!-))
             | (?P<open>(?:[a-z_]\w*\s*)?\()
             | (?P<attribute>[a-z_]\w*)(?!['.]) )""",
    re.IGNORECASE | re.ASCII | re.VERBOSE,
)
"""Where a value begins: it, or what may stand before one."""
_NEXT = re.compile(
    r"""\s*(?: (?P<close>\))
             | (?P<comma>,)
             | (?P<after>IS\s+(?:NOT\s+)?(?:NULL|TRUE|FALSE)\b | AS\s+[a-z]\w*(?=\s*\)))
             | (?P<between>(?:AND|OR|(?:NOT\s+)?(?:LIKE|BETWEEN))\b | (?:NOT\s+)?IN(?=\s*\()
                          | <>|<=|>=|!=|\|\||-(?!-)|/(?!\*)|[=<>+*%]) )""",
    re.IGNORECASE | re.ASCII | re.VERBOSE,
)
"""Matches the tokens that may follow a value."""
_SPECIAL = frozenset(
    (
        *("ARRAY", "CASE", "CAST", "CEIL", "CONVERT", "DATE", "DATETIME", "EXISTS", "EXTRACT", "FLOOR", "INTERVAL"),
        *("LAMBDA", "MAP", "MATCH", "NORMALIZE", "OVERLAY", "POSITION", "PRIOR", "SAFE_CAST", "STRUCT", "SUBSTR"),
        *("SUBSTRING", "TIME", "TIMESTAMP", "TRIM", "TRY_CAST", "TRY_CONVERT"),
    )
)
"""Attributes of which nothing is plain, since the word may begin something else."""


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
        """Whether it is plain that the streams have all mentioned attributes.

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
    """Return True if an expression plainly uses no other attributes; False, too, where only the parser can tell.

    It is where values and operators take turns, so that words between values cannot be attributes.
    """
    position, end, depth, value = 0, len(expression.rstrip()), 0, False
    while position < end:
        token = (_NEXT if value else _BEGIN).match(expression, position)
        if token is None:
            return False
        position, kind = token.end(), token.lastgroup
        match kind:
            case "attribute":
                if (name := token["attribute"]) not in names or name.upper() in _SPECIAL:
                    return False
            case "open" | "close":
                depth += 1 if kind == "open" else -1
            case _:
                pass
        if depth < 0 or (kind == "comma" and not depth):
            return False
        value = kind in ("value", "attribute", "close", "after")
    return value and not depth
