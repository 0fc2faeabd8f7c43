"""What is deployed of an application: the result of the last stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.compiler.stage_results import DEFAULT_RESTART, RestartPolicy

AUTONOMOUS_ATTEMPTS = 5
"""Resets in a row that a PE outside of regions may need; the default of a region (A1)."""

DEFAULT_TIMEOUT = 180.0
"""Seconds (A1)."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A consistent region over its PEs, or several that share PEs, or one PE in no region."""

    name: str
    """`region-0`, `region-0+1`, `pe-3`."""
    region: int | None
    """Index of the region, the first one of several."""
    pes: tuple[int, ...]
    starts: tuple[int, ...]
    """PEs that hold a start operator; of an autonomous unit its PE."""
    period: float | None
    """Seconds; None where an operator drives the region, and outside of regions."""
    max_attempts: int
    drain_timeout: float = DEFAULT_TIMEOUT
    """Seconds from the trigger until the epoch must be complete (B8)."""
    reset_timeout: float = DEFAULT_TIMEOUT
    """Seconds until every PE must run again (B8)."""
    restart: RestartPolicy = DEFAULT_RESTART


@dataclass(frozen=True, slots=True)
class DeployedPe:
    """One PE: what it runs, and where."""

    program: PeProgram
    host: int
    restartable: bool
    initial: dict[str, dict[str, Any]]
    """Source operator, by its physical name -> the position from which it begins."""


@dataclass(frozen=True, slots=True)
class HostWish:
    """On which machines a host may run, by the configs of its operators (rules 36, 37, 51, 53)."""

    host: int
    machine: str | None
    """By name, from `placement.host`."""
    tags: tuple[str, ...]
    """That the machine must carry, from the host pool."""
    exlocation: tuple[str, ...] = ()
    """Tags of `hostExlocation` that another host has, too."""
    isolated: bool = False
    """Whether `hostIsolation` keeps it away from all other hosts."""

    def apart_from(self, other: HostWish) -> str | None:
        """Return the config that keeps two hosts off one machine, None when they may share one."""
        if shared := [tag for tag in self.exlocation if tag in other.exlocation]:
            return f"hostExlocation {', '.join(shared)}"
        return "hostIsolation" if self.isolated or other.isolated else None

    def __str__(self) -> str:
        if self.machine is not None:
            return f"machine {self.machine}"
        return f"a machine with tag {', '.join(self.tags)}" if self.tags else "any machine"


@dataclass(frozen=True, slots=True)
class Sink:
    """An operator without output ports: where tuples leave the application."""

    operator: str
    """Physical name."""
    kind: str
    address: str
    """Where they go, for people, without secrets; relative ones are below the directory of results. Empty if the
    operator does not say."""


@dataclass(frozen=True, slots=True)
class DeploymentPlan:
    """Programs of the PEs, units of recovery, hosts, sinks and initial positions; or why there are none."""

    pes: tuple[DeployedPe, ...] = ()
    """In the order of the fusion plan."""
    units: tuple[Unit, ...] = ()
    """Regions first."""
    sinks: tuple[Sink, ...] = ()
    """In the order of the physical graph."""
    wishes: tuple[HostWish, ...] = ()
    """The wishes of the hosts that have any, ascending."""
    refusal: str = ""
    """Why the application compiles but cannot run here, with the remedy; all else is empty then."""

    @property
    def programs(self) -> tuple[PeProgram, ...]:
        """What the PEs run."""
        return tuple(pe.program for pe in self.pes)

    @property
    def hosts(self) -> tuple[int, ...]:
        """The hosts that the PEs are on, ascending."""
        return tuple(sorted({pe.host for pe in self.pes}))

    def wish_of(self, host: int) -> HostWish:
        """On which machines a host may run; any, unless its operators say otherwise."""
        return next((wish for wish in self.wishes if wish.host == host), HostWish(host, None, ()))
