"""Deployed applications: the interface of ops, sensors, schedules and checks to the runtime."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.redeployment.kept_options import options_of
from streams_orchestration.compiler.stage_results import FusionPlan
from streams_orchestration.runtime import api

if TYPE_CHECKING:
    from streams_orchestration.compiler.checking.deployable import Deployable
    from streams_orchestration.compiler.decoupling.outcome import Outcome
    from streams_orchestration.compiler.redeployment.outcome import Redeployment
    from streams_orchestration.model.profile import Profile


@dataclass(frozen=True, slots=True)
class Deployments:
    """The applications that one state directory holds."""

    home: api.Home

    def bring_up(
        self,
        compilation: Compilation,
        *,
        fresh: bool = False,
        savepoint: str = "",
        replaces: bool = False,
        drop: Collection[str] = (),
        available_now: bool = False,
    ) -> api.BroughtUp:
        """Make an application the wanted one of its name. See `runtime.bringing_up.bring_up`.

        Args:
            compilation: the application.
            fresh: drop everything that is kept of it.
            savepoint: begin where this savepoint was taken; empty for none.
            replaces: replace another plan that is deployed, with its state kept.
            drop: operators whose state may be lost.
            available_now: take what is there now, then stop.
        """
        home = self.home.prepare()
        place = api.savepoint_of(home, savepoint, compilation.logical.application) if savepoint else None
        run = api.Run(bounded=available_now)
        request = api.Request(fresh=fresh, savepoint=place, replaces=replaces, drop=drop, run=run)
        return api.bring_up(home, _deployable(compilation), request)

    def revert(self, application: str, drop: Collection[str] = ()) -> Redeployment | None:
        """Restore the plan from before the last redeploy. See `runtime.redeployment.reverting.bring_back`."""
        return api.bring_back(self.home, application, drop=drop)

    def preview(self, compilation: Compilation) -> Redeployment:
        """Preview a redeploy. Files of states are read only where the plans alone would have it refused.

        Raises:
            ApplicationError: it cannot run here.
            NotDeployedError, OperatorError: see `runtime.redeployment.deployed`.
        """
        wanted = _deployable(compilation)
        outcome = api.preview_redeploy(self.home, wanted, stored=False)
        return outcome if outcome.verdict != "refused" else api.preview_redeploy(self.home, wanted)

    def launch(self, application: str, asked_at: float | None = None) -> tuple[str, ...]:
        """Start the host processes that are wanted and missing; returns them in words."""
        return api.launch(self.home, application, asked_at=asked_at)

    def await_running(
        self, application: str, timeout: float, unit: str | None = None, failed: int | None = None
    ) -> api.ApplicationStatus:
        """Wait at most `timeout` seconds until every PE runs. See `runtime.deployment.control.await_running`."""
        api.await_running(self.home, application, timeout, unit, failed)
        return self.status(application)

    def cancel(self, application: str, timeout: float) -> api.ApplicationStatus:
        """Stop an application, its state kept; waits at most `timeout` seconds for its hosts to end."""
        api.cancel(self.home, application, timeout)
        return self.status(application)

    def reset(self, application: str, unit: str, *, generation: int | None, force: bool) -> int:
        """Bring a unit back to its last cut; returns its generation. See `runtime.deployment.reset`."""
        return api.reset(self.home, application, unit, generation=generation, force=force)

    def stop_orphans(self, application: str) -> tuple[str, ...]:
        """Stop processes of hosts that are no longer wanted; returns what was stopped, in words."""
        return tuple(map(str, api.stop_orphans(self.home, application)))

    def report_failure(self, application: str) -> None:
        """Tell OpenLineage that a unit is not reset any more. See `runtime.lineage.giving_up`."""
        api.report_failure(self.home, application)

    def status(self, application: str) -> api.ApplicationStatus:
        """Return the status of the application."""
        return api.read_status(self.home, application)

    def observed(self, application: str) -> api.ApplicationStatus:
        """Record what has happened to the application's units, then return its status."""
        return api.observed_status(self.home, application)

    def watch(self, seconds: float) -> Iterator[dict[str, api.Pulse]]:
        """Watch all applications for `seconds`; yields their pulses whenever one has changed. See `watching.watch`."""
        return api.watch(self.home, seconds)

    def look_at_cuts(self, application: str) -> None:
        """Look whether all files are there that the last cuts need; what is new is an event of its unit."""
        api.look_at_cuts(self.home, application)

    def machines(self) -> tuple[api.MachineStatus, ...]:
        """Return all machines that have registered."""
        return api.read_machines(self.home)

    def metrics(self, application: str) -> api.ApplicationMetrics:
        """Return the measurements of the application."""
        return api.read_metrics(self.home, application)

    def cuts(self, application: str) -> dict[str, tuple[api.Cut, ...]]:
        """The last complete epochs of every region."""
        return api.read_cuts(self.home, application)

    def first_rows(self, sink: api.SinkStatus, limit: int) -> list[dict[str, Any]]:
        """The first rows that a file sink has published; none when they cannot be read."""
        rows = api.first_rows(sink, limit)
        return [] if rows is None else rows.to_dicts()

    def compilation(self, application: str) -> Compilation:
        """The compiled application as it was deployed."""
        return api.deployed_compilation(self.home, application)

    def deployed(self, application: str) -> Compilation | None:
        """Return the deployed compilation; None when the application is not deployed, or it cannot be read now."""
        return api.deployed_if_any(self.home, application)

    def options(self, application: str) -> Options | None:
        """Return the options of the deployed application; None when there is none, or another version deployed it."""
        try:
            return options_of(self.compilation(application))
        except (api.NotDeployedError, api.OtherVersionError):
            return None

    def fusion(self, application: str, physical: PhysicalGraph) -> FusionPlan | None:
        """The PEs that run this expanded graph; None when it is not deployed, or another one is."""
        try:
            deployed = self.compilation(application)
        except (api.NotDeployedError, api.OtherVersionError):
            return None
        return deployed.fusion if deployed.physical == physical else None

    def redeploying(self, application: str) -> str | None:
        """Describe the redeploy under way; None when there is none. See `runtime.redeployment.draining`."""
        return api.redeploy_under_way(self.home, application)

    def taken_back(self, application: str) -> api.TakenBack | None:
        """Return the plan that was taken back last. See `runtime.redeployment.reverting.taken_back`."""
        return api.taken_back(self.home, application)

    def profile(self, application: str, seconds: float, pause: Callable[[float], bool]) -> api.Measurement:
        """Measure an application for `seconds`. See `runtime.observing.profiles.measuring.measure`."""
        return api.measure(self.home, application, seconds, pause)

    def outcome(self, application: str, profile: Profile, document: Mapping[str, Any]) -> Outcome | None:
        """Compare a decision with a profile; None when the application does not run with that decision."""
        return api.outcome_of(self.compilation(application), profile, document)

    def keep_outcome(self, application: str, outcome: Outcome) -> tuple[Path, list[dict[str, Any]]]:
        """Add a comparison to those that are kept; where they are, and all of them."""
        return api.keep_outcome(self.home, application, outcome, api.now())

    def names(self) -> tuple[str, ...]:
        """Return the names of all deployed applications."""
        return api.deployed_applications(self.home)


def _deployable(compilation: Compilation) -> Deployable:
    """Return the compilation as it can be deployed; imports the check on use, for it brings all operators."""
    from streams_orchestration.compiler.checking.deployable import deployable

    return deployable(compilation)
