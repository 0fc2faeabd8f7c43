"""Parts of an ADL that both generations write in the same way.

The functions raise AdlError for an element without a required attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from streams_orchestration.model.names import application_name_of
from streams_orchestration.spl.adl.elements import XmlElement
from streams_orchestration.spl.adl.errors import AdlError
from streams_orchestration.spl.adl.graph import (
    AdlInputPort,
    AdlOutputPort,
    AdlQueue,
    AdlSettings,
    AnnotationValue,
    PlacementTags,
    PortEnd,
    SourceAnnotation,
)
from streams_orchestration.spl.language.tokens import string_value
from streams_orchestration.spl.types.types import Tuple, TupleAttribute
from streams_orchestration.spl.types.written import WrittenTypeError, type_of_text


def numbers(elements: Iterable[XmlElement]) -> list[int]:
    """Return the texts of elements as numbers.

    Raises:
        AdlError: a text is not an integer of at least 0.
    """
    found: list[int] = []
    for each in elements:
        text = each.text.strip()
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            message = f"<{each.name}> holds an integer of at least 0, not {text!r}"
            raise AdlError(message, each.line)
        found.append(int(text))
    return found


def tuple_types(application: XmlElement) -> dict[int, Tuple]:
    """Return the tuple types of an application by index.

    Raises:
        AdlError: an attribute has a type that SPL does not have.
    """
    types: dict[int, Tuple] = {}
    for each in application.all("tupleTypes", "tupleType"):
        attributes: list[TupleAttribute] = []
        for attribute in each.all("attribute"):
            try:
                attributes.append(TupleAttribute(attribute.required("name"), type_of_text(attribute.required("type"))))
            except WrittenTypeError as error:
                raise AdlError(str(error), attribute.line) from error
        types[each.number("index")] = Tuple(tuple(attributes))
    return types


def only_main(mains: Sequence[XmlElement], application: XmlElement) -> XmlElement:
    """Return the main composite of an application; raise AdlError unless there is exactly one."""
    if len(mains) != 1:
        message = f"an application has one main composite, but this one has {len(mains)}"
        raise AdlError(message, application.line)
    return mains[0]


def input_port(port: XmlElement, sources: tuple[PortEnd, ...]) -> AdlInputPort:
    """Return the input port of a primitive operator; raise AdlError if the file is damaged."""
    name, mutable, control = port.required("name"), port.flag("isMutable"), port.flag("isControl")
    return AdlInputPort(sources, name, mutable, control, queue_of(port))


def output_port(port: XmlElement, types: Mapping[int, Tuple]) -> AdlOutputPort:
    """Return the output port of a primitive operator.

    Raises:
        AdlError: the file has no type with the index that the port refers to.
    """
    index = port.number("tupleTypeIndex")
    if index not in types:
        message = f"there is no <tupleType> with the index {index}"
        raise AdlError(message, port.line)
    return AdlOutputPort((), port.required("name"), port.required("streamName"), types[index], port.flag("isMutable"))


def ends(connections: Iterable[XmlElement]) -> tuple[PortEnd, ...]:
    """Return the ports at the other ends of one port's connections, from the XML elements of the connections."""
    return tuple(
        PortEnd(each.number("operIndex"), each.number("portIndex"), each.required("portKind") == "input")
        for each in connections
    )


def composite_inputs(instance: XmlElement) -> tuple[AdlInputPort, ...]:
    """Return the input ports of a composite, in order."""
    ports = in_order(instance.all("inputPorts", "port"))
    return tuple(AdlInputPort(ends(port.all("incomingConnections", "connection"))) for port in ports)


def composite_outputs(instance: XmlElement) -> tuple[AdlOutputPort, ...]:
    """Return the output ports of a composite, in order."""
    ports = in_order(instance.all("outputPorts", "port"))
    return tuple(AdlOutputPort(ends(port.all("incomingConnections", "connection"))) for port in ports)


def in_order(ports: Iterable[XmlElement]) -> list[XmlElement]:
    """Return ports sorted by index."""
    return sorted(ports, key=lambda port: port.number("index"))


def queue_of(port: XmlElement) -> AdlQueue | None:
    """Return the queue of a threaded port; None for a port that is not threaded."""
    queue = port.first("threadedPort")
    if queue is None:
        return None
    size = queue.number("queueSize") if "queueSize" in queue.attributes else None
    return AdlQueue(queue.required("congestionPolicy"), size)


