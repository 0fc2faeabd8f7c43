"""The runtime services of SPL programs, which an operator provides: clock, random numbers, printing, environment."""

from __future__ import annotations

import os
import random
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from streams_orchestration.spl.programs.open_files import OpenFiles


class PortLinks(Protocol):
    """The Imports and Exports at the ports of an operator, each by the number of its port.

    The methods that change them return 0, 1 for a port without such an Import or Export, or 2 for a wrong value.
    """

    def subscription(self, port: int) -> str | None:
        """Return the subscription of an Import; None for an Import of a named stream, and a port without an Import."""
        ...

    def subscribe(self, port: int, subscription: str) -> int:
        """Change the subscription of an Import, and remove its filter."""
        ...

    def filter(self, port: int) -> str | None:
        """Return the filter of an Import, empty if there is none; None for a port without an Import."""
        ...

    def filter_by(self, port: int, condition: str) -> int:
        """Change the filter of an Import; an empty text removes it."""
        ...

    def properties(self, port: int) -> dict[str, Any] | None:
        """Return the properties of an Export; None for a port without an Export."""
        ...

    def offer(self, port: int, properties: dict[str, Any]) -> int:
        """Change the properties of an Export."""
        ...


RandomNumbers = random.Random
"""A generator of random numbers, which draws the same numbers for an equal seed."""


def generator_of(operator: str) -> RandomNumbers:
    """Return the generator of an operator's random numbers, which other operators and channels do not share."""
    return RandomNumbers(operator)


@dataclass
class Run:
    """The runtime services of one operator's programs.

    Attributes:
        print: the function that receives each printed text.
        log: the function that receives the level and the text of each traced message.
        end_line: the function that prints an incomplete last line.
        constants: submission-time values by name.
        metrics: the metrics of the operator.
        files: the files that the programs have opened.
        links: the Imports and Exports at the operator's ports; None outside of a PE.
        documents: the JSON that the programs have parsed, by the index that they gave it.
        now: the clock, in nanoseconds since 1970.
    """

    operator: str = ""
    application: str = ""
    zone: str = "UTC"
    channel: int = -1
    max_channels: int = 0
    local_channel: int = -1
    local_max_channels: int = 0
    job: int = 0
    pe: int = 0
    relaunches: int = 0
    data_directory: str = ""
    application_directory: str = ""
    constants: dict[str, str] = field(default_factory=dict[str, str])
    metrics: dict[str, Any] = field(default_factory=dict[str, Any])
    print: Callable[[str], None] = lambda _text: None
    log: Callable[[str, str], None] = lambda _level, _text: None
    end_line: Callable[[], None] = lambda: None
    now: Callable[[], int] = time.time_ns
    sleep: Callable[[float], None] = time.sleep
    files: OpenFiles = field(default_factory=OpenFiles)
    links: PortLinks | None = None
    documents: dict[str, Any] = field(default_factory=dict[str, Any])
    generator: RandomNumbers = field(default_factory=lambda: generator_of(""))

    @property
    def logical(self) -> str:
        """The operator's name without the indexes of its channels, as in `Out.A` for `Out[0].A`."""
        return re.sub(r"\[\d+\]", "", self.operator)

    def random(self) -> float:
        """Return a random number of at least 0 and below 1."""
        return self.generator.random()

    def seed(self, value: int) -> None:
        """Seed the generator of the operator's random numbers."""
        self.generator.seed(value)

    def environment(self, name: str) -> str | None:
        """Return a variable of the environment, or None if it is not set."""
        return os.environ.get(name)

    def address(self) -> str:
        """Return the IP address of this machine, or 127.0.0.1 if its host name has no address."""
        try:
            return socket.gethostbyname(socket.gethostname())
        except OSError:
            return "127.0.0.1"

    def host_name(self) -> str:
        """Return the name of this machine."""
        return socket.gethostname()
