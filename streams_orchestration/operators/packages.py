"""Python packages that only some operators need, each in an extra of the product."""

from __future__ import annotations

import importlib.util


def require_package(operator: str, module: str, extra: str, package: str | None = None) -> None:
    """Check that a package is installed; nothing is imported.

    Args:
        operator: what needs it.
        module: the package's module.
        extra: of the product, with which it is installed.
        package: its name where packages are installed from; the module's when None.

    Raises:
        ValueError: it is not installed; names the extra.
    """
    if importlib.util.find_spec(module) is None:
        message = (
            f"{operator} needs the Python package {package or module}, which is not installed here: "
            f"pip install 'streams-orchestration[{extra}]'"
        )
        raise ValueError(message)
