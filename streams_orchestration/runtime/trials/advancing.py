"""The update of an application's state from the catalog: of its units first, then of the trial of its last redeploy."""

from __future__ import annotations

from collections.abc import Iterable

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.trials.trial import close_trial_if_decided
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration.runtime.units.status import UnitsStatus
from streams_orchestration.runtime.units.watch import advance_units


def advance_units_and_trial(catalog: Catalog, application: str, units: Iterable[str] | None = None) -> None:
    """Update units of an application, and decide the trial of its last redeploy if that is possible now.

    Args:
        catalog: the catalog of the application.
        application: the name of the application; if it is not wanted to run, nothing is done.
        units: the names of the units; None for all.

    Raises:
        StreamsRuntimeError: a changed unit was removed meanwhile, or a rule of the recovery protocol is broken.
    """
    advance_units(catalog, application, units)
    close_trial_if_decided(catalog, application)


def advance_and_read_units(catalog: Catalog, application: str) -> UnitsStatus:
    """Record the changes of an application's units, and return their status.

    Raises:
        NotDeployedError: the application is not deployed.
        StreamsRuntimeError: a unit was removed meanwhile, or a rule of the protocol is broken.
    """
    advance_units_and_trial(catalog, application)
    return read_units(catalog, application)
