"""Conversion of SPL annotations and configs to their form in a document."""

from __future__ import annotations

from typing import Any

from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.document import LocatedList
from streams_orchestration.model.names import nearest
from streams_orchestration.spl.application.located import mapping, sequence
from streams_orchestration.spl.application.values import ConstantReader, UnknownValue
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.definitions import Annotation, Labelled
from streams_orchestration.spl.language.printing import text_of
from streams_orchestration.spl.typing.spans import Report

_KNOWN = {
    "parallel": ("width", "partitionBy", "broadcast", "replicateHostTags"),
    "consistent": ("trigger", "period", "drainTimeout", "resetTimeout", "maxConsecutiveResetAttempts"),
    "threading": ("model", "threads", "elastic"),
    "eventTime": ("eventTimeAttribute", "resolution", "lag", "minimumGap"),
}
"""Annotation -> its keys."""
_IGNORED = frozenset(("view", "endpoint", "service", "icon", "spl_category", "spl_note", "spl_tags", "spl_function"))
_CONFIGS = ("placement", "threadedPort", "restartable", "relocatable", "checkpoint", "hostPool")
_WITHOUT_EFFECT = frozenset(
    (
        *("tracing", "logLevel", "wrapper", "streamViewability", "defaultPoolSize", "applicationScope", "vmArgs"),
        *("inputTransport", "outputTransport"),
    )
)
"""The configs that Streams has and this product reads without effect."""
_PLACEMENT = {
    "partitionColocation": "tags",
    "partitionExlocation": "tags",
    "hostColocation": "tags",
    "hostExlocation": "tags",
    "partitionIsolation": "flag",
    "hostIsolation": "flag",
    "host": "host",
}
_CALLS = ("byChannel", "byReplica", "getChannel", "getMaxChannels", "getLocalChannel", "getLocalMaxChannels")


def annotations_of(annotations: tuple[Annotation, ...], reader: ConstantReader, report: Report) -> dict[str, Any]:
    """Return the annotations of an invocation or composite, the first of two with one name.

    Report mistakes, and annotations without effect (SO0723, SO0730).
    """
    found: dict[str, Any] = {}
    places = {each.name.name: each.name for each in annotations}
    for each in annotations:
        name = each.name.name
        _check_entries(each, report)
        if name in found:
            report("CDISP0704E", f"@{name} is written twice; write it once", each.name)
            continue
        if name == "autonomous":
            found[name] = True
        elif name in _KNOWN:
            found[name] = _entries(each, reader, report)
        elif name == "catch":
            message = "@catch has no effect: an exception ends the PE, which goes back to its last cut"
            report("SO0730", message, each.name)
        elif name in _IGNORED or name.startswith("spl_"):
            report("SO0723", f"@{name} is accepted, but has no effect here", each.name)
        else:
            known = (*_KNOWN, "autonomous", "catch", *_IGNORED)
            report("CDISP0796E", f"there is no annotation @{name}{nearest(name, known)}", each.name)
    return mapping(reader.source, annotations[0].name, found, places) if annotations else found


def _check_entries(annotation: Annotation, report: Report) -> None:
    """Report the parts of an annotation that are not assignments, and keys that have a value already."""
    seen: set[str] = set()
    for entry in annotation.entries:
        if not isinstance(entry.key, tree.Binary) or entry.key.operator != "=" or entry.value is not None:
            report("CDISP9264E", f"@{annotation.name} has parts such as key = value", entry)
            continue
        key = text_of(entry.key.left)
        if key in seen:
            report("CDISP0798E", f"@{annotation.name} has the key {key} twice", entry.key.left)
        seen.add(key)


def _entries(annotation: Annotation, reader: ConstantReader, report: Report) -> dict[str, Any]:
    values: dict[str, Any] = {}
    places: dict[str, tree.Node] = {}
    for key, written in reader.named(annotation.entries).items():
        places[key] = written if key in _KNOWN[annotation.name.name] else reader.labels(annotation.entries)[key]
        try:
            value = reader.value(written)
        except UnknownValue:
            report(
                "CDISP0678E", f"{key} of @{annotation.name.name} is not known when the application is compiled", written
            )
            continue
        values[key] = _placed(written, value, reader)
    return mapping(reader.source, annotation.name, values, places)


def _placed(written: tree.Expression, value: Any, reader: ConstantReader) -> Any:
    """Return the value of a literal, in which each part has its place in the file."""
    if isinstance(written, tree.BraceLiteral) and is_mapping(value):
        parts = reader.named(written.entries)
        placed = {key: _placed(parts[key], each, reader) for key, each in value.items()}
        return mapping(reader.source, written, placed, parts)
    if isinstance(written, tree.ListLiteral) and is_list(value):
        made = LocatedList()
        for part, each in zip(written.elements, value, strict=True):
            made.append(_placed(part, each, reader))
            line, column = reader.source.place(part.first)
            made.lines.append(line)
            made.columns.append(column)
        return made
    return value


