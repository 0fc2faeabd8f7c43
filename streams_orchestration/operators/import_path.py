"""The directories in which a process finds the operators of a spec. Small, since a host needs it before its engine."""

from __future__ import annotations

import sys


def import_from(directory: str) -> None:
    """Add a directory to this process's module search path, behind all others."""
    if directory and directory not in sys.path:
        sys.path.append(directory)
