"""Where a process looks for the operators of a spec. The module is small, since a host needs it before its engine."""

from __future__ import annotations

import sys


def import_from(directory: str) -> None:
    """Have this process look for modules in a directory, too, behind all others."""
    if directory and directory not in sys.path:
        sys.path.append(directory)
