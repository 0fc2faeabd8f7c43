"""The log of one PE: a file that the host, the planner and the operators in all workers write to."""

from __future__ import annotations

import logging
import weakref
from pathlib import Path


def pe_logger(path: str) -> logging.Logger:
    """The log of one PE, on the side of the host and of its planner."""
    return _writing(logging.getLogger(f"streams.host.{Path(path).stem}"), path)


class OperatorLogger(logging.Logger):
    """Writes to the log of a PE.

    It is not in the registry of `logging`, which keeps its loggers for ever: the file is closed when no operator has
    the logger any more. A process that tries many applications would run out of files otherwise.
    """

    def getChild(self, suffix: str) -> OperatorLogger:  # noqa: N802  the name is that of `logging`
        """A logger that writes to the same file."""
        child = OperatorLogger(f"{self.name}.{suffix}")
        child.parent = self
        return child


_OPEN: weakref.WeakValueDictionary[str, OperatorLogger] = weakref.WeakValueDictionary()
"""The logs of PEs that operators of this process have, by path."""


def operator_logger(name: str, path: str) -> OperatorLogger:
    """A logger that writes to the PE's log, whatever process the operator runs in."""
    log = _OPEN.get(path)
    if log is None:
        log = _OPEN[path] = OperatorLogger("streams.task")
        _writing(log, path)
        for handler in log.handlers:
            weakref.finalize(log, handler.close)
    return log.getChild(name)


def _writing(logger: logging.Logger, path: str) -> logging.Logger:
    if not logger.handlers:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(path)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    return logger
