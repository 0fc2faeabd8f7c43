"""The not-null check for values of NOT NULL attributes. Expressions cannot call it by name."""

from __future__ import annotations

from typing import Any

from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.table import SqlFunction
from streams_orchestration.expressions.tree import Call, TypedNode

NAME = "not null"


def _present(value: Any) -> Any:
    if value is None:
        message = "it is null, but the attribute is NOT NULL; coalesce gives it a value, or leave out NOT NULL"
        raise EvaluationError(message)
    return value


_PRESENT = SqlFunction(NAME, "", "", (), lambda _binding: _present, strict=False, fails=True)


def present(node: TypedNode) -> TypedNode:
    """Return a node with the same value, which fails if the value is null."""
    return Call(_PRESENT, (node,), node.type)
