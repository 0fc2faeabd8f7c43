"""Decides which event of OpenLineage is due, from what the catalog says of an application; pure.

An application that runs from its start to its end has one run: START, RUNNING now and then, and COMPLETE, ABORT or
FAIL. A run that has ended is never gone on with: an application that runs again, also after a forced reset, gets a
new one.

>>> started = Moment("RUNNING", 10.0, None, (), {"region-0": 0}, at=11.0)
>>> due(None, started, None), due(Sent("START", 10.0), started, None)
('BEGIN', None)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

EventName = Literal["START", "RUNNING", "COMPLETE", "ABORT", "FAIL"]
Step = EventName | Literal["BEGIN"]
"""An event to send; BEGIN: a run is to be begun first."""
ENDS = ("COMPLETE", "ABORT", "FAIL")
RUNNING_SECONDS = 60.0
"""The least seconds between two RUNNING events of which the later one only tells of new cuts."""


class Sent(NamedTuple):
    """The run that was begun last, and its last event; empty before the first one."""

    event: EventName | Literal[""]
    started_at: float


@dataclass(frozen=True, slots=True)
class Moment:
    """An application at one moment."""

    state: Literal["RUNNING", "ENDING", "COMPLETE", "ABORT"]
    """ENDING: it is not wanted any more, and its hosts have not ended."""
    started_at: float
    failure: str | None
    """Why a unit is not reset any more, in words; None while all run or are reset."""
    condition: tuple[object, ...]
    """A RUNNING event is due at once if this has changed."""
    epochs: Mapping[str, int]
    """Unit -> its last complete epoch."""
    at: float


def due(sent: Sent | None, moment: Moment, told: Moment | None) -> Step | None:
    """Return the next step; None if nothing is to be told now.

    Args:
        sent: the run that was begun last; None if there is none.
        moment: the application now.
        told: the application when this process sent the last event of the run; None if it has sent none.
    """
    over = sent is None or sent.event in ENDS
    if sent is not None and sent.started_at != moment.started_at and not over:
        return "ABORT"  # its end could not be sent
    if over or sent is None:
        fresh = sent is None or sent.started_at != moment.started_at
        runs = moment.state == "RUNNING" and moment.failure is None
        return "BEGIN" if runs or (fresh and moment.state != "ENDING") else None
    if sent.event == "":
        return "START"
    if moment.state in ("COMPLETE", "ABORT"):
        return moment.state
    if moment.failure is not None:
        return "FAIL"
    if moment.state == "ENDING":
        return None
    return "RUNNING" if _has_news(sent, moment, told) else None


def _has_news(sent: Sent, moment: Moment, told: Moment | None) -> bool:
    if told is None:
        return sent.event == "RUNNING" or any(moment.epochs.values())
    if moment.condition != told.condition:
        return True
    waited = sent.event == "START" or moment.at - told.at >= RUNNING_SECONDS
    return waited and moment.epochs != told.epochs
