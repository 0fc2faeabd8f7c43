"""Reading of the instances in an ADL file of IBM Streams 3 to 4.1 (`application`, `application/v4000`).

Such a file is already fused. Its composites hold the connections, and its PEs hold the properties of operators. Names
connect the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

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

_IMPORT = "spl.adapter::Import"
_EXPORT = "spl.adapter::Export"


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables of an application to whose entries its instances refer by index or name."""

    composites: Mapping[int, str]
    types: Mapping[int, Tuple]
    pools: Mapping[int, str]
    operators: Mapping[str, tuple[XmlElement, XmlElement]]
    """Name of an operator -> its element `operInstance`, and the element of its PE."""
    imports: Mapping[str, XmlElement]
    exports: Mapping[str, XmlElement]


def main_of_older(application: XmlElement) -> AdlInstance:
    """Return the main composite of an application.

    Raises:
        AdlError: the file is damaged.
    """
    pes = list(application.all("pes", "pe"))
    imported = [each for pe in pes for each in pe.all("inputPorts", "inputPort", "importedStreams")]
    exported = [each for pe in pes for each in pe.all("outputPorts", "outputPort", "exportedStream")]
    tables = _Tables(
        {
            each.number("index"): each.required("kind")
            for each in application.all("composites", "compositeOpers", "compositeOper")
        },
        tuple_types(application),
        pool_names(application),
        {each.required("name"): (each, pe) for pe in pes for each in pe.all("operInstances", "operInstance")},
        {kind.required("importOperName"): each for each in imported for kind in each.children},
        {each.required("exportOperName"): each for each in exported},
    )
    mains = list(application.all("composites", "compositeOperInstances", "compositeOperInstance"))
    return _composite(only_main(mains, application), tables)


def pes_of(application: XmlElement) -> tuple[tuple[str, ...], ...]:
    """Return the names of the operators of every PE; raise AdlError for an operator without a name."""
    return tuple(
        tuple(each.required("name") for each in pe.all("operInstances", "operInstance"))
        for pe in application.all("pes", "pe")
    )


def _composite(element: XmlElement, tables: _Tables) -> AdlInstance:
    index = element.number("compositeOperIndex")
    if index not in tables.composites:
        message = f"<{element.name}> refers to the composite {index}, which does not exist"
        raise AdlError(message, element.line)
    return AdlInstance(
        element.number("index"),
        element.required("name"),
        tables.composites[index],
        element.line,
        composite_inputs(element),
        composite_outputs(element),
        annotations_of(element),
        tuple(
            _composite(each, tables) if each.name == "compositeOperInstance" else _operator(each, tables)
            for each in element.children
            if each.name in ("compositeOperInstance", "primitiveOperInstance")
        ),
    )


def _operator(element: XmlElement, tables: _Tables) -> AdlInstance:
    name, kind = element.required("name"), element.required("kind")
    sources = [ends(port.all("connections", "connection")) for port in in_order(element.all("inputPorts", "port"))]
    instance = AdlInstance(
        element.number("index"),
        name,
        kind,
        element.line,
        tuple(AdlInputPort(each) for each in sources),
        tuple(AdlOutputPort(name=name.rpartition(".")[2], stream=name) for _ in element.all("outputPorts", "port")),
        annotations_of(element),
    )
    if kind == _IMPORT and name in tables.imports:
        return replace(instance, parameters=import_parameters(tables.imports[name]))
    if kind == _EXPORT and name in tables.exports:
        return replace(instance, parameters=export_parameters(tables.exports[name], "name"))
    if name not in tables.operators:
        return instance
    details, pe = tables.operators[name]
    settings = settings_of(details, tables.pools)
    return replace(
        instance,
        line=details.line,
        inputs=tuple(
            input_port(port, source)
            for source, port in zip(sources, in_order(details.all("inputPorts", "inputPort")), strict=False)
        ),
        outputs=tuple(output_port(port, tables.types) for port in in_order(details.all("outputPorts", "outputPort"))),
        settings=replace(
            settings,
            restartable=pe.flag("restartable") if settings.restartable is None else settings.restartable,
            relocatable=pe.flag("relocatable") if settings.relocatable is None else settings.relocatable,
        ),
    )
