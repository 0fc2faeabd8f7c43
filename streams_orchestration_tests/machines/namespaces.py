"""Machines in namespaces of Linux: an agent, its hosts, and a network link to where the servers are."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

SERVERS = "10.91.255.1"
"""Where servers listen, for all machines."""
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
_numbers = itertools.count(1)


def why_not() -> str | None:
    """Why there can be no machines here."""
    missing = [program for program in ("ip", "unshare") if shutil.which(program) is None]
    if missing:
        return f"{', '.join(missing)} is not installed"
    if os.geteuid() != 0:
        return "only root makes namespaces"
    tried = subprocess.run(["ip", "netns", "add", _name("try")], capture_output=True, check=False)
    if tried.returncode != 0:
        return f"no network namespace can be made: {tried.stderr.decode().strip()}"
    subprocess.run(["ip", "netns", "del", _name("try")], check=False)
    return None


def _name(machine: str) -> str:
    """Of a namespace, short enough for an interface."""
    return f"so{os.getpid() % 100_000}{machine}"[:14]


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@dataclass
class Machine:
    """A machine whose agent runs."""

    name: str
    environment: Mapping[str, str]
    log: Path
    tags: str = ""
    clock: float = 0.0
    """Seconds by which its clock is ahead."""
    number: int = field(default_factory=lambda: next(_numbers))
    process: subprocess.Popen[bytes] | None = None

    @property
    def space(self) -> str:
        """Its network namespace."""
        return _name(self.name)

    @property
    def address(self) -> str:
        """Of its end of the link."""
        return f"10.91.{self.number}.2"

    @property
    def command(self) -> list[str]:
        """Put before another command, it runs that one there, in a process table of its own."""
        inside = ["ip", "netns", "exec", self.space]
        return [*inside, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]

    def connect(self) -> None:
        """Make its network, and the link to the servers."""
        here, there = f"{self.space}h"[-15:], "eth0"
        base = f"10.91.{self.number}"
        _ip("netns", "add", self.space)
        _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", self.space)
        _ip("addr", "add", f"{base}.1/24", "dev", here)
        _ip("link", "set", here, "up")
        _ip("-n", self.space, "link", "set", "lo", "up")
        _ip("-n", self.space, "addr", "add", f"{base}.2/24", "dev", there)
        _ip("-n", self.space, "link", "set", there, "up")
        _ip("-n", self.space, "route", "add", "default", "via", f"{base}.1")

    def boot(self) -> None:
        """Start its agent, in a process table of its own."""
        command = [*self.command, sys.executable, "-m", "streams_orchestration", "agent"]
        command += ["--name", self.name, "--cores", "2"]
        command += ["--tags", self.tags] if self.tags else []
        environment = dict(self.environment) | {"STREAMS_TEST_CLOCK": str(self.clock)}
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                command, env=environment, stdout=output, stderr=output, start_new_session=True
            )

    def die(self) -> None:
        """All its processes end at once."""
        if self.process is None:
            return
        with contextlib.suppress(psutil.Error):
            members = psutil.Process(self.process.pid).children(recursive=True)
            for member in members:
                with contextlib.suppress(psutil.Error):
                    member.kill()
            self.process.kill()
            psutil.wait_procs(members, timeout=10)
        self.process.wait()
        self.process = None

    def processes(self) -> list[psutil.Process]:
        """That run there, as they are seen from outside."""
        return [] if self.process is None else psutil.Process(self.process.pid).children(recursive=True)

    def kill_hosts(self) -> None:
        """End its hosts, but not its agent."""
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                if any("host_process" in word for word in process.cmdline()):
                    process.kill()

    def cut(self) -> None:
        """Nothing gets through its link any more."""
        _ip("link", "set", f"{self.space}h"[-15:], "down")

    def heal(self) -> None:
        """The link is there again."""
        _ip("link", "set", f"{self.space}h"[-15:], "up")

    def flap(self, times: int, down: float, up: float) -> None:
        """Its link goes down and comes up again and again: packets are lost, and others come late."""
        for _ in range(times):
            self.cut()
            time.sleep(down)
            self.heal()
            time.sleep(up)

    def disconnect(self) -> None:
        """Remove its network."""
        subprocess.run(["ip", "netns", "del", self.space], check=False, capture_output=True)


@contextlib.contextmanager
def machines(environment: Mapping[str, str], place: Path, **tags: str) -> Iterator[dict[str, Machine]]:
    """Machines by name, with their tags; all gone afterwards."""
    made = {name: Machine(name, environment, place / f"{name}.log", each) for name, each in tags.items()}
    try:
        for machine in made.values():
            machine.connect()
            machine.boot()
        yield made
    finally:
        for machine in made.values():
            machine.die()
            machine.disconnect()


@contextlib.contextmanager
def routes() -> Iterator[None]:
    """Machines reach each other, too, by way of this one."""
    before = FORWARDING.read_text()
    FORWARDING.write_text("1")
    try:
        yield
    finally:
        FORWARDING.write_text(before)


@contextlib.contextmanager
def address_of_servers() -> Iterator[str]:
    """An address of this machine that all machines reach."""
    _ip("addr", "replace", f"{SERVERS}/32", "dev", "lo")
    try:
        yield SERVERS
    finally:
        subprocess.run(["ip", "addr", "del", f"{SERVERS}/32", "dev", "lo"], check=False, capture_output=True)
