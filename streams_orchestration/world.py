"""The surroundings of a process: clocks, waiting, threads, random names and its number.

The operators and the runtime reach them by this module only, as `world.monotonic()`, so that a simulation can replace
them. In production they are those of the standard library. A name imported from here, or one kept as a default value,
would escape the simulation; a test refuses both.

>>> earlier = monotonic()
>>> sleep(0)
>>> monotonic() >= earlier
True
>>> len(new_id())
32
"""

from __future__ import annotations

import functools
import os
import random
import secrets
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

now = time.time
"""Return unix seconds by the clock of this machine, which may be set."""
now_ns = time.time_ns
"""Return unix nanoseconds by the clock of this machine."""
monotonic = time.monotonic
"""Return seconds of a clock that nobody sets, from an unknown beginning."""
monotonic_ns = time.monotonic_ns
"""Return nanoseconds of the clock that `monotonic` reads."""
sleep = time.sleep
"""Wait for this number of seconds."""

Thread = threading.Thread
Lock = threading.Lock
Condition = threading.Condition
Event = threading.Event
Local = threading.local
Pool = ThreadPoolExecutor
current_thread = threading.current_thread
thread_id = threading.get_ident

pid = os.getpid
"""Return the number of this process."""
load_average = os.getloadavg
"""Return the load of this machine over the last 1, 5 and 15 minutes."""
uniform = random.uniform
"""Return a random number between two bounds."""
randbelow = secrets.randbelow
"""Return a random whole number that is at least 0 and less than the argument."""


def boot_time() -> float:
    """Return seconds of a monotonic clock that goes on while the machine sleeps, if the system has one."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


@functools.cache
def boot() -> str:
    """Return an id of this machine's current start, which changes with each restart; empty if the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def new_id() -> str:
    """Return a random name of 32 hexadecimal digits."""
    return uuid.uuid4().hex


def utc() -> datetime:
    """Return the time of this machine's clock in UTC."""
    return datetime.fromtimestamp(now(), UTC)
