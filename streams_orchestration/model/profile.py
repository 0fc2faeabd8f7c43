"""A measured profile of an application: how many tuples its streams carried over a stated time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamProfile:
    """What left one output port."""

    operator: str
    """Name of a replica, `Out[0].A`, or logical name, `Out.A`: then of all replicas together."""
    tuples: float
    """Over the whole of the measured time."""
    port: int = 0
    location: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """What was measured on a run of one application."""

    application: str
    seconds: float
    """How long it was measured."""
    streams: tuple[StreamProfile, ...] = ()
    location: str = ""
