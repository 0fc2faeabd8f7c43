"""Commands that need an extra of the package."""

from __future__ import annotations

from streams_orchestration.operators.packages import missing_package
from streams_orchestration.runtime import api


def require(command: str, module: str, package: str, extra: str) -> None:
    """Check that a package is installed; see `missing_package`.

    Raises:
        StreamsRuntimeError: It is not installed.
    """
    if message := missing_package(command, module, extra, package):
        raise api.StreamsRuntimeError(message)
