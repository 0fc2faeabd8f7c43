"""The interface of the runtime for the command line, the console and Dagster.

Other packages write `from streams_orchestration.runtime import api` and use `api.read_status(home, application)`. The
import loads nothing; the first use of a name loads the module that defines it. A command thus loads only what it uses,
with all imports at the top of its module.

>>> from streams_orchestration.runtime import api
>>> api.now.__module__
'streams_orchestration.runtime.clock'
"""

# pyright: reportUnusedImport=false
# ruff: noqa: F401
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streams_orchestration.runtime.bringing_up import BroughtUp, Request, bring_up
    from streams_orchestration.runtime.catalog.address import catalog_url
    from streams_orchestration.runtime.catalog.catalog import Catalog
    from streams_orchestration.runtime.catalog.outage import LIMIT_SECONDS, SETTLE_SECONDS
    from streams_orchestration.runtime.catalog.start_lock import Starter, StartLock, lock_start
    from streams_orchestration.runtime.catalog.upgrading import upgrade_older, upgrade_tables
    from streams_orchestration.runtime.catalog.versions import is_older, newest
    from streams_orchestration.runtime.clock import now
    from streams_orchestration.runtime.deployment.control import await_engines, await_running, cancel, launch
    from streams_orchestration.runtime.deployment.deployment import with_columns_of_queries
    from streams_orchestration.runtime.deployment.going_on import Run, sources_with_more
    from streams_orchestration.runtime.deployment.reset import reset
    from streams_orchestration.runtime.deployment.unheard import await_unheard
    from streams_orchestration.runtime.engine.spark.java import require_java
    from streams_orchestration.runtime.errors import (
        CATALOG,
        ApplicationChangedError,
        CatalogError,
        CatalogUnavailableError,
        CatalogVersionError,
        CommitUnknownError,
        HostLaunchError,
        MachineError,
        NotDeployedError,
        OtherVersionError,
        RedeployRefusedError,
        RevertedError,
        StateDirectoryError,
        StreamsRuntimeError,
        WaitingForMachineError,
    )
    from streams_orchestration.runtime.hiding import hide_secrets
    from streams_orchestration.runtime.hosts.launcher import LocalLauncher
    from streams_orchestration.runtime.hosts.orphans import Orphan, stop_orphans
    from streams_orchestration.runtime.hosts.start_up import in_words
    from streams_orchestration.runtime.limits import OUTSTANDING_LIMIT
    from streams_orchestration.runtime.lineage.client import missing_client
    from streams_orchestration.runtime.lineage.giving_up import report_failure
    from streams_orchestration.runtime.lineage.graph import data_format, lineage_graph, stage_lineage
    from streams_orchestration.runtime.log_rotation import rotate
    from streams_orchestration.runtime.logs import LogEnd, log_names, read_end, read_ends
    from streams_orchestration.runtime.machines.agent import Agent, Machine
    from streams_orchestration.runtime.machines.register import MachineStatus, forget, read_machines, set_state
    from streams_orchestration.runtime.machines.standbys import Standbys
    from streams_orchestration.runtime.observing.compilations import deployed_compilation, deployed_if_any
    from streams_orchestration.runtime.observing.documents import document
    from streams_orchestration.runtime.observing.exposition.endpoint import metrics_answer
    from streams_orchestration.runtime.observing.exposition.prometheus import metrics_text
    from streams_orchestration.runtime.observing.metrics import (
        ApplicationMetrics,
        CustomMetric,
        OperatorMetrics,
        PortMetrics,
        ReaderMetrics,
        StreamMetrics,
    )
    from streams_orchestration.runtime.observing.metrics_reading import read_metrics
    from streams_orchestration.runtime.observing.profiles.measuring import Measurement, measure
    from streams_orchestration.runtime.observing.profiles.outcomes import keep_outcome, outcome_of
    from streams_orchestration.runtime.observing.reading import read_cuts, read_status
    from streams_orchestration.runtime.observing.samples import NoSampleError, NothingPassesError, Sample, read_sample
    from streams_orchestration.runtime.observing.snapshots import Observed, Snapshot, read_snapshot
    from streams_orchestration.runtime.observing.status import ApplicationStatus, ConnectionStatus
    from streams_orchestration.runtime.observing.watching import Pulse, observed_status, watch
    from streams_orchestration.runtime.open_files import raise_open_files, require_open_files
    from streams_orchestration.runtime.patience import Patience
    from streams_orchestration.runtime.processes import this_process_began
    from streams_orchestration.runtime.programs.spread import Share
    from streams_orchestration.runtime.recurring import RecurringErrors
    from streams_orchestration.runtime.redeployment.deployed import preview_redeploy
    from streams_orchestration.runtime.redeployment.draining import redeploy_under_way
    from streams_orchestration.runtime.redeployment.moving import drain_machine
    from streams_orchestration.runtime.redeployment.reverting import (
        BY_HAND,
        TakenBack,
        bring_back,
        end_trial_by_hand,
        on_trial,
        plan_before,
        return_to,
        taken_back,
    )
    from streams_orchestration.runtime.redeployment.tending import Tending
    from streams_orchestration.runtime.savepoints.copying import export_savepoint, import_savepoint
    from streams_orchestration.runtime.savepoints.creating import create_savepoint
    from streams_orchestration.runtime.savepoints.manifest import Manifest, SavepointError, read_manifest
    from streams_orchestration.runtime.savepoints.place import Place
    from streams_orchestration.runtime.savepoints.places import remove_savepoint, saved, savepoint_of
    from streams_orchestration.runtime.savepoints.restoring import Restored
    from streams_orchestration.runtime.settings import MASTER, MEMORY, SPARK_CONF, SettingError, Settings
    from streams_orchestration.runtime.sinks.results import first_rows, published_rows
    from streams_orchestration.runtime.sinks.sinks import SinkStatus, route_sink
    from streams_orchestration.runtime.storage.home import SAVEPOINTS, Home
    from streams_orchestration.runtime.storage.stores import STORAGE, STORAGE_OPTIONS
    from streams_orchestration.runtime.units.cut_files import look_at_cuts
    from streams_orchestration.runtime.units.failures import (
        FailedAgainError,
        UnitFailure,
        failed_units,
        failures,
        host_failure,
        pe_failure,
    )
    from streams_orchestration.runtime.units.healing import Known, ResetRequest, heal
    from streams_orchestration.runtime.units.reading import deployed_applications, has_ended, opened_catalog, read_units
    from streams_orchestration.runtime.units.recoveries import Recovery, recoveries
    from streams_orchestration.runtime.units.region_record import Times
    from streams_orchestration.runtime.units.status import LOST, UNHEALTHY, PeStatus
    from streams_orchestration.runtime.units.unit_status import (
        LOST_REMEDY,
        STABLE_SECONDS,
        UNSTABLE_RESETS,
        Cut,
        UnitEvent,
        UnitStatus,
        last_cause,
        recent_resets,
    )

