"""Settings of an application's hosts, from the environment that deploys it; kept with the deployment."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.limits import SOURCE_LIMIT

LIMIT, MEMORY, METRICS = "STREAMS_SOURCE_LIMIT", "STREAMS_DRIVER_MEMORY", "STREAMS_METRICS"
COMPRESSION, HANG = "STREAMS_COMPRESSION", "STREAMS_HANG_LIMIT"


class SettingError(StreamsRuntimeError):
    """A variable of the environment has a value that cannot be used."""

    def __init__(self, name: str, value: str, wanted: str) -> None:
        super().__init__(f"{name}={value}: {wanted} is wanted. Correct the variable, or unset it.")


@dataclass(frozen=True, slots=True)
class Settings:
    """What every host of the application starts with, also after a reset."""

    source_limit: int = SOURCE_LIMIT
    """Most tuples that a source may produce in one batch (`STREAMS_SOURCE_LIMIT`)."""
    driver_memory: str = "1g"
    """Heap of a host's JVM (`STREAMS_DRIVER_MEMORY`)."""
    metrics: bool = True
    """Do tasks count and time (`STREAMS_METRICS`: on or off)."""
    compression: str = "none"
    """Of streams between PEs (`STREAMS_COMPRESSION`: none, lz4 or zstd)."""
    hang_limit: int = 15
    """Seconds without an answer of the JVM, or without progress of a task, until it is killed; 0: never
    (`STREAMS_HANG_LIMIT`)."""

    @classmethod
    def from_environment(cls) -> Settings:
        """The settings that the environment gives, the defaults for what it does not name.

        Raises:
            SettingError: a value cannot be used.
        """
        limit = _read(LIMIT, str(cls().source_limit), r"[1-9][0-9]{0,8}", "a whole number from 1")
        memory = _read(MEMORY, cls().driver_memory, r"[1-9][0-9]*[kmgtKMGT]", "a size such as 512m or 2g")
        metrics = _read(METRICS, "on", r"on|off", "on or off")
        compression = _read(COMPRESSION, cls().compression, r"none|lz4|zstd", "none, lz4 or zstd")
        hang = _read(HANG, str(cls().hang_limit), r"0|[1-9][0-9]{0,4}", "a whole number of seconds, 0 for none,")
        return cls(int(limit), memory, metrics == "on", compression, int(hang))


def _read(name: str, default: str, form: str, wanted: str) -> str:
    value = os.environ.get(name) or default
    if not re.fullmatch(form, value):
        raise SettingError(name, value, wanted)
    return value
