"""The directories from which a process imports a spec's operators. Small, since a host needs it before its engine."""

from __future__ import annotations

import sys


def import_from(directory: str) -> None:
    """Add a directory to the end of this process's module search path."""
    if directory and directory not in sys.path:
        sys.path.append(directory)
