"""Deployed applications: the interface of ops, sensors, schedules and checks to the runtime."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.redeployment.kept_options import options_of
from streams_orchestration.compiler.stage_results import FusionPlan
from streams_orchestration.runtime import clock
from streams_orchestration.runtime.errors import NotDeployedError, OtherVersionError
from streams_orchestration.runtime.observing.metrics import ApplicationMetrics
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.unit_status import Cut

if TYPE_CHECKING:
    from streams_orchestration.compiler.checking.deployable import Deployable
    from streams_orchestration.compiler.decoupling.outcome import Outcome
    from streams_orchestration.compiler.redeployment.outcome import Redeployment
    from streams_orchestration.model.profile import Profile
    from streams_orchestration.runtime.bringing_up import BroughtUp
    from streams_orchestration.runtime.machines.register import MachineStatus
    from streams_orchestration.runtime.observing.profiles.measuring import Measurement
    from streams_orchestration.runtime.observing.watching import Pulse
    from streams_orchestration.runtime.redeployment.reverting import TakenBack
    from streams_orchestration.runtime.sinks.sinks import SinkStatus


@dataclass(frozen=True, slots=True)
class Deployments:
    """The applications that one state directory holds."""

    home: Home

    def bring_up(
        self,
        compilation: Compilation,
        *,
        fresh: bool = False,
        savepoint: str = "",
        replaces: bool = False,
        drop: Collection[str] = (),
        available_now: bool = False,
    ) -> BroughtUp:
        """Make an application the wanted one of its name. See `runtime.bringing_up.bring_up`.

        Args:
            compilation: the application.
            fresh: drop everything that is kept of it.
            savepoint: begin where this savepoint was taken; empty for none.
            replaces: replace another plan that is deployed, with its state kept.
            drop: operators whose state may be lost.
            available_now: take what is there now, then stop.
        """
        runtime, home = _runtime(), self.home.prepare()
        place = runtime.savepoint_of(home, savepoint, compilation.logical.application) if savepoint else None
        run = runtime.Run(bounded=available_now)
        request = runtime.Request(fresh=fresh, savepoint=place, replaces=replaces, drop=drop, run=run)
        return runtime.bring_up(home, _deployable(compilation), request)

    def revert(self, application: str, drop: Collection[str] = ()) -> Redeployment | None:
        """Restore the plan from before the last redeploy. See `runtime.redeployment.reverting.bring_back`."""
        return _runtime().bring_back(self.home, application, drop=drop)

    def preview(self, compilation: Compilation) -> Redeployment:
        """Preview a redeploy. Files of states are read only where the plans alone would have it refused.

        Raises:
            ApplicationError: it cannot run here.
            NotDeployedError, OperatorError: see `runtime.redeployment.deployed`.
        """
        wanted = _deployable(compilation)
        outcome = _runtime().preview_redeploy(self.home, wanted, stored=False)
        return outcome if outcome.verdict != "refused" else _runtime().preview_redeploy(self.home, wanted)

    def launch(self, application: str, asked_at: float | None = None) -> tuple[str, ...]:
        """Start the host processes that are wanted and missing; returns them in words."""
        return _runtime().launch(self.home, application, asked_at=asked_at)

    def await_running(
        self, application: str, timeout: float, unit: str | None = None, failed: int | None = None
    ) -> ApplicationStatus:
        """Wait at most `timeout` seconds until every PE runs. See `runtime.deployment.control.await_running`."""
        _runtime().await_running(self.home, application, timeout, unit, failed)
        return self.status(application)

    def cancel(self, application: str, timeout: float) -> ApplicationStatus:
        """Stop an application, its state kept; waits at most `timeout` seconds for its hosts to end."""
        _runtime().cancel(self.home, application, timeout)
        return self.status(application)

    def reset(self, application: str, unit: str, *, generation: int | None, force: bool) -> int:
        """Bring a unit back to its last cut; returns its generation. See `runtime.deployment.reset`."""
        return _runtime().reset(self.home, application, unit, generation=generation, force=force)

    def stop_orphans(self, application: str) -> tuple[str, ...]:
        """Stop processes of hosts that are no longer wanted; returns what was stopped, in words."""
        return tuple(map(str, _runtime().stop_orphans(self.home, application)))

    def report_failure(self, application: str) -> None:
        """Tell OpenLineage that a unit is not reset any more. See `runtime.lineage.giving_up`."""
        _runtime().report_failure(self.home, application)

    def status(self, application: str) -> ApplicationStatus:
        """Return the status of the application."""
        return _runtime().read_status(self.home, application)

    def observed(self, application: str) -> ApplicationStatus:
        """Record what has happened to the application's units, then return its status."""
        return _runtime().observed_status(self.home, application)

    def watch(self, seconds: float) -> Iterator[dict[str, Pulse]]:
        """Watch all applications for `seconds`; yields their pulses whenever one has changed. See `watching.watch`."""
        return _runtime().watch(self.home, seconds)

    def look_at_cuts(self, application: str) -> None:
        """Look whether all files are there that the last cuts need; what is new is an event of its unit."""
        _runtime().look_at_cuts(self.home, application)

    def machines(self) -> tuple[MachineStatus, ...]:
        """Return all machines that have registered."""
        return _runtime().read_machines(self.home)

    def metrics(self, application: str) -> ApplicationMetrics:
        """Return the measurements of the application."""
        return _runtime().read_metrics(self.home, application)

    def cuts(self, application: str) -> dict[str, tuple[Cut, ...]]:
        """The last complete epochs of every region."""
        return _runtime().read_cuts(self.home, application)

    def first_rows(self, sink: SinkStatus, limit: int) -> list[dict[str, Any]]:
        """The first rows that a file sink has published; none when they cannot be read."""
        rows = _runtime().first_rows(sink, limit)
        return [] if rows is None else rows.to_dicts()

    def compilation(self, application: str) -> Compilation:
        """The compiled application as it was deployed."""
        return _runtime().deployed_compilation(self.home, application)

    def deployed(self, application: str) -> Compilation | None:
        """Return the deployed compilation; None when the application is not deployed, or it cannot be read now."""
        return _runtime().deployed_if_any(self.home, application)

    def options(self, application: str) -> Options | None:
        """Return the options of the deployed application; None when there is none, or another version deployed it."""
        try:
            return options_of(self.compilation(application))
        except (NotDeployedError, OtherVersionError):
            return None

    def fusion(self, application: str, physical: PhysicalGraph) -> FusionPlan | None:
        """The PEs that run this expanded graph; None when it is not deployed, or another one is."""
        try:
            deployed = self.compilation(application)
        except (NotDeployedError, OtherVersionError):
            return None
        return deployed.fusion if deployed.physical == physical else None

    def redeploying(self, application: str) -> str | None:
        """Describe the redeploy under way; None when there is none. See `runtime.redeployment.draining`."""
        return _runtime().redeploy_under_way(self.home, application)

    def taken_back(self, application: str) -> TakenBack | None:
        """Return the plan that was taken back last. See `runtime.redeployment.reverting.taken_back`."""
        return _runtime().taken_back(self.home, application)

    def profile(self, application: str, seconds: float, pause: Callable[[float], bool]) -> Measurement:
        """Measure an application for `seconds`. See `runtime.observing.profiles.measuring.measure`."""
        return _runtime().measure(self.home, application, seconds, pause)

    def outcome(self, application: str, profile: Profile, document: Mapping[str, Any]) -> Outcome | None:
        """Compare a decision with a profile; None when the application does not run with that decision."""
        return _runtime().outcome_of(self.compilation(application), profile, document)

    def keep_outcome(self, application: str, outcome: Outcome) -> tuple[Path, list[dict[str, Any]]]:
        """Add a comparison to those that are kept; where they are, and all of them."""
        return _runtime().keep_outcome(self.home, application, outcome, clock.now())

    def names(self) -> tuple[str, ...]:
        """Return the names of all deployed applications."""
        return _runtime().deployed_applications(self.home)


def _runtime() -> ModuleType:
    """Import the runtime on use: it brings Arrow and all operators, which showing assets does not need."""
    from streams_orchestration.runtime import api

    return api


def _deployable(compilation: Compilation) -> Deployable:
    """Return the compilation as it can be deployed; imports the check on use, for it brings all operators."""
    from streams_orchestration.compiler.checking.deployable import deployable

    return deployable(compilation)
