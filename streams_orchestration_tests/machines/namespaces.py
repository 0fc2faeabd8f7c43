"""Machines in namespaces of Linux: an agent, its hosts, and a network link to where the servers are."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from streams_orchestration_tests.machines.ways import DEVICE, ip, nowhere, worse

NETWORK = f"10.{64 + os.getpid() % 128}"
"""The network of all machines of this process; other processes have theirs."""
SERVERS = f"{NETWORK}.255.1"
"""The address at which servers listen, for all machines."""
STORAGE = f"{NETWORK}.255.2"
"""The address at which the storage listens, so that a machine may be cut off from it alone."""
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
_numbers = itertools.count(1)


def why_not() -> str | None:
    """Return the reason why there can be no machines here, or None."""
    missing = [program for program in ("ip", "unshare") if shutil.which(program) is None]
    if missing:
        return f"{', '.join(missing)} is not installed"
    if os.geteuid() != 0:
        return "only root makes namespaces"
    if not DEVICE.exists():
        return f"there is no {DEVICE}"
    tried = subprocess.run(["ip", "netns", "add", _name("try")], capture_output=True, check=False)
    if tried.returncode != 0:
        return f"no network namespace can be made: {tried.stderr.decode().strip()}"
    subprocess.run(["ip", "netns", "del", _name("try")], check=False)
    return None


def _name(machine: str) -> str:
    """Return the name of a namespace, short enough for an interface."""
    return f"so{os.getpid() % 100_000}{machine}"[:14]


@dataclass
class Machine:
    """A machine whose agent runs."""

    name: str
    environment: Mapping[str, str]
    log: Path
    tags: str = ""
    number: int = field(default_factory=lambda: next(_numbers))
    process: subprocess.Popen[bytes] | None = None
    _ways: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def space(self) -> str:
        """Its network namespace."""
        return _name(self.name)

    @property
    def address(self) -> str:
        """The address of the machine's end of the link."""
        return f"{NETWORK}.{self.number}.2"

    @property
    def command(self) -> list[str]:
        """Put before another command, it runs that one there, in a process table of its own."""
        inside = ["ip", "netns", "exec", self.space]
        return [*inside, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]

    def connect(self) -> None:
        """Make its network, and the link to the servers."""
        here, there = f"{self.space}h"[-15:], "eth0"
        base = f"{NETWORK}.{self.number}"
        ip("netns", "add", self.space)
        ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", self.space)
        ip("addr", "add", f"{base}.1/24", "dev", here)
        ip("link", "set", here, "up")
        ip("-n", self.space, "link", "set", "lo", "up")
        ip("-n", self.space, "addr", "add", f"{base}.2/24", "dev", there)
        ip("-n", self.space, "link", "set", there, "up")
        ip("-n", self.space, "route", "add", "default", "via", f"{base}.1")

    def boot(self) -> None:
        """Start its agent, in a process table of its own."""
        command = [*self.command, sys.executable, "-m", "streams_orchestration", "agent"]
        command += ["--name", self.name, "--cores", "2"]
        command += ["--tags", self.tags] if self.tags else []
        if not self._clock.exists():
            self.set_clock(0.0)
        environment = dict(self.environment) | {"STREAMS_TEST_CLOCK": str(self._clock)}
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                command, env=environment, stdout=output, stderr=output, start_new_session=True
            )

    def die(self) -> None:
        """End all its processes at once."""
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
        """Return the processes that run on the machine, as seen from outside."""
        return [] if self.process is None else psutil.Process(self.process.pid).children(recursive=True)

    def hosts(self) -> list[psutil.Process]:
        """Return the processes of hosts there."""
        hosts: list[psutil.Process] = []
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                if any("host_process" in word for word in process.cmdline()):
                    hosts.append(process)
        return hosts

    def kill_hosts(self) -> int:
        """End its hosts, but not its agent; gives how many there were."""
        hosts = self.hosts()
        for host in hosts:
            with contextlib.suppress(psutil.Error):
                host.kill()
        return len(hosts)

    def freeze(self) -> list[psutil.Process]:
        """Have all its processes stand still, until `thaw`; these are its hosts."""
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.suspend()
        return self.hosts()

    def thaw(self) -> None:
        """Have them go on where they were."""
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.resume()

    def set_clock(self, ahead: float) -> None:
        """Set its clock, so many seconds ahead of the right one; what runs there sees it at once."""
        with self._clock.open("r+b" if self._clock.exists() else "xb") as file:
            file.write(struct.pack("d", ahead))

    @property
    def _clock(self) -> Path:
        return self.log.with_suffix(".clock")

    def cut(self, address: str | None = None) -> None:
        """Let nothing through its link, or nothing to one address."""
        if address is None:
            ip("link", "set", f"{self.space}h"[-15:], "down")
        else:
            self._ways.enter_context(nowhere(self.space, address))

    def worsen(self, delay: float, loss: float) -> None:
        """Packets are late by so many seconds on average, and so large a part of them is lost."""
        self._ways.enter_context(worse(self.space, self.address, delay, loss))

    def heal(self) -> None:
        """Restore the link."""
        self._ways.close()
        ip("link", "set", f"{self.space}h"[-15:], "up")

    def flap(self, times: int, down: float, up: float) -> None:
        """Take its link down and up repeatedly: packets are lost, and others come late."""
        for _ in range(times):
            self.cut()
            time.sleep(down)
            self.heal()
            time.sleep(up)

    def disconnect(self) -> None:
        """Remove its network."""
        self._ways.close()
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
    """Yield an address of this machine that all machines reach; that of the storage is there, too."""
    for address in (SERVERS, STORAGE):
        ip("addr", "replace", f"{address}/32", "dev", "lo")
    try:
        yield SERVERS
    finally:
        for address in (SERVERS, STORAGE):
            subprocess.run(["ip", "addr", "del", f"{address}/32", "dev", "lo"], check=False, capture_output=True)
