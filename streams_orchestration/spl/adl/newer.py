"""Reading of the instances in an ADL file of IBM Streams 4.2 to 6 (`application/v4200`), which is not fused yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streams_orchestration.spl.adl.elements import XmlElement
from streams_orchestration.spl.adl.errors import AdlError
from streams_orchestration.spl.adl.graph import AdlInputPort, AdlInstance, AdlOutputPort
from streams_orchestration.spl.adl.parts import (
    annotations_of,
    composite_inputs,
    composite_outputs,
    ends,
    export_parameters,
    import_parameters,
    in_order,
    input_port,
    only_main,
    output_port,
    pool_names,
    settings_of,
    tuple_types,
)
from streams_orchestration.spl.types.types import Tuple

_OPERATOR = "primitiveOperInstance"
_IMPORT = "primitiveImportOperInstance"
_EXPORT = "primitiveExportOperInstance"
_COMPOSITE = "compositeOperInstance"


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables of an application to whose entries its instances refer by index."""

    kinds: Mapping[int, str]
    composites: Mapping[int, str]
    types: Mapping[int, Tuple]
    pools: Mapping[int, str]

    def kind(self, instance: XmlElement) -> str:
        table = self.composites if instance.name == _COMPOSITE else self.kinds
        index = instance.number("definitionIndex")
        if index not in table:
            message = f"<{instance.name}> refers to the definition {index}, which does not exist"
            raise AdlError(message, instance.line)
        return table[index]


def main_of_newer(application: XmlElement) -> AdlInstance:
    """Return the main composite of an application.

    Raises:
        AdlError: the file is damaged.
    """
    tables = _Tables(
        _by_index(application, "primitiveOperDefinitions", "primitiveOperDefinition"),
        _by_index(application, "composites", "compositeOperDefinitions", "compositeOperDefinition"),
        tuple_types(application),
        pool_names(application),
    )
    mains = list(application.all("composites", "compositeOperInstances", _COMPOSITE))
    return _instance(only_main(mains, application), tables)


def _by_index(application: XmlElement, *path: str) -> dict[int, str]:
    return {each.number("index"): each.required("kind") for each in application.all(*path)}


def _instance(element: XmlElement, tables: _Tables) -> AdlInstance:
    if element.name == _COMPOSITE:
        inputs, outputs = composite_inputs(element), composite_outputs(element)
    else:
        inputs, outputs = _inputs(element), _outputs(element, tables)
    parameters: dict[str, object] = {}
    if element.name == _IMPORT:
        parameters = import_parameters(element)
    elif element.name == _EXPORT:
        parameters = export_parameters(element, "streamName")
    inner = [each for each in element.children if each.name in (_OPERATOR, _IMPORT, _EXPORT, _COMPOSITE)]
    return AdlInstance(
        element.number("index"),
        element.required("name"),
        tables.kind(element),
        element.line,
        inputs,
        outputs,
        annotations_of(element),
        tuple(_instance(each, tables) for each in inner) if element.name == _COMPOSITE else None,
        settings_of(element, tables.pools),
        parameters,
    )


def _inputs(operator: XmlElement) -> tuple[AdlInputPort, ...]:
    return tuple(
        input_port(port, ends(port.all("connections", "connection")))
        for port in in_order(operator.all("inputPorts", "port"))
    )


def _outputs(operator: XmlElement, tables: _Tables) -> tuple[AdlOutputPort, ...]:
    return tuple(output_port(port, tables.types) for port in in_order(operator.all("outputPorts", "port")))
