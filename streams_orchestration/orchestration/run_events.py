"""Events of assets and checks that the op of a run logs."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

Event = dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation


def log_events(context: dg.OpExecutionContext, events: Iterable[Event]) -> None:
    """Log events of an op, which are stored in their order when it has ended or failed.

    A check that is recorded otherwise meanwhile is older than a materialization that is logged here, so Dagster would
    show it as not evaluated.
    """
    for event in events:
        context.log_event(event)  # pyright: ignore[reportArgumentType] - it takes evaluations, the annotation lacks them
