"""Values of merged regions: period, timeouts, attempts (A28, A29)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streams_orchestration.compiler.logical_graph import ConsistentAnnotation
from streams_orchestration.compiler.stage_results import DEFAULT_RESTART
from streams_orchestration.model.diagnostics import Diagnostic

DEFAULTS: dict[str, float | int | None] = {
    "period": None,
    "drainTimeout": 180.0,
    "resetTimeout": 180.0,
    "maxConsecutiveResetAttempts": 5,
    "restart.pause": DEFAULT_RESTART.pause,
    "restart.limit": DEFAULT_RESTART.limit,
}
"""The defaults of the annotation's values (A1): all are in seconds, except the count of reset attempts."""


def merge_values(
    annotations: Sequence[ConsistentAnnotation],
) -> tuple[dict[str, float | int | None], list[Diagnostic]]:
    """Return the values of the region that merges some annotations, given in the order of creation; report errors.

    For each key the largest value is taken, where a missing key has its default. But a submission-time value precedes
    every literal, and two different ones contradict each other (CDISP0684E); the first name in alphabetical order
    counts then. An operator-driven region merges with no other (CDISP0835E), and the first annotation's values are
    returned then. Each of these errors has details that name the annotations involved.
    """
    diagnostics: list[Diagnostic] = []
    first = annotations[0]
    if len(annotations) > 1 and any(annotation.trigger == "operatorDriven" for annotation in annotations):
        scopes = ", ".join(annotation.scope for annotation in annotations)
        message = f"the regions of {scopes} share operators and would have to merge, but one of them is operator-driven"
        diagnostics.append(Diagnostic.of("CDISP0835E", message, operator=first.scope, location=first.location))
        diagnostics += _details("CDISP0836D", f"this region meets the region of {first.scope}", annotations[1:])
        return {**DEFAULTS, **first.values}, diagnostics
    merged: dict[str, float | int | None] = {}
    for key, default in DEFAULTS.items():
        taking = [annotation for annotation in annotations if key in annotation.submission]
        submitted = {a.submission[key]: a.values.get(key, default) for a in taking}
        if len(submitted) > 1:
            names = ", ".join(sorted(submitted))
            message = f"regions that merge take {key} from different submission-time values: {names}"
            diagnostics.append(Diagnostic.of("CDISP0684E", message, operator=first.scope, location=first.location))
            diagnostics += _details("CDISP0685D", f"this region takes {key} from a submission-time value", taking)
        if submitted:
            merged[key] = submitted[min(submitted)]
        else:
            values = [a.values.get(key, default) for a in annotations]
            merged[key] = max((value for value in values if value is not None), default=None)
    return merged, diagnostics


def _details(code: str, message: str, annotations: Sequence[ConsistentAnnotation]) -> Iterator[Diagnostic]:
    for annotation in annotations:
        yield Diagnostic.of(code, message, operator=annotation.scope, location=annotation.location)