def configs_of(
    configs: tuple[Labelled, ...], reader: ConstantReader, ports: list[str], report: Report
) -> dict[str, Any]:
    """Return the configs of an invocation or composite, except host pools (see `host_pools`).

    `restartable` and `relocatable` are True if their values are not known.

    Args:
        configs: the configs.
        reader: reads their values.
        ports: the names of the input ports.
        report: takes each config that is wrong, or has no effect.
    """
    found: dict[str, Any] = {}
    places: dict[str, tree.Node] = {}
    for each in configs:
        name = each.label.name
        places[name] = each.values[0]
        if name == "placement":
            found["placement"] = _placement(each, reader, report)
        elif name == "threadedPort":
            queues = [_queue(value, reader, ports, report) for value in each.values]
            found["threadedPort"] = sequence(reader.source, each.values[0], queues)
        elif name in ("restartable", "relocatable"):
            value = _known(each.values[0], reader, report)
            found[name] = value if value is not None else True
        elif name == "checkpoint":
            found["checkpoint"] = _checkpoint(each.values[0], reader, report)
        elif name in _WITHOUT_EFFECT:
            report("SO0723", f"the config {name} is accepted, but has no effect here", each.label)
        elif name != "hostPool":
            known = (*_CONFIGS, *_WITHOUT_EFFECT)
            report("CDISP0053E", f"there is no config {name}{nearest(name, known)}", each.label)
    return mapping(reader.source, configs[0].label, found, places) if configs else found


def _known(written: tree.Expression, reader: ConstantReader, report: Report) -> Any:
    try:
        return reader.value(written)
    except UnknownValue:
        report("CDISP0216E", "a config is a constant", written)
        return None


def _placement(config: Labelled, reader: ConstantReader, report: Report) -> dict[str, Any]:
    placement: dict[str, Any] = {}
    for value in config.values:
        name = value.name if isinstance(value, tree.Name) else ""
        arguments: tuple[tree.Expression, ...] = ()
        if isinstance(value, tree.Call) and isinstance(value.function, tree.Name):
            name, arguments = value.function.name, value.arguments
        if name not in _PLACEMENT:
            known = ", ".join(sorted(_PLACEMENT))
            report("CDISP0184E", f"{text_of(value)} is not a placement; the placements are {known}", value)
        elif _PLACEMENT[name] == "flag":
            placement[name] = True
        elif name == "host" and arguments:
            if placement.keys() & {"host", "hostPool"}:
                report("CDISP0186E", "these placements name a host twice", value)
            placement |= _host(arguments[0], reader, report)
        elif arguments:
            tags = [_tag(each, reader, report) for each in arguments]
            placement[name] = [*placement.get(name, []), *(tag for tag in tags if tag)]
    return placement


def _host(written: tree.Expression, reader: ConstantReader, report: Report) -> dict[str, Any]:
    if isinstance(written, tree.Name) and not written.name.startswith("$"):
        return {"hostPool": written.name}
    if isinstance(written, tree.Index) and isinstance(written.operand, tree.Name):
        return {"hostPool": written.operand.name}
    value = _known(written, reader, report)
    return {} if value is None else {"host": str(value)}


def _tag(written: tree.Expression, reader: ConstantReader, report: Report) -> str:
    match written:
        case tree.Call(function=tree.Name(name=name), arguments=()) if name in ("byChannel", "byReplica"):
            return f"{name}()"
        case tree.Binary(operator="+", left=left, right=right):
            return _tag(left, reader, report) + _tag(right, reader, report)
        case tree.Cast(operand=operand):
            return _tag(operand, reader, report)
        case tree.Call(function=tree.Name(name=name), arguments=()) if name in _CALLS:
            return f"${{{name}()}}"
        case _:
            value = _known(written, reader, report)
            if value is not None and not isinstance(value, str):
                report("CDISP0185E", f"the name of a placement is a text, and not {value!r}", written)
            return "" if value is None else str(value)


def _queue(written: tree.Expression, reader: ConstantReader, ports: list[str], report: Report) -> dict[str, Any]:
    arguments = written.arguments if isinstance(written, tree.Call) else ()
    queue: dict[str, Any] = {"port": 0}
    places: dict[str, tree.Node] = {}
    first = arguments[0] if arguments else None
    if isinstance(first, tree.Name) and not first.name.startswith("$") and first.name not in ports:
        report("CDISP0053E", f"there is no input port {first}", first)
        arguments = arguments[1:]
        queue["port"], places["port"] = -1, first  # a number that no other queue has
    for each in arguments:
        try:
            value = reader.value(each)
        except UnknownValue:
            continue
        if isinstance(value, str) and value in ports:
            queue["port"] = ports.index(value)
            continue
        key = "congestionPolicy" if isinstance(value, str) and value.startswith("Sys.") else "queueSize"
        queue[key], places[key] = value, each
    return mapping(reader.source, written, queue, places)


def _checkpoint(written: tree.Expression, reader: ConstantReader, report: Report) -> Any:
    if isinstance(written, tree.Name):
        return written.name
    if isinstance(written, tree.Call) and written.arguments:
        value = _known(written.arguments[0], reader, report)
        return {"periodic": float(value) if isinstance(value, int | float) else value}
    return None


def host_pools(configs: tuple[Labelled, ...], reader: ConstantReader) -> list[dict[str, Any]]:
    """Return the host pools that the main composite declares: `hostPool: P = createPool({size=2, tags=["a"]}, ...)`.

    Each pool has its `name`, and the properties `size` and `tags` if it gives them; other properties are left out. If
    one property is not known at compile time, all properties in the same braces are left out. So are pools without a
    name.
    """
    pools: list[dict[str, Any]] = []
    for each in configs:
        for value in each.values if each.label.name == "hostPool" else ():
            if not (isinstance(value, tree.Binary) and value.operator == "=" and isinstance(value.left, tree.Name)):
                continue
            pool: dict[str, Any] = {"name": value.left.name}
            for argument in value.right.arguments if isinstance(value.right, tree.Call) else ():
                if isinstance(argument, tree.BraceLiteral):
                    try:
                        entries = reader.value(argument)
                    except UnknownValue:
                        continue
                    pool |= {key: entry for key, entry in entries.items() if key in ("size", "tags")}
            pools.append(pool)
    return pools
