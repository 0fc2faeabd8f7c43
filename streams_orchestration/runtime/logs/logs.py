"""Logs of hosts and PEs. The host, the planner and the operators in all workers write to the log of their PE."""

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
from streams_orchestration.runtime.logs.log_rotation import LOG_BYTES, open_log, rotate_log

TAIL_BYTES = 256 * 1024
"""The most bytes that are read from the end of a log."""
_NAME = re.compile(r"(host|pe)-\d+")
"""Matches the name of a log, which is the name of its file without the suffix."""
OPERATORS = "streams.task"
"""The name of the logger of all operators of a PE; the name of an operator's own follows it."""
_AGAIN_SECONDS = 5.0
"""Seconds before the next try to rotate a log that could not be rotated."""


def open_pe_logger(path: str, limit: int = LOG_BYTES) -> logging.Logger:
    """Open the log of one PE for its host and its planner, and return its logger.

    A log of the same name that this process has open for another application is closed. `open_operator_logger`
    describes the arguments.

    Raises:
        OSError: the log or its directory cannot be created.
    """
    logger = logging.getLogger(f"streams.host.{Path(path).stem}")
    for handler in list(logger.handlers):
        # an earlier application in this process had this log
        if isinstance(handler, _PeHandler) and handler.path != Path(path):
            logger.removeHandler(handler)
            handler.close()
    return _open_log(logger, path, limit)


class OperatorLogger(logging.Logger):
    """A logger that writes to the log of a PE.

    It is not registered with `logging`, which keeps its loggers for ever. So the file is closed when no operator has
    the logger; otherwise a process that tries many applications would have too many open files.
    """

    def getChild(self, suffix: str) -> OperatorLogger:  # noqa: N802  `logging` gives it this name
        """Return a logger that writes to the same file."""
        child = OperatorLogger(f"{self.name}.{suffix}")
        child.parent = self
        return child


_OPEN: weakref.WeakValueDictionary[str, OperatorLogger] = weakref.WeakValueDictionary()
"""The loggers that operators of this process use, by the path of the log."""


def open_operator_logger(name: str, path: str, limit: int = LOG_BYTES) -> OperatorLogger:
    """Open a PE's log in the process in which an operator runs, and return a logger that writes to it.

    The directory of the log is created. `limit` is the size in bytes at which the log is rotated, and 0 for never. It
    has no effect on a log that is open.

    Raises:
        OSError: the log or its directory cannot be created.
    """
    log = _OPEN.get(path)
    if log is None:
        log = _OPEN[path] = OperatorLogger(OPERATORS)
        _open_log(log, path, limit)
        for handler in log.handlers:
            weakref.finalize(log, handler.close)
    return log.getChild(name)


def _open_log(logger: logging.Logger, path: str, limit: int) -> logging.Logger:
    if not logger.handlers:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        handler = _PeHandler(path, limit)
        handler.setFormatter(_MaskedFormatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    return logger


class _MaskedFormatter(logging.Formatter):
    """A formatter that hides secrets, also in processes of Spark's that do not do so by themselves.

    A record that is `printed` gets the word PRINT and the operator's name, by which `printed_lines` knows it.
    """

    def format(self, record: logging.LogRecord) -> str:
        if getattr(record, "printed", False):
            operator = record.name.removeprefix(f"{OPERATORS}.")
            return masked(f"{self.formatTime(record)} PRINT {operator}: {record.getMessage()}")
        return masked(super().format(record))


class _PeHandler(logging.FileHandler):
    """A handler that appends to the log of a PE and rotates it.

    It rotates the log itself, since a PE's workers may run on machines without any of its hosts.
    """

    def __init__(self, path: str, limit: int) -> None:
        super().__init__(path, encoding="utf-8", errors="backslashreplace")
        self.path = Path(path)
        self._limit = limit
        self._next = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, and rotate the log if it is too long. A record that cannot be written is lost.

        If the log cannot be rotated, that is tried again with a record after `_AGAIN_SECONDS`.
        """
        # the log's directory is gone, or a disk is full; later records are written again
        with contextlib.suppress(OSError):
            super().emit(record)
            longer = self._limit and self.stream and os.fstat(self.stream.fileno()).st_size > self._limit
            if longer and world.monotonic() >= self._next:
                self._next = world.monotonic() + _AGAIN_SECONDS
                if rotate_log(self.path, self._limit):
                    self._next = 0.0


@dataclass(frozen=True, slots=True)
class LogEnd:
    """The last lines of a log, or those after a position."""

    name: str
    """Name of the log, such as `pe-3`."""
    path: str
    lines: list[str]
    position: int
    """The position in the log after the last line; see `log_rotation`."""


def list_logs(directory: Path) -> list[str]:
    """Return the names of the logs in a directory, hosts first, by number; none if there is no such directory."""
    names = [path.stem for path in directory.glob("*.log")]
    return sorted(names, key=lambda name: (name.partition("-")[0], len(name), name))


def read_log_ends(
    directory: Path, names: Iterable[str], lines: int, after: Mapping[str, int], *, most: int = TAIL_BYTES
) -> list[LogEnd]:
    """Return the ends of those logs that exist.

    Args:
        directory: the directory of the logs.
        names: the names of the logs; names that are not of hosts or PEs are ignored.
        lines: the most lines of each log.
        after: the name of a log that was read before -> the position after which its lines are returned, in place of
            the last `lines`.
        most: the most bytes that are read from the end of each log, also after a position.
    """
    there = [(name, directory / f"{name}.log") for name in names if _NAME.fullmatch(name)]
    return [
        LogEnd(name, str(path), *read_log_end(path, lines, after.get(name), most=most))
        for name, path in there
        if path.is_file()
    ]


def read_log_end(path: Path, lines: int, after: int | None = None, *, most: int = TAIL_BYTES) -> tuple[list[str], int]:
    """Return the whole lines at the end of a log; none, and position 0, if the log does not exist or cannot be read.

    The log may be long, grow, and be rotated meanwhile.

    Args:
        path: the path of the log.
        lines: the most lines, if `after` is None.
        after: the position that an earlier call returned. If the log is shorter, it was replaced, and is read from its
            start.
        most: the most bytes that are read, from the end. Of a longer line, only a part is returned.

    Returns:
        The lines, and the position after them.
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
