"""The clock that all processes of a catalog share: that of its database.

Times that one process writes and another one compares, such as heartbeats, leases and deadlines, are of this clock, so
machines whose clocks differ agree on them. With a catalog in a file it is the clock of the machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration import world

FRESH_SECONDS = 30.0
"""A reading of the database's clock is used for so long."""
SLOW_SECONDS = 0.5
"""A reading that took longer than this does not replace a better one."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The database's clock, as it was read once."""

    at: float
    """The moment of the reading, by a clock of this machine that nobody sets."""
    offset: float
    """Seconds from that clock to the database's, within half of `seconds`."""
    seconds: float
    """Seconds that the reading took."""


_reading: Reading | None = None


def now() -> float:
    """Unix seconds by the database's clock; by this machine's before the database was ever reached."""
    return world.now() if _reading is None else world.boot_time() + _reading.offset


def shared(local: float) -> float:
    """Return a time of this machine's clock, in unix seconds, by the database's clock."""
    return local - world.now() + now()


def is_stale() -> bool:
    """Return True if the database's clock should be read again."""
    return _reading is None or world.boot_time() - _reading.at > FRESH_SECONDS


def started() -> float:
    """Return the moment before the database's clock is read; for `read`."""
    return world.boot_time()


def read(value: float, began: float) -> None:
    """Go by the database's clock from now on.

    Args:
        value: what it showed, in unix seconds.
        began: what `started` gave before it was asked.
    """
    global _reading  # noqa: PLW0603  there is one catalog in a process
    at = world.boot_time()
    seconds = at - began
    if _reading is not None and seconds > max(SLOW_SECONDS, _reading.seconds):
        _reading = Reading(at, _reading.offset, _reading.seconds)
    else:
        _reading = Reading(at, value - (began + at) / 2, seconds)


def forget() -> None:
    """Go by the clock of this machine again."""
    global _reading  # noqa: PLW0603  see `read`
    _reading = None
