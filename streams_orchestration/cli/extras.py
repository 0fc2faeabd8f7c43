"""The check for commands that need an extra of the package."""

from __future__ import annotations

from streams_orchestration.operators.loading.packages import missing_package
from streams_orchestration.runtime import api


def require(command: str, module: str, package: str, extra: str) -> None:
    """Check that the package of an extra, which a command needs, is installed.

    Raises:
        StreamsRuntimeError: the package is not installed; the message names the extra.
    """
    if message := missing_package(command, module, extra, package):
        raise api.StreamsRuntimeError(message)
