"""The annotation `eventTime`, with submission-time values in place (EV2)."""

from __future__ import annotations

import math

from streams_orchestration.compiler.logical.instances import PrimitiveInstance
from streams_orchestration.compiler.logical.substitution import Substitution
from streams_orchestration.compiler.logical_graph import EventTimeAnnotation


def event_time_annotation(instance: PrimitiveInstance, substitution: Substitution) -> EventTimeAnnotation | None:
    """Return the annotation of an operator; None without one.

    A `lag` or `minimumGap` without a value, or with one that is not a finite number of at least 0, is reported, and
    its default is taken.
    """
    written = instance.invocation.annotations.event_time
    if written is None:
        return None

    def number(key: str, value: float | str, default: float) -> float:
        resolved, origin = substitution.number(value, written, key, instance.name)
        if resolved is None:
            return default
        if not 0 <= resolved < math.inf:
            message = f"{key} must be a finite number of at least 0, but {origin} is {resolved:g}"
            substitution.report("SO0401", message, instance.name, written, key)
            return default
        return float(resolved)

    return EventTimeAnnotation(
        attribute=written.event_time_attribute,
        resolution=written.resolution,
        lag=number("lag", written.lag, 0.0),
        minimum_gap=number("minimumGap", written.minimum_gap, 0.1),
        idle_after=_literal(written.idle_after),
        max_ahead=_literal(written.max_ahead),
        confirmations=3 if written.confirmations is None else int(written.confirmations),
        ahead_of=written.ahead_of,
        on_null=written.on_null,
        max_drift=_literal(written.max_drift),
        location=instance.invocation.annotations.location("eventTime"),
    )


def _literal(value: float | str | None) -> float | None:
    return None if value is None else float(value)
