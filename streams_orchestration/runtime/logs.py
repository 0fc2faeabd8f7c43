"""Logs of hosts and PEs: the host, the planner and the operators in all workers write to the one of a PE."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from streams_orchestration import world
from streams_orchestration.model.secrets import masked
from streams_orchestration.runtime.log_rotation import LOG_BYTES, open_log, rotate

TAIL_BYTES = 256 * 1024
"""Most bytes that are read of the end of a log."""
_NAME = re.compile(r"(host|pe)-\d+")
"""Matches the name of a log, which is that of its file without the suffix."""
_AGAIN_SECONDS = 5.0
"""Seconds until a log is tried again that could not be rotated."""


def pe_logger(path: str, limit: int = LOG_BYTES) -> logging.Logger:
    """Return the log of one PE, on the side of the host and of its planner; arguments as of `operator_logger`."""
    return _writing(logging.getLogger(f"streams.host.{Path(path).stem}"), path, limit)


class OperatorLogger(logging.Logger):
    """Writes to the log of a PE.

    It is not in the registry of `logging`, which keeps its loggers for ever: the file is closed when no operator has
    the logger any more. A process that tries many applications would run out of files otherwise.
    """

    def getChild(self, suffix: str) -> OperatorLogger:  # noqa: N802  the name is that of `logging`
        """Return a logger that writes to the same file."""
        child = OperatorLogger(f"{self.name}.{suffix}")
        child.parent = self
        return child


_OPEN: weakref.WeakValueDictionary[str, OperatorLogger] = weakref.WeakValueDictionary()
"""The logs of PEs that operators of this process have, by path."""


def operator_logger(name: str, path: str, limit: int = LOG_BYTES) -> OperatorLogger:
    """Return a logger that writes to the PE's log, whatever process the operator runs in.

    Args:
        name: of the operator.
        path: of the log.
        limit: size in bytes at which it is rotated; 0 for never.
    """
    log = _OPEN.get(path)
    if log is None:
        log = _OPEN[path] = OperatorLogger("streams.task")
        _writing(log, path, limit)
        for handler in log.handlers:
            weakref.finalize(log, handler.close)
    return log.getChild(name)


def _writing(logger: logging.Logger, path: str, limit: int) -> logging.Logger:
    if not logger.handlers:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        handler = _PeHandler(path, limit)
        handler.setFormatter(_MaskedFormatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    return logger


class _MaskedFormatter(logging.Formatter):
    """Hides secrets, also in processes of Spark's that do not do so by themselves."""

    def format(self, record: logging.LogRecord) -> str:
        return masked(super().format(record))


class _PeHandler(logging.FileHandler):
    """Appends to the log of a PE and rotates it: a PE's workers may be on machines without any of its hosts."""

    def __init__(self, path: str, limit: int) -> None:
        super().__init__(path, encoding="utf-8", errors="backslashreplace")
        self._path = Path(path)
        self._limit = limit
        self._next = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        super().emit(record)
        with contextlib.suppress(OSError):  # a disk that is full; the log goes on as it is
            longer = self._limit and self.stream and os.fstat(self.stream.fileno()).st_size > self._limit
            if longer and world.monotonic() >= self._next:
                self._next = world.monotonic() + _AGAIN_SECONDS
                if rotate(self._path, self._limit):
                    self._next = 0.0


@dataclass(frozen=True, slots=True)
class LogEnd:
    """The last lines of a log, or those after a position."""

    name: str
    """Name of the log, such as `pe-3`."""
    path: str
    lines: list[str]
    position: int
    """Position in the log behind the last line; see `log_rotation`."""


def log_names(directory: Path) -> list[str]:
    """Return the names of the logs in a directory, hosts first, by number."""
    names = [path.stem for path in directory.glob("*.log")]
    return sorted(names, key=lambda name: (name.partition("-")[0], len(name), name))


def read_ends(
    directory: Path, names: Iterable[str], lines: int, after: Mapping[str, int], *, most: int = TAIL_BYTES
) -> list[LogEnd]:
    """Read the ends of logs that are there.

    Args:
        directory: of the logs.
        names: of the logs; others than those of hosts and PEs are left out.
        lines: most lines of each.
        after: position after which all lines count, for logs that were read before.
        most: most bytes of each; of more only the end is read.
    """
    there = [(name, directory / f"{name}.log") for name in names if _NAME.fullmatch(name)]
    return [
        LogEnd(name, str(path), *read_end(path, lines, after.get(name), most=most))
        for name, path in there
        if path.is_file()
    ]


def read_end(path: Path, lines: int, after: int | None = None, *, most: int = TAIL_BYTES) -> tuple[list[str], int]:
    """Read the whole lines at the end of a log that may be long, grows and is rotated; none of one that is not there.

    Args:
        path: of the log.
        lines: most lines, unless `after` says from where on.
        after: the position of an earlier call. A log that is shorter was replaced, and its file is read from the start.
        most: most bytes that are read.

    Returns:
        The lines, and the position behind them.
    """
    try:
        with open_log(path) as log:
            first = 0 if after is None else log.base if after > log.end else after
            start = max(first, log.begin, log.end - most)
            data = log.read(start, most)
    except OSError:
        return [], 0
    end = data.rfind(b"\n") + 1 or (len(data) if len(data) == most else 0)
    whole = data[:end].removesuffix(b"\n").split(b"\n") if end else []
    if start > first and len(whole) > 1:
        del whole[0]
    text = [line.decode("utf-8", "replace") for line in whole]
    return text[max(0, len(text) - lines) :] if after is None else text, start + end
