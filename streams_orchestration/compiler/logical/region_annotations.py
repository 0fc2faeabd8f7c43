"""The annotations `consistent` and `autonomous`, resolved, in the order in which regions are founded (A1-A9, A13)."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.logical.instances import CompositeInstance, InstanceTree, PrimitiveInstance
from streams_orchestration.compiler.logical.substitution import Substitution
from streams_orchestration.compiler.logical_graph import ConsistentAnnotation
from streams_orchestration.model.annotations import Annotations, Consistent
from streams_orchestration.model.element import Element

_ATTEMPTS = "maxConsecutiveResetAttempts"
_FIELDS = {
    "period": "period",
    "drainTimeout": "drain_timeout",
    "resetTimeout": "reset_timeout",
    _ATTEMPTS: "max_consecutive_reset_attempts",
}
_RESTART = ("pause", "limit")


def consistent_annotations(tree: InstanceTree, substitution: Substitution) -> Iterator[ConsistentAnnotation]:
    """Yield the region annotations of composites and operators, in the order of the walk of A13; report wrong values.

    The order is: annotations of a composite, of the composites inside it, of its primitive operators. Imports and
    Exports are left out.
    """

    def visit(instance: CompositeInstance) -> Iterator[ConsistentAnnotation]:
        if instance.invocation is not None:
            yield from _of(instance.invocation.annotations, instance, substitution)
        for composite in instance.composites:
            yield from visit(composite)
        for primitive in instance.primitives:
            if primitive.index >= 0:
                yield from _of(primitive.invocation.annotations, primitive, substitution)

    yield from visit(tree.main)


def _of(
    annotations: Annotations, instance: CompositeInstance | PrimitiveInstance, substitution: Substitution
) -> Iterator[ConsistentAnnotation]:
    composite = isinstance(instance, CompositeInstance)
    if annotations.autonomous:
        location = annotations.location("autonomous")
        yield ConsistentAnnotation("autonomous", instance.name, composite, location=location)
    elif annotations.consistent is not None:
        consistent = annotations.consistent
        values, submission = _values(consistent, instance.name, substitution)
        yield ConsistentAnnotation(
            "consistent",
            instance.name,
            composite,
            consistent.trigger,
            values,
            submission,
            annotations.location("consistent"),
        )


def _values(
    consistent: Consistent, operator: str, substitution: Substitution
) -> tuple[dict[str, float | int], dict[str, str]]:
    values: dict[str, float | int] = {}
    submission: dict[str, str] = {}
    for name, element, key, written in _written(consistent):
        value, origin = substitution.number(written, element, key, operator, integer=key == _ATTEMPTS)
        if origin:
            submission[name] = origin
        if value is None:
            continue
        values[name] = value
        if value <= 0:
            substitution.report("SO0401", f"{name} must be above 0, not {value}", operator, element, key)
    return values, submission


def _written(consistent: Consistent) -> Iterator[tuple[str, Element, str, float | int | str]]:
    """Yield each value that an annotation sets: its name, the element that holds it, its key there, and the value."""
    for key, field in _FIELDS.items():
        if (written := getattr(consistent, field)) is not None:
            yield key, consistent, key, written
    if (restart := consistent.restart) is not None:
        for key in _RESTART:
            if (written := getattr(restart, key)) is not None:
                yield f"restart.{key}", restart, key, written
