"""The starts and barriers of consistent regions, by the deciding annotation of each operator (A13-A22)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streams_orchestration.compiler.logical_graph import ConsistentAnnotation, LogicalGraph, LogicalOperator


@dataclass(frozen=True, slots=True)
class RegionStarts:
    """The starts and barriers of regions, before regions grow."""

    created: tuple[ConsistentAnnotation, ...]
    """The `@consistent` annotations, each of which creates a region (A14). Until regions are merged, a region's number
    is its annotation's position here."""
    starts: Mapping[int, int]
    """Start operator -> the region created for it."""
    barriers: frozenset[int]
    """Operators that no region enters (A19, A20)."""


def find_starts(logical: LogicalGraph) -> RegionStarts:
    """Find the starts and barriers of consistent regions from the annotations of an application (A13-A22).

    An annotated primitive operator decides for itself, otherwise the innermost annotated composite does (A16, A21). In
    a composite, an operator is a start or a barrier only if all its streams come from outside (A16, A20). So a region
    can enter an operator inside an `@autonomous` composite whose ports have one inner and one outer producer.
    """
    deciding = innermost_annotations(logical)
    created = tuple(annotation for annotation in deciding.values() if annotation.kind == "consistent")
    number = {annotation.scope: position for position, annotation in enumerate(created)}
    inner_fed = _fed_from_inside(logical, deciding)
    starts: dict[int, int] = {}
    barriers: set[int] = set()
    for operator in logical.operators:
        annotation = deciding_annotation(operator, deciding)
        if annotation is None or operator.index in inner_fed:
            continue
        if annotation.kind == "consistent":
            starts[operator.index] = number[annotation.scope]
        else:
            barriers.add(operator.index)
    return RegionStarts(created, starts, frozenset(barriers))


def innermost_annotations(logical: LogicalGraph) -> dict[str, ConsistentAnnotation]:
    """Map each annotated scope to its annotation, in the order of the walk of A13.

    If one invocation carries both kinds, which is an error (A9), `@consistent` is kept.
    """
    deciding: dict[str, ConsistentAnnotation] = {}
    for annotation in logical.annotations:
        if annotation.scope not in deciding or annotation.kind == "consistent":
            deciding[annotation.scope] = annotation
    return deciding


def deciding_annotation(
    operator: LogicalOperator, annotations: Mapping[str, ConsistentAnnotation]
) -> ConsistentAnnotation | None:
    """Return the operator's own annotation, or else the annotation of its innermost annotated composite (A21).

    None if none is annotated.
    """
    if operator.name in annotations:
        return annotations[operator.name]
    for composite in reversed(operator.composites):
        if composite in annotations:
            return annotations[composite]
    return None


def _fed_from_inside(logical: LogicalGraph, annotations: Mapping[str, ConsistentAnnotation]) -> set[int]:
    """Return the operators that are fed by an operator inside the same deciding composite (A16, A17)."""
    scope_of = [""] * len(logical.operators)
    for operator in logical.operators:
        annotation = deciding_annotation(operator, annotations)
        if annotation is not None and annotation.scope != operator.name:
            scope_of[operator.index] = annotation.scope
    return {
        connection.target
        for connection in logical.connections
        if scope_of[connection.target]
        and scope_of[connection.target] in logical.operators[connection.source].composites
    }
