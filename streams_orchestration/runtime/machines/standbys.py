"""Standbys: hosts that are started in advance, with their engines up, and then serve whatever application comes."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import time
from dataclasses import dataclass, replace

from streams_orchestration.runtime.errors import HostLaunchError, JavaError
from streams_orchestration.runtime.hosts.launcher import (
    HostLauncher,
    HostStart,
    host_environment,
    process_command,
)
from streams_orchestration.runtime.log_rotation import LOG_BYTES, rotate
from streams_orchestration.runtime.open_files import require_open_files
from streams_orchestration.runtime.processes import ProcessIdentity, identify
from streams_orchestration.runtime.recurring import RecurringErrors
from streams_orchestration.runtime.settings import EngineSettings
from streams_orchestration.runtime.storage.home import Home

REST_SECONDS = 10.0
"""Seconds after the start of a host in which no standby starts, so that a recovery has the machine to itself."""

log = logging.getLogger("streams.agent")


@dataclass(slots=True)
class Standby:
    """A process that waits, or that is starting its engine."""

    process: subprocess.Popen[str]
    identity: ProcessIdentity
    pipe: int
    """Descriptor on which it reports that its engine is up: one byte, and then it is closed."""
    _up: bool = False

    @property
    def up(self) -> bool:
        """Whether its engine is up."""
        if not self._up:
            with contextlib.suppress(BlockingIOError):
                self._up = bool(os.read(self.pipe, 1))
        return self._up


class Standbys:
    """A launcher that takes a waiting host, or starts one if none waits.

    Args:
        home: the state directory.
        machine: its name.
        wanted: how many are to wait.
        engine: settings of their engines, which are for queries of Spark's own, too; a host with others takes none of
            them.
        launcher: starts hosts when none waits.
        log_size: bytes at which their log is rotated; 0 for never.
    """

    def __init__(
        self,
        home: Home,
        machine: str,
        wanted: int,
        engine: EngineSettings,
        launcher: HostLauncher,
        log_size: int = LOG_BYTES,
    ) -> None:
        self._home = home
        self._machine = machine
        self._wanted = wanted
        self._engine = replace(engine, queries=True)
        self._launcher = launcher
        self._waiting: list[Standby] = []
        self._log_size = log_size
        self._errors = RecurringErrors(log)
        self._launched = -REST_SECONDS

    @property
    def waiting(self) -> int:
        """Return how many standbys wait now with their engines up."""
        return sum(standby.up for standby in self._waiting)

    def launch(self, start: HostStart) -> ProcessIdentity:
        """Make a waiting standby the host, or start a new process. See `HostLauncher.launch`."""
        self._launched = time.monotonic()
        self._forget_ended()
        while self._waiting and replace(start.engine, queries=True) == self._engine:
            standby = next((each for each in self._waiting if each.up), self._waiting[0])
            self._drop(standby)
            if _serves(standby, start):
                log.info("pid %s was on standby", standby.identity.pid)
                return standby.identity
        return self._launcher.launch(start)

    def keep(self) -> None:
        """Start missing standbys, one at a time and not right after another start, and rotate their log."""
        self._forget_ended()
        place = self._home.standby_log(self._machine)
        with self._errors.survived(f"{place} is not rotated"):
            rotate(place, self._log_size)
        if len(self._waiting) < self._wanted and time.monotonic() - self._launched >= REST_SECONDS:
            self._launched = time.monotonic()
            try:
                self._waiting.append(self._start())
            except (HostLaunchError, JavaError, OSError) as error:
                log.error("no host can be kept on standby: %s", error)

    def end(self) -> None:
        """End those that wait."""
        for standby in tuple(self._waiting):
            assert standby.process.stdin is not None
            standby.process.stdin.close()
            self._drop(standby)

    def _drop(self, standby: Standby) -> None:
        self._waiting.remove(standby)
        os.close(standby.pipe)

    def _forget_ended(self) -> None:
        for standby in tuple(self._waiting):
            if standby.process.poll() is not None:
                log.warning("a standby, pid %s, has ended with status %s", standby.process.pid, standby.process.poll())
                self._drop(standby)

    def _start(self) -> Standby:
        require_open_files("a standby")
        place = self._home.standby_log(self._machine)
        place.parent.mkdir(parents=True, exist_ok=True)
        ours, its = os.pipe()
        os.set_blocking(ours, False)
        try:
            with place.open("ab") as output:
                process = subprocess.Popen(
                    [*process_command(self._home, self._engine), "--ready", str(its)], pass_fds=(its,),
                    stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True, text=True,
                    env=host_environment(self._home),
                )  # fmt: skip
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(its)
        identity = identify(process.pid)
        if identity is None:
            os.close(ours)
            message = f"a standby ended at once (log: {place})"
            raise HostLaunchError(message)
        return Standby(process, identity, ours)


def _serves(standby: Standby, start: HostStart) -> bool:
    """Make a standby a host; returns False when it has ended."""
    assert standby.process.stdin is not None
    wanted = {
        "application": start.application,
        "host": start.host,
        "incarnation": start.incarnation,
        "base": str(start.base),
    }
    with contextlib.suppress(OSError):
        print(json.dumps(wanted), file=standby.process.stdin, flush=True)
        return True
    return False
