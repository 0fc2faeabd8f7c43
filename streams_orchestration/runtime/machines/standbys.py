"""Standbys: host processes started in advance with a running engine. They become a host of any application."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
from dataclasses import dataclass, replace

from streams_orchestration import world
from streams_orchestration.runtime.errors.errors import HostLaunchError, JavaError
from streams_orchestration.runtime.errors.loop_errors import LoopErrors
from streams_orchestration.runtime.hosts.launcher import (
    HostStart,
    host_environment,
    launch_host,
    process_command,
)
from streams_orchestration.runtime.logs.log_rotation import LOG_BYTES, rotate_log
from streams_orchestration.runtime.processes.open_files import require_open_files
from streams_orchestration.runtime.processes.processes import ProcessIdentity, identify
from streams_orchestration.runtime.settings.settings import EngineSettings
from streams_orchestration.runtime.storage.home import Home

STANDBY_DELAY_SECONDS = 10.0
"""Seconds after the start of a host during which no standby starts, to leave the machine to a recovery."""

log = logging.getLogger("streams.agent")


@dataclass(slots=True)
class Standby:
    """A standby whose engine is up or still starting."""

    process: subprocess.Popen[str]
    identity: ProcessIdentity
    pipe: int
    """Descriptor of a pipe. The standby writes one byte and closes its end when its engine is up."""
    _up: bool = False

    @property
    def up(self) -> bool:
        """True if the engine of the standby is up."""
        if not self._up:
            with contextlib.suppress(BlockingIOError):
                self._up = bool(os.read(self.pipe, 1))
        return self._up


class Standbys:
    """The standbys of a machine: `launch` makes one of them a host, or starts a new process if there is none.

    `wanted` standbys are kept, whose engines can also run dataframe queries. A host with other engine settings gets a
    new process. `log_size` is the size in bytes at which their log is rotated, and 0 for never.
    """

    def __init__(
        self,
        home: Home,
        machine: str,
        wanted: int,
        engine: EngineSettings,
        log_size: int = LOG_BYTES,
    ) -> None:
        self._home = home
        self._machine = machine
        self._wanted = wanted
        self._engine = replace(engine, queries=True)
        self.standbys: list[Standby] = []
        """The standbys whose processes have not become hosts, in the order of their starts."""
        self._log_size = log_size
        self._errors = LoopErrors(log)
        self._launched = -STANDBY_DELAY_SECONDS

    @property
    def waiting(self) -> int:
        """The number of standbys with a running engine."""
        return sum(standby.up for standby in self.standbys)

    def launch(self, start: HostStart) -> ProcessIdentity:
        """Make a standby the host, if the engine settings fit, and log that; or start a new process.

        Standbys that have ended are forgotten, which is logged. If a new process cannot be started, the errors of the
        `launch_host` are raised.
        """
        self._launched = world.monotonic()
        self._forget_ended()
        while self.standbys and replace(start.engine, queries=True) == self._engine:
            standby = next((each for each in self.standbys if each.up), self.standbys[0])
            self._drop(standby)
            if _assign_host(standby, start):
                log.info("pid %s was on standby", standby.identity.pid)
                return standby.identity
        return launch_host(start)

    def keep(self) -> None:
        """Start a missing standby; log a failure.

        None starts within `STANDBY_DELAY_SECONDS` after the start of a host or standby. Standbys that
        have ended are dropped, and their log is rotated.
        """
        self._forget_ended()
        place = self._home.standby_log(self._machine)
        with self._errors.survived(f"{place} is not rotated"):
            rotate_log(place, self._log_size)
        if len(self.standbys) < self._wanted and world.monotonic() - self._launched >= STANDBY_DELAY_SECONDS:
            self._launched = world.monotonic()
            try:
                self.standbys.append(self._start())
            except (HostLaunchError, JavaError, OSError) as error:
                log.error("no host can be kept on standby: %s", error)

    def end(self) -> None:
        """Make all standbys end by closing their input, without waiting for them."""
        for standby in tuple(self.standbys):
            assert standby.process.stdin is not None
            with contextlib.suppress(OSError):  # one that has died
                standby.process.stdin.close()
            self._drop(standby)

    def _drop(self, standby: Standby) -> None:
        self.standbys.remove(standby)
        os.close(standby.pipe)

    def _forget_ended(self) -> None:
        for standby in tuple(self.standbys):
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
                    [*process_command(self._home, self._engine), "--ready", str(its)],
                    pass_fds=(its,),
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    text=True,
                    env=host_environment(self._home),
                )
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


def _assign_host(standby: Standby, start: HostStart) -> bool:
    """Make a standby a host; return False if its process has ended."""
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
