"""Python packages that optional extras of the product install. Nothing here imports them."""

from __future__ import annotations

import importlib.util


def missing_package(user: str, module: str, extra: str, package: str | None) -> str | None:
    """Return a message with the remedy if a package is not installed, else None.

    Args:
        user: The operator, command or client that needs the package, as the message names it.
        module: A module of the package.
        extra: The extra of the product that installs the package.
        package: The package's name in the registry, by default the module's.
    """
    try:
        found = importlib.util.find_spec(module)
    except ImportError:  # the package that would hold the module is missing
        found = None
    if found is not None:
        return None
    return (
        f"{user} needs the Python package {package or module}, which is not installed here: "
        f"pip install 'streams-orchestration[{extra}]'"
    )


def require_package(operator: str, module: str, extra: str, package: str | None = None) -> None:
    """Check that a package is installed; see `missing_package`.

    Raises:
        ValueError: It is not installed.
    """
    if message := missing_package(operator, module, extra, package):
        raise ValueError(message)
