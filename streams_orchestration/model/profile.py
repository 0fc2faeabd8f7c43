"""A measured profile of an application: what its operators and streams cost over a stated time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Basis = Literal["measured", "scaled", "calibrated"]
"""Where the costs of sending come from: fitted to streams of several sizes; a calibration of the machine, scaled to
what streams of one size cost; or that calibration alone, because nothing crossed."""


@dataclass(frozen=True, slots=True)
class StreamProfile:
    """What left one output port."""

    operator: str
    """Name of a replica, `Out[0].A`, or logical name, `Out.A`: then of all replicas together."""
    tuples: float
    """Over the whole of the measured time."""
    port: int = 0
    bytes: float | None = None
    """Size of these tuples in memory, over the whole time; None when that was not measured."""
    location: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class OperatorProfile:
    """What one operator did."""

    operator: str
    """Name of a replica, or logical name: then of all replicas together."""
    cpu_seconds: float
    """Processor time over the measured time, without those that it submits to, and without sending and receiving."""
    inputs: tuple[float, ...] = ()
    """Tuples that came to each input port; empty when that was not measured."""
    location: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class PassageCost:
    """Processor seconds of sending tuples to another PE, or of receiving them: so many a tuple and byte (rule Q15)."""

    per_tuple: float
    per_byte: float

    def of(self, tuples: float, bytes: float) -> float:
        """What passing so many tuples with so many bytes in all costs."""
        return self.per_tuple * tuples + self.per_byte * bytes


@dataclass(frozen=True, slots=True)
class Transport:
    """What streams between PEs cost; bytes are those in memory."""

    basis: Basis
    send: PassageCost
    """Of writing a stream, once however many PEs read it."""
    receive: PassageCost
    """Of reading it, in each PE that does."""
    streams: int = 0
    """Streams that were fitted."""


@dataclass(frozen=True, slots=True)
class PeProfile:
    """What one PE did in all."""

    pe: int
    cpu_seconds: float
    """Processor time of its tasks: operators, streams, and everything in between."""
    overhead_seconds: float
    """The part of that which belongs to no operator and no stream between PEs: any other PE would have as much."""
    busy_seconds: float
    """Wall time of its batches, from the plan to the commit."""


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """Something of which nothing is known."""

    operator: str
    reason: str
    port: int | None = None
    """Of an output port; None for the operator as a whole."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What was measured on a run of one application."""

    application: str
    seconds: float
    """How long it was measured."""
    streams: tuple[StreamProfile, ...] = ()
    operators: tuple[OperatorProfile, ...] = ()
    """Empty in a profile of streams only."""
    transport: Transport | None = None
    pes: tuple[PeProfile, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
    fingerprint: str = ""
    """Of the deployed application; empty when the profile does not say."""
    measured_at: float | None = None
    """Unix seconds of the end."""
    processors: int | None = None
    """Of the machine that it ran on."""
    surroundings_seconds: float | None = None
    """Processor time of the hosts besides the tasks of their PEs: Spark, planning, commits; None when not measured."""
    location: str = field(default="", compare=False)

    def utilisation(self, pe: PeProfile) -> float:
        """Processors that a PE kept busy (rule Q14)."""
        return pe.cpu_seconds / self.seconds


def combined(profiles: tuple[Profile, ...]) -> Profile:
    """One profile of several: of every rate and load the largest, so that each of them is provided for.

    Amounts are those of one second. What only some of them measured counts as they measured it; what none measured is
    unmeasured. The dearest of the transports is taken.

    Raises:
        ValueError: there is none, or they are of different applications.
    """
    if len({each.application for each in profiles}) != 1:
        names = list(dict.fromkeys(each.application for each in profiles))
        message = f"profiles of one application are combined, these are of {', '.join(names) or 'none'}"
        raise ValueError(message)
    if len(profiles) == 1:
        return profiles[0]
    streams: dict[tuple[str, int], StreamProfile] = {}
    operators: dict[str, OperatorProfile] = {}
    pes: dict[int, PeProfile] = {}
    for profile in profiles:
        part = 1 / profile.seconds
        for each in profile.streams:
            known = streams.get((each.operator, each.port))
            size = _most(None if each.bytes is None else each.bytes * part, known and known.bytes)
            tuples = max(each.tuples * part, known.tuples if known else 0.0)
            streams[each.operator, each.port] = StreamProfile(each.operator, tuples, each.port, size, each.location)
        for each in profile.operators:
            known = operators.get(each.operator)
            before = known.inputs if known else ()
            count = max(len(before), len(each.inputs))
            inputs = tuple(max(_at(before, port), _at(each.inputs, port) * part) for port in range(count))
            cpu = max(each.cpu_seconds * part, known.cpu_seconds if known else 0.0)
            operators[each.operator] = OperatorProfile(each.operator, cpu, inputs, each.location)
        for each in profile.pes:
            known = pes.get(each.pe)
            figures = (each.cpu_seconds, each.overhead_seconds, each.busy_seconds)
            others = (known.cpu_seconds, known.overhead_seconds, known.busy_seconds) if known else (0.0, 0.0, 0.0)
            pes[each.pe] = PeProfile(each.pe, *(max(a * part, b) for a, b in zip(figures, others, strict=True)))
    prints = {each.fingerprint for each in profiles}
    return Profile(
        profiles[0].application,
        1.0,
        tuple(streams.values()),
        tuple(operators.values()),
        _dearest(profiles),
        tuple(pes[pe] for pe in sorted(pes)) if len(prints) == 1 else (),
        _unmeasured(profiles, streams, operators),
        prints.pop() if len(prints) == 1 else "",
        max((each.measured_at for each in profiles if each.measured_at is not None), default=None),
        min((each.processors for each in profiles if each.processors is not None), default=None),
        max((x.surroundings_seconds / x.seconds for x in profiles if x.surroundings_seconds is not None), default=None),
        profiles[0].location,
    )


def _most(first: float | None, second: float | None) -> float | None:
    known = [each for each in (first, second) if each is not None]
    return max(known, default=None)


def _at(amounts: tuple[float, ...], port: int) -> float:
    return amounts[port] if port < len(amounts) else 0.0


def _dearest(profiles: tuple[Profile, ...]) -> Transport | None:
    """Of the measured ones the one that asks most for a tuple of 100 bytes; calibrated ones where there is no other."""
    known = [each.transport for each in profiles if each.transport is not None]
    order = {"calibrated": 0, "scaled": 1, "measured": 2}
    return max(
        known, key=lambda each: (order[each.basis], each.send.of(1, 100) + each.receive.of(1, 100)), default=None
    )


def _unmeasured(
    profiles: tuple[Profile, ...],
    streams: dict[tuple[str, int], StreamProfile],
    operators: dict[str, OperatorProfile],
) -> tuple[Unmeasured, ...]:
    """What every profile that speaks of it lacks."""
    by_place: dict[tuple[str, int | None], Unmeasured] = {}
    for each in (each for profile in profiles for each in profile.unmeasured):
        known = each.operator in operators if each.port is None else (each.operator, each.port) in streams
        if not known:
            by_place.setdefault((each.operator, each.port), each)
    return tuple(by_place.values())
