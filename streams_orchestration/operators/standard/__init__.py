"""The standard operators, under the names that IBM Streams users know.

A standard operator runs if a package in here has a module with its name: the class `MQTTSource` is in
`systems/mqtt_source.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import iter_modules
from typing import Any

from streams_orchestration.model.containers import is_true
from streams_orchestration.model.programs import has_process
from streams_orchestration.model.standard import STANDARD as _SIGNATURES

_MODULES = {
    module.name.replace("_", ""): f"{family.name}.{module.name}"
    for family in iter_modules(__path__)
    if family.ispkg
    for module in iter_modules([f"{__path__[0]}/{family.name}"])
}
STANDARD: dict[str, str] = {
    kind: f"{__name__}.{_MODULES[kind.lower()]}:{kind}" for kind in sorted(_SIGNATURES) if kind.lower() in _MODULES
}
"""Map each operator kind that runs to `package.module:Class`."""

_DEVICES = ("/dev/stdout", "/dev/stderr", "/dev/null")
"""The paths of devices. Standard output and error are the same here: the lines that the program prints."""
NAMED_FILES = f"{__name__}.files.named_files:NamedFiles"
"""The class of a FileSource with an input port."""


def standard_class(kind: str, parameters: Mapping[str, Any], *, has_inputs: bool) -> str | None:
    """Return the `package.module:Class` of a standard operator by its kind, ports and raw parameters.

    None for a kind that does not run.
    """
    match kind:
        case "FileSource" if has_inputs:
            return NAMED_FILES
        case "FileSource" if is_true(parameters.get("deleteFile")) or parameters.get("moveFileToDirectory"):
            return f"{__name__}.files.consumed_files:ConsumedFiles"
        case "FileSource" if is_true(parameters.get("interleave")):
            return f"{__name__}.files.interleaved_files:InterleavedFiles"
        case "FileSink" if parameters.get("file") in _DEVICES:
            return f"{__name__}.files.device_sink:DeviceSink"
        case "Custom" if not has_inputs and has_process(parameters):
            return f"{__name__}.transformation.custom_source:CustomSource"
        case _:
            return STANDARD.get(kind)
