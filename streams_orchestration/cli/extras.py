"""Commands that need an extra of the package."""

from __future__ import annotations

import importlib.util

from streams_orchestration.runtime.errors import MissingExtraError


def require(what: str, module: str, package: str, extra: str) -> None:
    """See that a package is installed; nothing is imported.

    Args:
        what: needs it, such as `streams top`.
        module: that it brings, a top-level one.
        package: its name in the registry.
        extra: of this product that it comes with.

    Raises:
        MissingExtraError: it is not installed.
    """
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(what, package, extra)
