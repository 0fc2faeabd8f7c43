"""Reading a profile: from a file or a mapping, with all its errors at once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from streams_orchestration.model.element import Element, refuse
from streams_orchestration.model.profile import (
    Basis,
    OperatorProfile,
    PassageCost,
    PeProfile,
    Profile,
    StreamProfile,
    Transport,
    Unmeasured,
)
from streams_orchestration.model.reading import read_mapping, validated
from streams_orchestration.model.values import show

_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Port = Annotated[int, Field(ge=0)]


class _Stream(Element):
    operator: str
    port: _Port = 0
    tuples: _Amount
    bytes: _Amount | None = None


class _Operator(Element):
    operator: str
    cpu_seconds: _Amount
    inputs: tuple[_Amount, ...] = ()


class _Cost(Element):
    seconds_per_tuple: _Amount
    seconds_per_byte: _Amount = 0.0


class _Transport(Element):
    basis: Basis
    streams: Annotated[int, Field(ge=0)] = 0
    send: _Cost
    receive: _Cost


class _Pe(Element):
    pe: Annotated[int, Field(ge=0)]
    cpu_seconds: _Amount
    overhead_seconds: _Amount = 0.0
    busy_seconds: _Amount = 0.0


class _Unmeasured(Element):
    operator: str
    port: _Port | None = None
    reason: str = ""


class _Document(Element):
    profile_version: Literal[1]
    application: str
    fingerprint: str = ""
    measured_at: str = ""
    processors: Annotated[int, Field(ge=1)] | None = None
    surroundings_seconds: _Amount | None = None
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    streams: tuple[_Stream, ...] = ()
    operators: tuple[_Operator, ...] = ()
    transport: _Transport | None = None
    pes: tuple[_Pe, ...] = ()
    unmeasured: tuple[_Unmeasured, ...] = ()

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        seen: set[tuple[str, int | None]] = set()
        for stream in self.streams:
            if (stream.operator, stream.port) in seen:
                refuse("SO0209", f"the profile lists output port {stream.port} of {stream.operator} twice")
            seen.add((stream.operator, stream.port))
        for operator in self.operators:
            if (operator.operator, None) in seen:
                refuse("SO0209", f"the profile lists the operator {operator.operator} twice")
            seen.add((operator.operator, None))
        return self

    @model_validator(mode="after")
    def _a_time(self) -> Self:
        if self.measured_at:
            try:
                datetime.fromisoformat(self.measured_at)
            except ValueError:
                refuse("SO0009", f"measuredAt is a time, 2026-01-31T12:00:00+00:00, not {show(self.measured_at)}")
        return self


def read_profile(path: Path) -> Profile:
    """Read a profile from a file in YAML or JSON.

    Raises:
        ApplicationError: the file cannot be read, or is not a profile; every finding has its line.
    """
    return profile_from_mapping(read_mapping(path, "a profile"))


def profile_from_mapping(tree: Mapping[str, Any]) -> Profile:
    """Read a profile from a mapping; a `measuredAt` without a time zone is in the machine's local time.

    Raises:
        ApplicationError: the mapping is not a profile.
    """
    document = validated(_Document, tree)
    measured = datetime.fromisoformat(document.measured_at).timestamp() if document.measured_at else None
    return Profile(
        application=document.application,
        seconds=document.seconds,
        streams=tuple(StreamProfile(x.operator, x.tuples, x.port, x.bytes, _place(x)) for x in document.streams),
        operators=tuple(OperatorProfile(x.operator, x.cpu_seconds, x.inputs, _place(x)) for x in document.operators),
        transport=_transport(document.transport),
        pes=tuple(PeProfile(x.pe, x.cpu_seconds, x.overhead_seconds, x.busy_seconds) for x in document.pes),
        unmeasured=tuple(Unmeasured(x.operator, x.reason, x.port) for x in document.unmeasured),
        fingerprint=document.fingerprint,
        measured_at=measured,
        processors=document.processors,
        surroundings_seconds=document.surroundings_seconds,
        location=_place(document),
    )


def _place(element: Element) -> str:
    return str(element.location() or "")


def _transport(document: _Transport | None) -> Transport | None:
    if document is None:
        return None
    send, receive = (PassageCost(x.seconds_per_tuple, x.seconds_per_byte) for x in (document.send, document.receive))
    return Transport(document.basis, send, receive, document.streams)


def mapping_of(profile: Profile) -> dict[str, Any]:
    """Return a profile as a mapping, the inverse of `profile_from_mapping`. Unknown figures are left out.

    Its time is cut to whole milliseconds.
    """
    document: dict[str, Any] = {"profileVersion": 1, "application": profile.application}
    if profile.fingerprint:
        document["fingerprint"] = profile.fingerprint
    if profile.measured_at is not None:
        document["measuredAt"] = datetime.fromtimestamp(profile.measured_at, UTC).isoformat(timespec="milliseconds")
    if profile.processors is not None:
        document["processors"] = profile.processors
    document["seconds"] = profile.seconds
    if profile.surroundings_seconds is not None:
        document["surroundingsSeconds"] = profile.surroundings_seconds
    document["streams"] = [
        {"operator": x.operator, "port": x.port, "tuples": x.tuples} | ({} if x.bytes is None else {"bytes": x.bytes})
        for x in profile.streams
    ]
    if profile.operators:
        document["operators"] = [
            {"operator": x.operator, "cpuSeconds": x.cpu_seconds} | ({"inputs": list(x.inputs)} if x.inputs else {})
            for x in profile.operators
        ]
    if profile.transport is not None:
        costs = {
            name: {"secondsPerTuple": cost.per_tuple, "secondsPerByte": cost.per_byte}
            for name, cost in (("send", profile.transport.send), ("receive", profile.transport.receive))
        }
        document["transport"] = {"basis": profile.transport.basis, "streams": profile.transport.streams, **costs}
    if profile.pes:
        document["pes"] = [
            {
                "pe": x.pe,
                "cpuSeconds": x.cpu_seconds,
                "overheadSeconds": x.overhead_seconds,
                "busySeconds": x.busy_seconds,
            }
            for x in profile.pes
        ]
    if profile.unmeasured:
        document["unmeasured"] = [
            {"operator": x.operator, **({} if x.port is None else {"port": x.port}), "reason": x.reason}
            for x in profile.unmeasured
        ]
    return document
