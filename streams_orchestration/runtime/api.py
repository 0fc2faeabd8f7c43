"""The interface of the runtime for the command line and for Dagster."""

from __future__ import annotations

from streams_orchestration.runtime.bringing_up import BroughtUp, Request, bring_up
from streams_orchestration.runtime.deployment.control import await_running, cancel, launch
from streams_orchestration.runtime.deployment.going_on import Run
from streams_orchestration.runtime.deployment.reset import reset
from streams_orchestration.runtime.hosts.orphans import stop_orphans
from streams_orchestration.runtime.lineage.giving_up import report_failure
from streams_orchestration.runtime.machines.register import read_machines
from streams_orchestration.runtime.observing.compilations import deployed_compilation, deployed_if_any
from streams_orchestration.runtime.observing.metrics_reading import read_metrics
from streams_orchestration.runtime.observing.profiles.measuring import measure
from streams_orchestration.runtime.observing.profiles.outcomes import keep_outcome, outcome_of
from streams_orchestration.runtime.observing.reading import read_cuts, read_status
from streams_orchestration.runtime.observing.samples import read_sample
from streams_orchestration.runtime.observing.watching import observed_status, watch
from streams_orchestration.runtime.redeployment.deployed import preview_redeploy
from streams_orchestration.runtime.redeployment.draining import redeploy_under_way
from streams_orchestration.runtime.redeployment.reverting import bring_back, taken_back
from streams_orchestration.runtime.savepoints.places import savepoint_of
from streams_orchestration.runtime.sinks.results import first_rows
from streams_orchestration.runtime.units.cut_files import look_at_cuts
from streams_orchestration.runtime.units.reading import deployed_applications

__all__ = [
    "BroughtUp",
    "Request",
    "Run",
    "await_running",
    "bring_back",
    "bring_up",
    "cancel",
    "deployed_applications",
    "deployed_compilation",
    "deployed_if_any",
    "first_rows",
    "keep_outcome",
    "launch",
    "look_at_cuts",
    "measure",
    "observed_status",
    "outcome_of",
    "preview_redeploy",
    "read_cuts",
    "read_machines",
    "read_metrics",
    "read_sample",
    "read_status",
    "redeploy_under_way",
    "report_failure",
    "reset",
    "savepoint_of",
    "stop_orphans",
    "taken_back",
    "watch",
]
