"""The requests to bring an application up. The command line and Dagster make them; `bring_up` carries them out.

A request tells how the application begins, and which changes of the deployed plan and state are allowed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from streams_orchestration.runtime.deployment.run_kinds import ENDLESS, RunKind

REDEPLOY_TIMEOUT_SECONDS = 120.0
"""Default seconds for the changed units to reach their cuts, and then to complete an epoch of the new plan."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """The application continues from its state, or begins without state if it was never deployed.

    The request is refused if another plan is deployed.
    """

    run: RunKind = ENDLESS
    """The kind of run that begins."""


@dataclass(frozen=True, slots=True)
class StartOver:
    """The state and the published results of the application are dropped, and it begins without state."""

    run: RunKind = ENDLESS
    """The kind of run that begins."""


@dataclass(frozen=True, slots=True)
class FromSavepoint:
    """The application begins with the state of a savepoint."""

    savepoint: str
    """The savepoint, as `find_savepoint` finds it. Of several with one name, the application's own is taken."""
    drop_state: Collection[str] = ()
    """Names of operators whose saved state may be lost."""
    fresh: bool = False
    """True to drop the deployed application first, as `StartOver` does; False to refuse if it is deployed."""
    run: RunKind = ENDLESS
    """The kind of run that begins."""


@dataclass(frozen=True, slots=True)
class Redeploy:
    """The plan replaces the deployed one, and the state is kept; an application that is not deployed begins."""

    run: ClassVar[RunKind] = ENDLESS
    drop_state: Collection[str] = ()
    """Names of operators whose state may be lost."""
    within: float = REDEPLOY_TIMEOUT_SECONDS
    """Seconds for the changed units to reach their cuts, and then to complete an epoch."""


@dataclass(frozen=True, slots=True)
class Revert:
    """The previous plan replaces the deployed one as by `Redeploy`, and the deployed one is recorded as reverted."""

    run: ClassVar[RunKind] = ENDLESS
    drop_state: Collection[str] = ()
    """Names of operators whose state may be lost."""
    within: float = REDEPLOY_TIMEOUT_SECONDS
    """Seconds for the changed units to reach their cuts, and then to complete an epoch."""


Request = GoOn | StartOver | FromSavepoint | Redeploy | Revert
