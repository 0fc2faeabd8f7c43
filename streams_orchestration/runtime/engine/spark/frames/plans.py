"""Reads Spark's logical plans in the JVM."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def analysed(frame: DataFrame) -> Any:
    """Return the logical plan of a DataFrame as Spark has analysed it, before the optimizer changes it."""
    jvm_frame: Any = frame._jdf  # pyright: ignore[reportPrivateUsage] - there is no public way
    return jvm_frame.queryExecution().analyzed()


def nodes(node: Any) -> Iterator[Any]:
    """Yield a node of a plan, or a part of an expression, and all nodes below it."""
    yield node
    for child in each(node.children()):
        yield from nodes(child)


def each(sequence: Any) -> Iterator[Any]:
    """Yield the elements of a Scala sequence."""
    for place in range(sequence.size()):
        yield sequence.apply(place)


def kind_of(node: Any) -> str:
    """Return the name of a node's class, without the package."""
    return str(node.getClass().getSimpleName())
