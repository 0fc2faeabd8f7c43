"""The server that an application reads from or writes to, and what may happen to it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from streams_orchestration_tests.servers.proxy import Proxy

MOST_BYTES = 60_000
"""After which connections are cut."""


@dataclass(frozen=True)
class Counterpart:
    """A server behind a proxy, which keeps what it has confirmed when it is killed."""

    proxy: Proxy
    kill: Callable[[], None]
    start: Callable[[], None]

    def crash(self, choose: random.Random) -> str:
        """Kill it, and start it again after a while."""
        seconds = choose.uniform(0, 8)
        self.kill()
        try:
            time.sleep(seconds)
        finally:
            self.start()
        return f"for {seconds:.1f} s"

    def cut(self, choose: random.Random) -> str:
        """Close all connections after so many bytes of its answers, and have none for a while."""
        after, seconds = int(choose.uniform(0, 1) ** 3 * MOST_BYTES), choose.uniform(0.5, 6)
        self.proxy.cut(after)
        try:
            time.sleep(seconds)
        finally:
            self.proxy.open()
        return f"after {after} bytes, for {seconds:.1f} s"