def annotations_of(instance: XmlElement) -> tuple[SourceAnnotation, ...]:
    """Return the annotations of an instance."""
    return tuple(
        SourceAnnotation(
            each.required("tag"),
            {
                value.required("key"): AnnotationValue(
                    value.text.strip(),
                    value.attributes.get("type", ""),
                    value.number("submissionTimeValueIndex")
                    if "submissionTimeValueIndex" in value.attributes
                    else None,
                )
                for value in each.all("value")
            },
        )
        for each in instance.all("splAnnotation")
    )


def settings_of(operator: XmlElement, pools: Mapping[int, str]) -> AdlSettings:
    """Return the configs of an operator.

    Args:
        operator: the element `primitiveOperInstance` or `operInstance` of the operator.
        pools: the names of the host pools by index; an operator of any other pool has no pool.

    Raises:
        AdlError: the period of checkpoints is not a number, or a required attribute is missing.
    """
    resources = operator.first("resources")
    host = None if resources is None else resources.first("hostLocation")
    pool = None if resources is None else resources.first("poolLocation")
    checkpoint = operator.first("checkpointing")
    return AdlSettings(
        partitions=_group(operator.first("partitions")),
        hosts=_group(resources),
        host=None if host is None else host.required("hostname"),
        pool=None if pool is None else pools.get(pool.number("poolIndex")),
        restartable=_flag_or_none(operator, "restartable"),
        relocatable=_flag_or_none(operator, "relocatable"),
        checkpoint=None if checkpoint is None else _checkpoint(checkpoint),
        single_threaded=_flag_or_none(operator, "singleThreadedOnOutputs") is not False,
    )


def _group(parent: XmlElement | None) -> PlacementTags:
    if parent is None:
        return PlacementTags()
    return PlacementTags(
        tuple(each.required("colocId") for each in parent.all("coLocation")),
        tuple(each.required("exlocId") for each in parent.all("exLocation")),
        parent.flag("isolation"),
    )


def _flag_or_none(element: XmlElement, name: str) -> bool | None:
    return element.flag(name) if name in element.attributes else None


def _checkpoint(element: XmlElement) -> float | str:
    if element.required("policy") == "operatorDriven":
        return "operatorDriven"
    try:
        return float(element.required("period"))
    except ValueError as error:
        message = "the period of checkpoints is a number of seconds"
        raise AdlError(message, element.line) from error


def pool_names(application: XmlElement) -> dict[int, str]:
    """Map the index of each host pool, except the default one, to its name."""
    pools = application.all("hostpools", "hostpool")
    return {each.number("index"): each.required("name") for each in pools if each.required("name") != "$default"}


def import_parameters(source: XmlElement) -> dict[str, object]:
    """Return the parameters of an Import, from the element that holds its subscription."""
    parameters: dict[str, object] = {}
    by_name, by_property = source.first("nameBasedImport"), source.first("propertyBasedImport")
    if by_name is not None:
        parameters["application"] = application_name_of(by_name.required("applicationName"))
        parameters["streamId"] = by_name.required("streamName")
    elif by_property is not None:
        parameters["subscription"] = by_property.required("subscription")
    if "filter" in source.attributes:
        parameters["filter"] = source.attributes["filter"]
    return parameters


def export_parameters(source: XmlElement, name: str) -> dict[str, object]:
    """Return the parameters of an Export, which exports by a stream's id, in the attribute `name`, or by properties."""
    parameters: dict[str, object] = {}
    if name in source.attributes:
        parameters["streamId"] = source.attributes[name]
    else:
        parameters["properties"] = {
            each.required("name"): _property(each) for each in source.all("properties", "property")
        }
    if "congestionPolicy" in source.attributes:
        parameters["congestionPolicy"] = source.attributes["congestionPolicy"]
    return parameters


def _property(element: XmlElement) -> object:
    kind = element.required("type")
    values = [_literal(value.text.strip(), kind) for value in element.all("value")]
    return values if kind.startswith("list") else (values[0] if values else "")


def _literal(text: str, kind: str) -> object:
    convert = int if "int" in kind else float if "float" in kind else unquoted
    try:
        return convert(text)
    except ValueError:
        return text


def unquoted(text: str) -> str:
    """Return the value of a string literal; a text without quotes is returned as it is."""
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return string_value(text) if quoted else text
