"""The standard operators, under the names that IBM Streams users know.

A standard operator runs if a package in here has a module with its name: the class `MQTTSource` is in
`systems/mqtt_source.py`.
"""

from __future__ import annotations

from pkgutil import iter_modules

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

WITH_INPUTS: dict[str, str] = {"FileSource": "streams_orchestration.operators.standard.files.named_files:NamedFiles"}
"""Map each source kind that has a different class when it has an input port to that class."""
DEVICES = ("/dev/stdout", "/dev/stderr", "/dev/null")
"""The paths of devices. Standard output and error are the same here: the lines that the program prints."""
TO_DEVICES: dict[str, str] = {"FileSink": "streams_orchestration.operators.standard.files.device_sink:DeviceSink"}
"""Map each sink kind that has a different class when its file is a device to that class."""
WITH_PROCESS: dict[str, str] = {
    "Custom": "streams_orchestration.operators.standard.transformation.custom_source:CustomSource"
}
"""Map each kind that has a different class when its logic in SPL has `onProcess` to that class."""
INTERLEAVED: dict[str, str] = {
    "FileSource": "streams_orchestration.operators.standard.files.interleaved_files:InterleavedFiles"
}
"""Map each source kind that has a different class with the parameter `interleave` to that class."""
CONSUMED: dict[str, str] = {"FileSource": "streams_orchestration.operators.standard.files.consumed_files:ConsumedFiles"}
"""Map each source kind that has a different class if it deletes or moves its files to that class."""
