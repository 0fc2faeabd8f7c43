"""What is wrong with a table of a lake, or with what is to read or write it."""

from __future__ import annotations

import importlib.util


class LakeError(ValueError):
    """A table cannot be written or read; says which, why, and what to do, without secrets and tuples."""


def require(module: str, extra: str, operator: str) -> None:
    """See that the library of a connector is installed; nothing is imported.

    Raises:
        LakeError: it is not; names the extra to install.
    """
    if importlib.util.find_spec(module) is None:
        message = (
            f"{operator} needs the Python package {module}, which is not installed here: "
            f"pip install 'streams-orchestration[{extra}]'"
        )
        raise LakeError(message)
