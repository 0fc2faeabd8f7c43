"""Statuses of applications that never ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams_orchestration.runtime.observing.metrics import (
    ApplicationMetrics,
    ConnectionMetrics,
    CustomMetric,
    OperatorMetrics,
    PeMetrics,
    PortMetrics,
    QueueMetrics,
    ReaderMetrics,
    StreamMetrics,
)
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.sinks.sinks import SinkStatus
from streams_orchestration.runtime.units.status import HostStatus, PeStatus
from streams_orchestration.runtime.units.unit_status import UnitStatus
from streams_orchestration_tests.runtime.readings import host_status, pe_status, unit_status

NOW = 1_700_000_000.0
LOGS = Path("/logs")


def host(**facts: Any) -> HostStatus:
    usual: dict[str, Any] = {"launched_at": NOW - 60, "heartbeat_at": NOW - 1, "log": LOGS / "host-0.log"}
    return host_status(**usual | facts)


def pe(number: int, **facts: Any) -> PeStatus:
    usual: dict[str, Any] = {"operators": [f"Op{number}"], "batch": 3, "epoch": 5, "busy_seconds": 1.0}
    usual |= {"committed_at": NOW - 2, "log": LOGS / f"pe-{number}.log"}
    return pe_status(number, **usual | facts)


def unit(**facts: Any) -> UnitStatus:
    usual: dict[str, Any] = {"completed_epoch": 4, "open_epoch": 5, "pes": (0, 1), "completed_at": NOW - 3}
    return unit_status(**usual | {"period": 10.0} | facts)


def sink(**facts: Any) -> SinkStatus:
    usual: dict[str, Any] = {
        "operator": "Results",
        "path": Path("/results/Results"),
        "format": "parquet",
        "files": 1,
        "rows": 16,
    }
    return SinkStatus(**usual | facts)


def status(**facts: Any) -> ApplicationStatus:
    usual: dict[str, Any] = {
        "application": "flights",
        "state": "RUNNING",
        "fingerprint": "abc",
        "life": "3f2a91bc",
        "deployed_at": NOW - 65,
        "hosts": (host(),),
        "pes": (pe(0, rows_out=1_234_567), pe(1, rows_in=1_234_567, rows_out=32)),
        "units": (unit(),),
        "sinks": (sink(),),
        "logs": LOGS,
    }
    return ApplicationStatus(**usual | facts)


def operator_metrics(name: str, **facts: Any) -> OperatorMetrics:
    port = PortMetrics(port=0, tuples=1000, batches=4, bytes=8_000_000, marks=1)
    usual: dict[str, Any] = {
        "name": name,
        "pe": 0,
        "calls": 5,
        "cpu_ns": 2_000_000,
        "inputs": (port,),
        "outputs": (),
        "state_bytes": 1500,
        "checkpoints": 2,
        "checkpoint_bytes": 3000,
        "custom": (),
        "cores": 0.25,
        "tuples_per_second": 100.0,
    }
    return OperatorMetrics(**usual | facts)


def metrics(**facts: Any) -> ApplicationMetrics:
    reader = ReaderMetrics(
        pe=1, tuples=500, bytes=4000, segments=1, deserialise_ns=5000, lag_segments=9, lag_tuples=4500, lag_seconds=12.0
    )
    usual: dict[str, Any] = {
        "application": "flights",
        "life": "l",
        "at": NOW,
        "measured": True,
        "pes": (PeMetrics(0, NOW - 60, NOW, 10, 1000, 500, 10**7, 10**9, 5 * 10**8, 2 * 10**7, 10**6, 77.0),),
        "operators": (
            operator_metrics("Flights", cores=0.004),
            operator_metrics("Delays", custom=(CustomMetric("dropped", "counter", 12, "rows"),), cores=0.61),
        ),
        "streams": (StreamMetrics("Delays", 0, 5000, 40_000, 10, 10_000, 99.0, (reader,)),),
        "queues": (QueueMetrics("Delays", 0, 0, 1000, 8000, 4, 3000, 2000, 8 * 10**6),),
        "connections": (ConnectionMetrics("Flights:0 -> Delays:0", 0, 3, 4),),
    }
    return ApplicationMetrics(**usual | facts)
