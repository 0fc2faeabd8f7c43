"""Dagster over the compiler and the runtime: assets, jobs, sensors, schedules, components.

Names are loaded when they are first used, so that importing a part of this package does not load Dagster.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streams_orchestration.orchestration.application import build_application_definitions
    from streams_orchestration.orchestration.component import StreamsApplicationComponent
    from streams_orchestration.orchestration.epochs import epochs_sensor, epochs_since
    from streams_orchestration.orchestration.resource import StreamsResource

__all__ = [
    "StreamsApplicationComponent",
    "StreamsResource",
    "build_application_definitions",
    "epochs_sensor",
    "epochs_since",
]

_MODULES = {
    "StreamsApplicationComponent": "component",
    "StreamsResource": "resource",
    "build_application_definitions": "application",
    "epochs_sensor": "epochs",
    "epochs_since": "epochs",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
