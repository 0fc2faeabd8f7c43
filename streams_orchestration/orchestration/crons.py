"""Default times of schedules, spread over the applications so that not all of them begin in one minute.

>>> nightly("flights"), hourly("flights"), quarterly("flights")
('18 3 * * *', '18 * * * *', '3-59/15 * * * *')
"""

from __future__ import annotations

from zlib import crc32


def nightly(application: str) -> str:
    """Return the cron expression of a time between three and four at night."""
    return f"{_minute(application)} 3 * * *"


def hourly(application: str) -> str:
    """Return the cron expression of a minute of every hour."""
    return f"{_minute(application)} * * * *"


def quarterly(application: str) -> str:
    """Return the cron expression of a minute of every quarter of an hour."""
    return f"{_minute(application) % 15}-59/15 * * * *"


def _minute(application: str) -> int:
    return crc32(application.encode()) % 60
