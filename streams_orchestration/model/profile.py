"""Profiles: the measured costs of an application's operators and streams over a known time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Basis = Literal["measured", "scaled", "calibrated"]
"""The origin of the costs of sending: `measured` costs are fitted to streams of several tuple sizes; `scaled` costs are
a calibration of the machine, scaled to streams of one size; `calibrated` costs are the calibration alone, since no
stream crossed PEs."""


@dataclass(frozen=True, slots=True)
class StreamProfile:
    """The tuples that one output port sent."""

    operator: str
    """A replica's name (`Out[0].A`), or a logical name (`Out.A`) for the total of all replicas."""
    tuples: float
    """The number of tuples over the whole measured time."""
    port: int = 0
    bytes: float | None = None
    """The size of these tuples in memory, in total; None if not measured."""
    location: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class OperatorProfile:
    """The processor time and input of one operator."""

    operator: str
    """A replica's name, or a logical name for the total of all replicas."""
    cpu_seconds: float
    """The operator's own processor time, without downstream operators, sending and receiving."""
    inputs: tuple[float, ...] = ()
    """The number of tuples that arrived at each input port; empty if not measured."""
    location: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class PassageCost:
    """The processor seconds of passing a stream between PEs, per tuple and per byte, on one of its sides (rule Q15)."""

    per_tuple: float
    per_byte: float

    def of(self, tuples: float, bytes: float) -> float:
        """Return the processor seconds of passing this many tuples with this many bytes in total."""
        return self.per_tuple * tuples + self.per_byte * bytes


@dataclass(frozen=True, slots=True)
class Transport:
    """The costs of streams between PEs. Bytes are the size of tuples in memory."""

    basis: Basis
    send: PassageCost
    """The cost of writing a stream, paid once for any number of reading PEs."""
    receive: PassageCost
    """The cost of reading a stream, paid in each reading PE."""
    streams: int = 0
    """The number of measured streams to which the costs were fitted."""


@dataclass(frozen=True, slots=True)
class PeProfile:
    """The total work of one PE."""

    pe: int
    cpu_seconds: float
    """The processor time of the PE's tasks: operators, streams and overhead."""
    overhead_seconds: float
    """The part of `cpu_seconds` that belongs to no operator and no stream; every PE has such an overhead."""
    busy_seconds: float
    """The wall-clock time of the PE's batches, from the plan to the commit."""


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """An operator or output port without a measurement, and the reason."""

    operator: str
    reason: str
    port: int | None = None
    """The output port; None for the operator as a whole."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The measurements of one run of an application."""

    application: str
    seconds: float
    """The length of the measurement in seconds."""
    streams: tuple[StreamProfile, ...] = ()
    operators: tuple[OperatorProfile, ...] = ()
    """The costs of operators; empty in a profile of streams only."""
    transport: Transport | None = None
    """The costs of streams between PEs; None in a profile of streams only."""
    pes: tuple[PeProfile, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
    fingerprint: str = ""
    """The fingerprint of the deployed application; empty if unknown."""
    measured_at: float | None = None
    """The end of the measurement, in Unix seconds; None if unknown."""
    processors: int | None = None
    """The number of processors of the machine; None if unknown."""
    surroundings_seconds: float | None = None
    """Processor time of the hosts outside of PE tasks (Spark, planning, commits); None if not measured."""
    location: str = field(default="", compare=False)

    def utilisation(self, pe: PeProfile) -> float:
        """Return the average number of processors that a PE kept busy (rule Q14)."""
        return pe.cpu_seconds / self.seconds


def combined(profiles: tuple[Profile, ...]) -> Profile:
    """Combine profiles into one with the largest of every rate and load, so that capacity suffices for all of them.

    A single profile is returned unchanged. Otherwise amounts are per second. A figure that only some profiles have is
    the largest of theirs; a figure that no profile has is unmeasured. The transport is the most expensive one of the
    best basis, and the number of processors the smallest. PEs are left out if the fingerprints differ.

    Raises:
        ValueError: there is no profile, or the profiles are of different applications.
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
    """Return the transport that costs most for a tuple of 100 bytes; measured transports precede calibrated ones.

    None if no profile has a transport.
    """
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
    """Return the entries of `unmeasured` for which no profile has a figure."""
    by_place: dict[tuple[str, int | None], Unmeasured] = {}
    for each in (each for profile in profiles for each in profile.unmeasured):
        known = each.operator in operators if each.port is None else (each.operator, each.port) in streams
        if not known:
            by_place.setdefault((each.operator, each.port), each)
    return tuple(by_place.values())
