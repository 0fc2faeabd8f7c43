"""Application statuses to judge in tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from streams_orchestration.orchestration.watching import Memory, SensorActions, decide_actions
from streams_orchestration.runtime.observing.metrics import (
    ApplicationMetrics,
    OperatorMetrics,
    PortMetrics,
    ReaderMetrics,
    StreamMetrics,
)
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.sinks.sinks import SinkStatus
from streams_orchestration.runtime.units.reset_decisions import decide_resets
from streams_orchestration_tests.runtime.readings import changed, host_status, pe_status, unit_status

NOW = 1_800_000_000.0
LOGS = Path("logs")


def running(**changes: Any) -> ApplicationStatus:
    """`demo` with one region over PEs 0 and 1 on host 0, at epoch 3."""
    host = host_status(launched_at=NOW - 100, heartbeat_at=NOW - 1, log=LOGS / "host-0.log")
    facts: dict[str, Any] = {"batch": 7, "epoch": 4, "rows_in": 1000, "rows_out": 1000, "busy_seconds": 2.0}
    pes = tuple(
        pe_status(number, operators=[name], committed_at=NOW - 1, log=LOGS / f"pe-{number}.log", **facts)
        for number, name in enumerate(("Numbers", "Results"))
    )
    unit = unit_status(completed_epoch=3, open_epoch=4, pes=(0, 1), completed_at=NOW - 1, period=1.0)
    sink = SinkStatus("Results", Path("results"), "csv", 2, 500, epoch=3)
    status = ApplicationStatus("demo", "RUNNING", "plan", "first", NOW - 100, (host,), pes, (unit,), LOGS, (sink,))
    return replace(status, **changes)


def actions_after(status: ApplicationStatus, now: float, memory: Memory) -> SensorActions:
    """Return the actions of the sensor after a check that finds this status."""
    decisions = decide_resets(status, now, memory.known)
    return decide_actions(status, decisions.exhausted, now, memory.with_resets(decisions))


def measured() -> ApplicationMetrics:
    """Return the metrics of `demo`: 1000 tuples from Numbers to Results."""
    port = PortMetrics(port=0, tuples=1000, batches=2, bytes=8000, marks=0)
    common: dict[str, Any] = {"calls": 2, "state_bytes": 0, "checkpoints": 0, "checkpoint_bytes": 0, "custom": ()}
    common |= {"cores": 0.5, "tuples_per_second": 10.0}
    operators = (
        OperatorMetrics("Numbers", 0, cpu_ns=1_500_000_000, inputs=(), outputs=(port,), **common),
        OperatorMetrics("Results", 1, cpu_ns=2_000_000_000, inputs=(port,), outputs=(), **common),
    )
    reader = ReaderMetrics(1, 900, 7200, 2, 0, lag_segments=1, lag_tuples=100, lag_seconds=0.1)
    stream = StreamMetrics("Numbers", 0, 1000, 8000, 3, 0, tuples_per_second=10.0, readers=(reader,))
    return ApplicationMetrics("demo", "life", NOW, measured=True, operators=operators, streams=(stream,))


def failed(status: ApplicationStatus, **changes: Any) -> ApplicationStatus:
    """Return the status with PE 1 failed; `changes` are of its unit."""
    pes = (status.pes[0], changed(status.pes[1], state="FAILED", error="out of order"))
    return replace(status, pes=pes, units=(changed(status.units[0], **changes),))
