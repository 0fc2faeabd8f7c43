"""The healers that reset failed units: Dagster's daemon, `streams run` that follows, or somebody by hand."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType

import psutil
from sqlalchemy import select

from streams_orchestration.orchestration.instance import LOCATION, dagster_home, dagster_instance
from streams_orchestration.orchestration.ui import script
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.deployment import FIRST_PLAN
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.observing.status_summaries import advance_and_read_status
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import find_failures

STREAMS = (sys.executable, "-m", "streams_orchestration")
POLL_SECONDS = 0.5


class Healer:
    """Deploys the application, and heals it until the block ends."""

    name = ""

    def __init__(self, home: Home, application: str, spec: Path, choose: random.Random) -> None:
        self.home, self.application, self.spec, self.choose = home, application, spec, choose
        self.log = spec.with_suffix(f".{self.name}.log")
        """Beside the spec: the home may lie on a disk that is full, and gone afterwards."""

    def __enter__(self) -> Healer:
        self.deploy()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        return None

    def deploy(self) -> None:
        """In the background."""
        with self.log.open("ab") as output:
            command = [*STREAMS, "deploy", str(self.spec), "--fusion", "legacy"]
            done = subprocess.run(command, check=False, stdout=output, stderr=output)
        assert done.returncode == 0, self.log.read_text()[-2000:]

    def keep_running(self) -> None:
        """Called now and then."""

    def reset_failed(self) -> None:
        """Reset by hand what has failed."""
        with contextlib.suppress(StreamsRuntimeError, OSError):
            for failure in find_failures(advance_and_read_status(Catalog(self.home), self.application), time.time()):
                if not failure.exhausted:
                    reset_unit(Catalog(self.home), self.application, failure.unit, generation=failure.generation)

    def process(self) -> psutil.Process | None:
        """Return the process that heals, if it is a process of its own."""
        return None


class ByHand(Healer):
    """Calls `reset_unit` now and then for each failed unit."""

    name = "hand"

    def __enter__(self) -> Healer:
        super().__enter__()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._heal, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _heal(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            self.reset_failed()


class Daemon(Healer):
    """Dagster's daemon: sensor, run queue, reset job. It is started again when a fault has killed it."""

    name = "dagster"

    def __enter__(self) -> Healer:
        with dagster_instance(self.home.prepare()):
            pass
        workspace = dagster_home(self.home) / "workspace.yaml"
        workspace.write_text(
            "load_from:\n  - python_module:\n      module_name: streams_orchestration.orchestration.definitions\n"
            f"      location_name: {LOCATION}\n"
        )
        self._command = [script("dagster-daemon"), "run", "--workspace", str(workspace)]
        self._environment = os.environ | {
            "DAGSTER_HOME": str(dagster_home(self.home)),
            "STREAMS_SPECS": str(self.spec.parent),
        }
        self._process: subprocess.Popen[bytes] | None = None
        super().__enter__()
        self.keep_running()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        end(self._process)

    def keep_running(self) -> None:
        """Start it when it does not run."""
        if self._process is None or self._process.poll() is not None:
            with self.log.open("ab") as output:
                self._process = subprocess.Popen(
                    self._command, env=self._environment, stdout=output, stderr=output, start_new_session=True
                )

    def process(self) -> psutil.Process | None:
        """Return the daemon."""
        return psutil.Process(self._process.pid) if self._process and self._process.poll() is None else None


class Follower(Healer):
    """`streams run`, in the foreground; it is run again when a fault has killed it.

    After a redeploy it would refuse its spec, which is the first one; then resets come by hand.
    """

    name = "run"

    def deploy(self) -> None:
        """By the command that also heals."""
        self._process: subprocess.Popen[bytes] | None = None
        self.keep_running()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        end(self._process)

    def keep_running(self) -> None:
        """Run it again, unless it has ended well."""
        if self._process is None or self._process.poll() not in (None, 0):
            if self._process is not None and is_changed(self.home, self.application):
                self.reset_failed()
                return
            with self.log.open("ab") as output:
                self._process = subprocess.Popen(
                    [*STREAMS, "run", str(self.spec), "--fusion", "legacy"],
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )

    def process(self) -> psutil.Process | None:
        """Return the command."""
        return psutil.Process(self._process.pid) if self._process and self._process.poll() is None else None


HEALERS: dict[str, type[Healer]] = {healer.name: healer for healer in (ByHand, Daemon, Follower)}


def is_changed(home: Home, application: str) -> bool:
    """Another plan has taken the place of the first one."""
    a, plan = tables.application, None
    with contextlib.suppress(StreamsRuntimeError), Catalog(home).read() as connection:
        plan = connection.scalar(select(a.c.plan).where(a.c.name == application))
    return plan not in (None, FIRST_PLAN)


def without_hosts(process: psutil.Process) -> list[psutil.Process]:
    """Return the descendants of a process without the hosts, which go on without it with all their own children."""
    descendants: list[psutil.Process] = []
    for child in process.children():
        with contextlib.suppress(psutil.Error):
            if not any("host_process" in part or "local_host" in part for part in child.cmdline()):
                descendants += [child, *without_hosts(child)]
    return descendants


def end(process: subprocess.Popen[bytes] | None) -> None:
    """End a process that we started, with all that it has started and that did not detach itself."""
    if process is None or process.poll() is not None:
        return
    for each in without_hosts(psutil.Process(process.pid)):
        with contextlib.suppress(psutil.Error):
            each.kill()
    process.kill()
    process.wait()
