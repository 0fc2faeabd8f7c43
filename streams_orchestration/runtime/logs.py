"""The log of one PE: a file that the host, the planner and the operators in all workers write to."""

from __future__ import annotations

import logging
from pathlib import Path


def pe_logger(path: str) -> logging.Logger:
    """The log of one PE, on the side of the host and of its planner."""
    return _writing(logging.getLogger(f"streams.host.{Path(path).stem}"), path)


def operator_logger(name: str, path: str) -> logging.Logger:
    """A logger that writes to the PE's log, whatever process the operator runs in."""
    root = _writing(logging.getLogger(f"streams.task.{path.replace('.', '_')}"), path)
    root.propagate = False
    return root.getChild(name.replace(".", "_"))


def _writing(logger: logging.Logger, path: str) -> logging.Logger:
    if not logger.handlers:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(path)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    return logger
