"""The deployment plan, which is the result of the last stage."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.compiler.stage_results import DEFAULT_RESTART, RestartPolicy
from streams_orchestration.operators.contract.offset import Offsets

AUTONOMOUS_ATTEMPTS = 5
"""The most resets in a row of a PE outside of regions before it fails; it equals the default of a region (A1)."""

DEFAULT_TIMEOUT = 180.0
"""The default time limit of a drain or a reset, in seconds (A1)."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of recovery: the PEs of one or several regions, with PEs in between, or one PE outside of regions.

    See `recovery_units` for the PEs that are joined.
    """

    name: str
    """The name of the unit, as in `region-0`, `region-0+1` or `pe-3`."""
    region: int | None
    """The index of the region, or of the first of several; None for a PE outside of regions."""
    pes: tuple[int, ...]
    starts: tuple[int, ...]
    """The PEs that hold a start operator of the region; for a unit outside of regions, its only PE."""
    period: float | None
    """The time between two cuts in seconds; None if an operator triggers the cuts, and outside of regions."""
    max_attempts: int
    drain_timeout: float = DEFAULT_TIMEOUT
    """Seconds from the trigger until the epoch must be complete (B8)."""
    reset_timeout: float = DEFAULT_TIMEOUT
    """Seconds until every PE must run again (B8)."""
    restart: RestartPolicy = DEFAULT_RESTART


@dataclass(frozen=True, slots=True)
class DeployedPe:
    """A PE with its program, its host and the initial positions of its sources."""

    program: PeProgram
    host: int
    """The number of the host in the plan."""
    restartable: bool
    """False if its unit is not reset automatically after the PE has failed, by the config `restartable`."""
    initial: Offsets
    """Source operator, by its physical name -> the position from which it begins."""


@dataclass(frozen=True, slots=True)
class HostRequirements:
    """The requirements on the machine of a host, from the configs of its operators (rules 36, 37, 51, 53)."""

    host: int
    machine: str | None
    """The name of the machine, from `placement.host`; None if the host may be on any."""
    tags: tuple[str, ...]
    """Tags that the machine must have, from the host pool."""
    exlocation: tuple[str, ...] = ()
    """The `hostExlocation` tags of this host that some other host has, too."""
    isolated: bool = False
    """True if `hostIsolation` keeps all other hosts off the machine."""

    def apart_from(self, other: HostRequirements) -> str | None:
        """Return the config that keeps two hosts on different machines; None if they may share one."""
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
    """The physical name of the operator."""
    kind: str
    address: str
    """The destination in readable form, without secrets; a relative one is below the directory of results. Empty if the
    operator does not say."""


@dataclass(frozen=True, slots=True)
class DeploymentPlan:
    """Programs of the PEs, units of recovery, hosts, sinks and initial positions; or only the reason of a refusal."""

    pes: tuple[DeployedPe, ...] = ()
    """The PEs, in the order of the fusion plan as compiled."""
    units: tuple[Unit, ...] = ()
    """The units of recovery; the units of regions come first."""
    sinks: tuple[Sink, ...] = ()
    """The sinks, in the order of the physical graph."""
    requirements: tuple[HostRequirements, ...] = ()
    """The requirements of the hosts that have any, in ascending order of host numbers."""
    refusal: str = ""
    """The reason why the application cannot run here, with the remedy. All other fields are empty then."""

    @property
    def programs(self) -> tuple[PeProgram, ...]:
        """The programs of the PEs."""
        return tuple(pe.program for pe in self.pes)

    @property
    def hosts(self) -> tuple[int, ...]:
        """The numbers of the hosts that run PEs, ascending."""
        return tuple(sorted({pe.host for pe in self.pes}))

    def requirements_of(self, host: int) -> HostRequirements:
        """Return the requirements of a host; without configs of its operators, any machine suits."""
        return next((each for each in self.requirements if each.host == host), HostRequirements(host, None, ()))
