"""Recovery from `kill -9` of a host to the first commit, where an agent keeps a host ready to replace it.

As in `recovery`, Dagster's daemon resets the failed units. The catalog is in PostgreSQL, since agents need it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from unittest.mock import patch

import psutil

from benchmarks import recovery
from benchmarks.application import COMMAND, environment
from benchmarks.harness import Row
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.machines.register import read_machines
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.postgresql import server, why_not

ROUNDS = 5
AT_MOST = 4.0
START_SECONDS = 60.0


@contextmanager
def agent(home: Home) -> Iterator[None]:
    """Run the agent of this machine, which keeps one host ready."""
    command = [*COMMAND, "agent", "--name", "here", "--standby", "1"]
    with home.root.with_suffix(".agent.log").open("wb") as output:
        process = subprocess.Popen(command, env=environment(home), stdout=output, stderr=output, start_new_session=True)
    try:
        await_standby(home)
        yield
    finally:
        members = [*psutil.Process(process.pid).children(recursive=True), process]
        for member in members:
            member.kill()
        psutil.wait_procs(members, timeout=START_SECONDS)


def await_standby(home: Home) -> None:
    """Wait until a host is ready."""
    until = time.monotonic() + START_SECONDS
    while not any(machine.row.standbys for machine in read_machines(Catalog(home))):
        assert time.monotonic() < until, "no host is ready"
        time.sleep(recovery.POLL_SECONDS)


def rows(*, quick: bool = False) -> list[Row]:
    """Return the median of the recoveries, and its phases; none without PostgreSQL."""
    if reason := why_not():
        print(f"  left out: {reason}", file=sys.stderr)
        return []
    recoveries: list[recovery.Times] = []
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="bench-")))
        served = stack.enter_context(server())
        stack.enter_context(patch.dict(os.environ, STREAMS_CATALOG=served.url("streams")))
        stack.enter_context(agent(Home(directory / "home")))
        home = stack.enter_context(recovery.running(directory))
        recovery.settle(home)
        for _ in range(2 if quick else ROUNDS):
            await_standby(home)
            recoveries.append(recovery.recovered(home, recovery.host(home)))
            print(f"  {recovery.words(recoveries[-1])}", file=sys.stderr, flush=True)
    whole = median(times.whole for times in recoveries)
    parts = [
        Row(f"  {part}", median(getattr(each, part) for each in recoveries), "s", AT_MOST) for part in recovery.PARTS
    ]
    return [Row("kill -9 of a host with another one ready to the first commit / 4 s", whole, "s", AT_MOST, 1.0), *parts]
