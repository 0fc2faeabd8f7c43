"""Values of a region that was made of several: period, timeouts, attempts (A28, A29)."""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.compiler.graph import ConsistentAnnotation
from streams_orchestration.model.diagnostics import Diagnostic

DEFAULTS: dict[str, float | int | None] = {
    "period": None,
    "drainTimeout": 180.0,
    "resetTimeout": 180.0,
    "maxConsecutiveResetAttempts": 5,
}
"""Seconds, seconds, seconds, a count (A1)."""


def merge_values(
    annotations: Sequence[ConsistentAnnotation],
) -> tuple[dict[str, float | int | None], list[Diagnostic]]:
    """The values of the region that the annotations, in the order of creation, became together.

    Key by key the largest value wins and a key that was not written counts with its default; but a submission-time
    value beats every literal, and two different ones contradict each other (CDISP0684E). An operator-driven region
    merges with no other (CDISP0835E).
    """
    diagnostics: list[Diagnostic] = []
    first = annotations[0]
    if len(annotations) > 1 and any(annotation.trigger == "operatorDriven" for annotation in annotations):
        scopes = ", ".join(annotation.scope for annotation in annotations)
        message = f"the regions of {scopes} meet and would have to merge, but one of them is operator-driven"
        diagnostics.append(Diagnostic.of("CDISP0835E", message, operator=first.scope, location=first.location))
        return {**DEFAULTS, **first.values}, diagnostics
    merged: dict[str, float | int | None] = {}
    for key, default in DEFAULTS.items():
        submitted = {a.submission[key]: a.values.get(key, default) for a in annotations if key in a.submission}
        if len(submitted) > 1:
            names = ", ".join(sorted(submitted))
            message = f"regions that merge take {key} from different submission-time values: {names}"
            diagnostics.append(Diagnostic.of("CDISP0684E", message, operator=first.scope, location=first.location))
        if submitted:
            merged[key] = submitted[min(submitted)]
        else:
            values = [a.values.get(key, default) for a in annotations]
            merged[key] = max((value for value in values if value is not None), default=None)
    return merged, diagnostics