_NAMES = {
    "bringing_up": "BroughtUp Request bring_up",
    "catalog.address": "catalog_url",
    "catalog.catalog": "Catalog",
    "catalog.outage": "LIMIT_SECONDS SETTLE_SECONDS",
    "catalog.start_lock": "StartLock Starter lock_start",
    "catalog.upgrading": "upgrade_tables upgrade_older",
    "catalog.versions": "is_older newest",
    "clock": "now",
    "deployment.control": "await_engines await_running cancel launch",
    "deployment.deployment": "with_columns_of_queries",
    "deployment.going_on": "Run sources_with_more",
    "deployment.reset": "reset",
    "deployment.unheard": "await_unheard",
    "engine.spark.java": "require_java",
    "errors": (
        "ApplicationChangedError CATALOG CatalogError CatalogUnavailableError CatalogVersionError "
        "CommitUnknownError HostLaunchError MachineError NotDeployedError OtherVersionError RedeployRefusedError "
        "RevertedError StateDirectoryError StreamsRuntimeError WaitingForMachineError"
    ),
    "hiding": "hide_secrets",
    "hosts.launcher": "LocalLauncher",
    "hosts.orphans": "Orphan stop_orphans",
    "hosts.start_up": "in_words",
    "limits": "OUTSTANDING_LIMIT",
    "lineage.client": "missing_client",
    "lineage.giving_up": "report_failure",
    "lineage.graph": "data_format lineage_graph stage_lineage",
    "log_rotation": "rotate",
    "logs": "LogEnd log_names read_end read_ends",
    "machines.agent": "Agent Machine",
    "machines.register": "MachineStatus forget read_machines set_state",
    "machines.standbys": "Standbys",
    "observing.compilations": "deployed_compilation deployed_if_any",
    "observing.documents": "document",
    "observing.exposition.endpoint": "metrics_answer",
    "observing.exposition.prometheus": "metrics_text",
    "observing.metrics": "ApplicationMetrics CustomMetric OperatorMetrics PortMetrics ReaderMetrics StreamMetrics",
    "observing.metrics_reading": "read_metrics",
    "observing.profiles.measuring": "Measurement measure",
    "observing.profiles.outcomes": "keep_outcome outcome_of",
    "observing.reading": "read_cuts read_status",
    "observing.samples": "NoSampleError NothingPassesError Sample read_sample",
    "observing.snapshots": "Observed Snapshot read_snapshot",
    "observing.status": "ApplicationStatus ConnectionStatus",
    "observing.watching": "Pulse observed_status watch",
    "open_files": "raise_open_files require_open_files",
    "patience": "Patience",
    "processes": "this_process_began",
    "programs.spread": "Share",
    "recurring": "RecurringErrors",
    "redeployment.deployed": "preview_redeploy",
    "redeployment.draining": "redeploy_under_way",
    "redeployment.moving": "drain_machine",
    "redeployment.reverting": (
        "BY_HAND TakenBack bring_back end_trial_by_hand on_trial plan_before return_to taken_back"
    ),
    "redeployment.tending": "Tending",
    "savepoints.copying": "export_savepoint import_savepoint",
    "savepoints.creating": "create_savepoint",
    "savepoints.manifest": "Manifest SavepointError read_manifest",
    "savepoints.place": "Place",
    "savepoints.places": "remove_savepoint saved savepoint_of",
    "savepoints.restoring": "Restored",
    "settings": "MASTER MEMORY SPARK_CONF SettingError Settings",
    "sinks.results": "first_rows published_rows",
    "sinks.sinks": "SinkStatus route_sink",
    "storage.home": "Home SAVEPOINTS",
    "storage.stores": "STORAGE STORAGE_OPTIONS",
    "units.cut_files": "look_at_cuts",
    "units.failures": "FailedAgainError UnitFailure failed_units failures host_failure pe_failure",
    "units.healing": "Known ResetRequest heal",
    "units.reading": "deployed_applications has_ended opened_catalog read_units",
    "units.recoveries": "Recovery recoveries",
    "units.region_record": "Times",
    "units.status": "LOST PeStatus UNHEALTHY",
    "units.unit_status": "Cut LOST_REMEDY STABLE_SECONDS UNSTABLE_RESETS UnitEvent UnitStatus last_cause recent_resets",
}
"""The names of each module, equal to the imports above: a type checker reads the imports, Python reads this table."""
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Return a name of the interface; its module is loaded on the first use, and the value is kept."""
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = globals()[name] = getattr(import_module(f"{__package__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    """Return the names of the interface, whether they are loaded or not."""
    return sorted(_MODULES)
