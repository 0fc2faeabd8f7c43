"""The cost of OpenLineage events for a host: processor time of its reporter in a minute, against that minute.

A minute has a poll every two seconds, as often as the catalog changes, and one event with the columns of every sink.
The event is made and written as JSON; what a server does with it is not measured.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from openlineage.client.event_v2 import RunEvent
from openlineage.client.serde import Serde
from sqlalchemy import update

from benchmarks import graphs
from benchmarks.harness import Row, seconds
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.lineage import progress
from streams_orchestration.runtime.lineage.client import Client
from streams_orchestration.runtime.lineage.reporter import MIN_INTERVAL_SECONDS, Reporter
from streams_orchestration.runtime.processes.processes import process_started
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.local import LocalApplication

TARGET = 0.01
POLLS, EVENTS = 20, 10


class Written(Client):
    """Takes events as a client does, and writes them as JSON."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def send(self, event: RunEvent) -> None:
        """Write an event."""
        self.sizes.append(len(Serde.to_json(event)))

    def close(self, seconds: float) -> None:
        """Do nothing, since no event is under way."""


def chain(operators: int) -> Sequence[dict[str, Any]]:
    """Return a source, functors in a row and a sink."""
    names = ["Made", *(f"F{number}" for number in range(operators - 2))]
    functors = [
        graphs.node(name, "Functor", before, parameters={"output": {"n": "n + 1"}}) for before, name in pairwise(names)
    ]
    return [graphs.beacon("Made"), *functors, graphs.sink("Result", names[-1])]


def minute(operators: int) -> float:
    """Run a chain of operators, and return the processor seconds of its reporter in a minute without failures."""
    with TemporaryDirectory(prefix="bench-") as scratch:
        home, made = Home(Path(scratch, "home")), Written()
        document = graphs.document("app", chain(operators))
        local = LocalApplication(home, compile_application(application_from_mapping(document), Options(pes=1)), 10)
        with local.catalog.write() as connection:
            connection.execute(
                update(tables.host).values(
                    state="RUNNING",
                    launches=0,
                    heartbeat_at=time.time(),
                    pid=os.getpid(),
                    process_started=process_started(os.getpid()),
                )
            )
        reporter = Reporter(local.catalog, "app", 0, made)
        reporter.load(local.programs)
        for program in local.programs:
            local.step(program)
        reporter.send_due()
        (poll,) = seconds(lambda: [reporter.send_due() for _ in range(POLLS)])
        sending = []
        with patch.object(progress, "RUNNING_SECONDS", 0.0):
            for _ in range(EVENTS):
                local.trigger()
                for program in (*local.programs, *local.programs):
                    local.step(program)
                begin = time.process_time()
                reporter.send_due()
                sending.append(time.process_time() - begin)
        assert len(made.sizes) == 1 + EVENTS, "an epoch had no event"
    print(f"  {operators} operators: {poll / POLLS * 1e3:.2f} ms a poll, {min(sending) * 1e3:.2f} ms with an event "
          f"of {max(made.sizes):,} characters", file=sys.stderr)  # fmt: skip
    return poll / POLLS * progress.RUNNING_SECONDS / MIN_INTERVAL_SECONDS + min(sending)


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios for small and large applications."""
    return [
        Row(f"lineage of {operators} operators, a minute", minute(operators), "s", progress.RUNNING_SECONDS, TARGET)
        for operators in ((20,) if quick else (20, 500))
    ]
