"""Events of assets and checks that an op logs in its run."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

Event = dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation


def log_events(context: dg.OpExecutionContext, events: Iterable[Event]) -> None:
    """Log events of an op. Dagster stores them, in their order, when the op has ended or failed.

    So a materialization and its checks must be logged together: a check that is recorded in another way before the op
    ends is older than the materialization, and Dagster shows it as not evaluated.
    """
    for event in events:
        context.log_event(event)  # pyright: ignore[reportArgumentType] - it takes evaluations, the annotation lacks them
