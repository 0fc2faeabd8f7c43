"""Records in Dagster that a command has stopped an application or reset a unit, or prints why Dagster cannot.

The command has acted before, so the act neither waits for Dagster nor fails with it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from streams_orchestration.cli.messages import note
from streams_orchestration.cli.start import jobs_of
from streams_orchestration.runtime import api


def record_cancel(catalog: api.Catalog, application: str) -> None:
    """Record in Dagster that an application was stopped, or print a note that Dagster cannot record it."""
    with _noting_unrecorded(f"{application} is stopped"):
        jobs_of(catalog, application).record_cancel()


def record_reset(catalog: api.Catalog, application: str, unit: str, generation: int) -> None:
    """Record in Dagster that a unit was reset, or print a note that Dagster cannot record it.

    Args:
        catalog: the catalog.
        application: the name of the application.
        unit: the unit, which works again.
        generation: the generation from which it was reset.
    """
    with _noting_unrecorded(f"{unit} is reset"):
        jobs_of(catalog, application).record_reset(unit, generation)


@contextmanager
def _noting_unrecorded(fact: str) -> Generator[None]:
    """Run the block, and print a note instead of its error if it raises StreamsRuntimeError."""
    try:
        yield
    except api.StreamsRuntimeError as error:
        note(f"Dagster cannot record that {fact}: {error}")
