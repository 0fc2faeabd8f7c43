"""The interface of the runtime for the command line, the console and Dagster.

Other packages write `from streams_orchestration.runtime import api` and use `api.read_status(catalog, application)`.
The import loads nothing; the first use of a name loads the module that defines it. A command thus loads only what it
uses, with all imports at the top of its module.

>>> from streams_orchestration.runtime import api
>>> api.now.__module__
'streams_orchestration.runtime.clocks.clock'
"""

# pyright: reportUnusedImport=false
# ruff: noqa: F401
from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streams_orchestration.runtime.catalog.address import read_catalog_url
    from streams_orchestration.runtime.catalog.catalog import Catalog
    from streams_orchestration.runtime.catalog.outage import OUTAGE_TIMEOUT_SECONDS, SETTLE_SECONDS
    from streams_orchestration.runtime.catalog.rows import UnitEventRow
    from streams_orchestration.runtime.catalog.start_lock import Starter, StartLock, lock_start
    from streams_orchestration.runtime.catalog.states import ENDED
    from streams_orchestration.runtime.catalog.unit_columns import ResetDurations
    from streams_orchestration.runtime.catalog.upgrading import upgrade_catalog, upgrade_older_catalog
    from streams_orchestration.runtime.catalog.versions import find_product_revision, is_upgradable_revision
    from streams_orchestration.runtime.clocks.clock import now
    from streams_orchestration.runtime.clocks.load_adjusted_clock import LoadAdjustedClock
    from streams_orchestration.runtime.deployment.awaiting import await_engines, await_running_pes
    from streams_orchestration.runtime.deployment.awaiting_reset import await_reset
    from streams_orchestration.runtime.deployment.control import cancel_application, launch_hosts
    from streams_orchestration.runtime.deployment.query_columns import add_query_columns
    from streams_orchestration.runtime.deployment.removing import Removal, preview_removal, remove_application
    from streams_orchestration.runtime.deployment.requests import (
        ContinueFromState,
        FromSavepoint,
        Redeploy,
        Request,
        RequestError,
        Revert,
        StartOver,
        build_request,
    )
    from streams_orchestration.runtime.deployment.reset import UnitReset, reset_failed_unit, reset_unit
    from streams_orchestration.runtime.deployment.run_kinds import RunKind
    from streams_orchestration.runtime.deployment.silent_machines import await_silent_machines
    from streams_orchestration.runtime.deployment.source_probing import find_sources_with_input
    from streams_orchestration.runtime.engine.spark.java import require_java
    from streams_orchestration.runtime.errors.errors import (
        CATALOG,
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
    from streams_orchestration.runtime.errors.loop_errors import LoopErrors
    from streams_orchestration.runtime.hosts.orphans import Orphan, stop_orphans
    from streams_orchestration.runtime.hosts.start_up import describe_start_phases
    from streams_orchestration.runtime.lineage.client import explain_missing_client
    from streams_orchestration.runtime.lineage.failure_report import report_lineage_failure
    from streams_orchestration.runtime.lineage.graph import build_lineage_graph, build_stage_lineage, find_data_format
    from streams_orchestration.runtime.logs.log_rotation import rotate_log
    from streams_orchestration.runtime.logs.logs import LogEnd, list_logs, read_log_end, read_log_ends
    from streams_orchestration.runtime.logs.printed_lines import OperatorLines, PrintedFollower, read_printed_lines
    from streams_orchestration.runtime.logs.secret_redaction import hide_secrets
    from streams_orchestration.runtime.machines.agent import Agent, Machine
    from streams_orchestration.runtime.machines.leftovers import has_used_home
    from streams_orchestration.runtime.machines.log_requests import ask_for_logs
    from streams_orchestration.runtime.machines.register import (
        MachineStatus,
        forget_machine,
        read_machines,
        set_machine_state,
    )
    from streams_orchestration.runtime.machines.standbys import Standbys
    from streams_orchestration.runtime.observing.compilations import (
        read_compilation,
        read_compilation_if_any,
        read_compilation_if_readable,
        read_deployed_options,
        read_status_to_continue,
    )
    from streams_orchestration.runtime.observing.documents import (
        build_status_document,
        chosen,
        host_document,
        pe_document,
        unit_document,
    )
    from streams_orchestration.runtime.observing.event_time import OperatorEventTime, find_upstream_operators
    from streams_orchestration.runtime.observing.exposition.endpoint import build_metrics_app, build_metrics_handler
    from streams_orchestration.runtime.observing.exposition.opentelemetry import SnapshotSender, read_interval_seconds
    from streams_orchestration.runtime.observing.exposition.prometheus import read_metrics_text
    from streams_orchestration.runtime.observing.last_redeploy import LastRedeploy, read_last_redeploy
    from streams_orchestration.runtime.observing.metrics import (
        ApplicationMetrics,
        CustomMetric,
        OperatorMetrics,
        PortMetrics,
        ReaderMetrics,
        StreamMetrics,
    )
    from streams_orchestration.runtime.observing.metrics_reading import read_metrics
    from streams_orchestration.runtime.observing.profiles.measuring import Measurement, measure_application
    from streams_orchestration.runtime.observing.profiles.outcomes import compare_with_profile, store_outcome
    from streams_orchestration.runtime.observing.reading import read_cuts, read_status, read_status_if_deployed
    from streams_orchestration.runtime.observing.recoveries import Recovery, find_recoveries
    from streams_orchestration.runtime.observing.samples import NoSampleError, NothingPassesError, Sample, read_sample
    from streams_orchestration.runtime.observing.snapshots import ObservedApplication, Snapshot, read_snapshot
    from streams_orchestration.runtime.observing.status import ApplicationStatus, ConnectionStatus
    from streams_orchestration.runtime.observing.status_summaries import (
        StatusSummary,
        advance_and_read_status,
        watch_applications,
    )
    from streams_orchestration.runtime.processes.open_files import raise_open_files, require_open_files
    from streams_orchestration.runtime.processes.processes import read_process_start
    from streams_orchestration.runtime.programs.spread import Share
    from streams_orchestration.runtime.redeployment.deployed_plan import preview_redeploy
    from streams_orchestration.runtime.redeployment.draining import describe_redeploy_under_way
    from streams_orchestration.runtime.redeployment.host_moves import drain_machine
    from streams_orchestration.runtime.redeployment.host_rescheduling import HostRescheduler
    from streams_orchestration.runtime.rollout.deploying import Deployment, deploy_plan
    from streams_orchestration.runtime.rollout.reverting import (
        BY_HAND,
        RevertedPlan,
        end_trial_by_hand,
        is_redeploy_on_trial,
        read_reverted_plan,
        recompile_previous_plan,
    )
    from streams_orchestration.runtime.savepoints.atomic_places import find_savepoint, list_savepoints, remove_savepoint
    from streams_orchestration.runtime.savepoints.copying import export_savepoint, import_savepoint
    from streams_orchestration.runtime.savepoints.creating import create_savepoint
    from streams_orchestration.runtime.savepoints.manifest import Manifest, SavepointError, read_manifest
    from streams_orchestration.runtime.savepoints.restoring import RestoredApplication
    from streams_orchestration.runtime.savepoints.savepoint_place import SavepointPlace
    from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT
    from streams_orchestration.runtime.settings.settings import MASTER, MEMORY, SPARK_CONF, SettingError, Settings
    from streams_orchestration.runtime.sinks.results import read_first_rows, scan_published_rows
    from streams_orchestration.runtime.sinks.sinks import SinkStatus, route_sink
    from streams_orchestration.runtime.storage.home import SAVEPOINTS, Home
    from streams_orchestration.runtime.storage.stores import STORAGE, STORAGE_OPTIONS
    from streams_orchestration.runtime.units.cut_files import check_cut_files
    from streams_orchestration.runtime.units.failures import (
        UnitFailure,
        find_failed_units,
        find_failures,
    )
    from streams_orchestration.runtime.units.health import explain_host_failure, explain_pe_failure
    from streams_orchestration.runtime.units.reading import (
        has_application_ended,
        list_applications,
        open_catalog,
        require_deployed,
    )
    from streams_orchestration.runtime.units.reset_decisions import (
        SENSOR_GRACE_SECONDS,
        KnownFailure,
        ResetDecisions,
        Resetter,
        decide_resets,
    )
    from streams_orchestration.runtime.units.status import LOST, UNHEALTHY, PeStatus
    from streams_orchestration.runtime.units.unit_status import (
        LOST_REMEDY,
        STABLE_SECONDS,
        UNSTABLE_RESETS,
        Cut,
        UnitStatus,
        find_last_cause,
        find_recent_resets,
    )


def _modules() -> Iterator[tuple[str, str]]:
    """Yield the names of the interface, each with its module, by parsing this file's imports under `TYPE_CHECKING`."""
    for block in ast.parse(Path(__file__).read_text("utf-8")).body:
        for statement in block.body if isinstance(block, ast.If) else ():
            if isinstance(statement, ast.ImportFrom) and statement.module is not None:
                yield from ((alias.name, statement.module) for alias in statement.names)


_MODULES = dict(_modules())
"""The module that defines each name of the interface."""


def __getattr__(name: str) -> object:
    """Return a name of the interface; its module is loaded on the first use, and the value is kept.

    Raises:
        AttributeError: the interface has no such name.
    """
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    """Return the names of the interface, whether they are loaded or not."""
    return sorted(_MODULES)
