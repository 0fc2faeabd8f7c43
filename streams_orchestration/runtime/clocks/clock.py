"""The clock of the catalog's database, which all its processes share.

Times that one process writes and another one compares, such as heartbeats, leases and deadlines, are of this clock, so
machines whose clocks differ agree on them. With a catalog in a file it is the clock of the machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration import world

READING_MAX_AGE_SECONDS = 30.0
"""Seconds for which a reading of the database's clock is used."""
SLOW_READING_SECONDS = 0.5
"""A reading that took more seconds than this does not replace a faster one."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of the database's clock."""

    at: float
    """The time of the reading by this machine's monotonic clock, in seconds."""
    offset: float
    """Seconds to add to the monotonic clock to get the database's clock, exact to half of `seconds`."""
    seconds: float
    """Seconds that the reading took."""


last_reading: Reading | None = None


def now() -> float:
    """Return the unix seconds of the database's clock; of this machine's clock until the first reading."""
    return world.now() if last_reading is None else world.boot_time() + last_reading.offset


def shared(local: float) -> float:
    """Convert a time of this machine's clock, in unix seconds, to the database's clock."""
    return local - world.now() + now()


def is_stale() -> bool:
    """Return True if the database's clock should be read: there is no reading, or the last one is old or was slow."""
    if last_reading is None or last_reading.seconds > SLOW_READING_SECONDS:
        return True
    return world.boot_time() - last_reading.at > READING_MAX_AGE_SECONDS


def is_sure() -> bool:
    """Return True if the shared time is known to half of `SLOW_READING_SECONDS`, or is this machine's clock."""
    return last_reading is None or not is_stale()


def read(value: float, began: float) -> None:
    """Use a reading of the database's clock from now on.

    A slow reading does not replace a faster one that agrees with it, but makes that one count as just read. If the
    database's clock was set meanwhile, they disagree.

    Args:
        value: the time that the database's clock showed, in unix seconds.
        began: what `world.boot_time` returned before the database was asked.
    """
    global last_reading  # noqa: PLW0603  there is one catalog in a process
    at = world.boot_time()
    seconds = at - began
    new = Reading(at, value - (began + at) / 2, seconds)
    if (
        last_reading is not None
        and seconds > max(SLOW_READING_SECONDS, last_reading.seconds)
        and abs(new.offset - last_reading.offset) <= (seconds + last_reading.seconds) / 2
    ):
        new = Reading(at, last_reading.offset, last_reading.seconds)
    last_reading = new


def forget_reading() -> None:
    """Use the clock of this machine again, until the next reading."""
    global last_reading  # noqa: PLW0603  see `read`
    last_reading = None
