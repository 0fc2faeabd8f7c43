"""The document of a compiled application: the mapping that a spec in YAML would be.

ADL has no parameters, windows or logic, so the application compiles and plans, but does not run (`planOnly`). Each
element has the line of the ADL from which it was made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.document import LocatedList, LocatedMapping
from streams_orchestration.model.names import application_name_of
from streams_orchestration.model.standard import NO_NODES, STANDARD
from streams_orchestration.spl.adl.bundles import adl_of
from streams_orchestration.spl.adl.elements import element_of
from streams_orchestration.spl.adl.errors import AdlError
from streams_orchestration.spl.adl.graph import (
    AdlInputPort,
    AdlInstance,
    AdlQueue,
    CompiledApplication,
    PortEnd,
    Region,
)
from streams_orchestration.spl.adl.placing import configs_of
from streams_orchestration.spl.adl.reading import compiled_application
from streams_orchestration.spl.adl.submission import AdlSubmission, annotations_of
from streams_orchestration.spl.application.located import named_for
from streams_orchestration.spl.types.columns import NoColumnError, ddl_of

_CUSTOM = "spl.utility::Custom"
_POLICIES = {"wait": "Sys.Wait", "dropFirst": "Sys.DropFirst", "dropLast": "Sys.DropLast"}


def document_of(path: Path) -> LocatedMapping:
    """Return the document of an `.adl` file or a `.sab` bundle.

    Raises:
        AdlError: the file is neither an ADL file nor a bundle, is damaged, holds several applications, or has a type
            that a spec cannot write.
        OSError: the file cannot be read.
    """
    return _Writer(compiled_application(element_of(adl_of(path))), str(path)).document()


class _Writer:
    """A writer of the document of one compiled application; its methods raise AdlError if the file is damaged."""

    def __init__(self, application: CompiledApplication, file: str) -> None:
        self.application = application
        self.file = file
        self.instances = {each.index: each for each in _all(application.main)}
        self.regions = {each.instance: each for each in application.regions}
        self.submission = AdlSubmission(application)
        self.configs = configs_of(application)
        self.composites: dict[str, LocatedMapping] = {}
        self.operators: dict[str, LocatedMapping] = {}
        self.known_ports: dict[int, list[str]] = {}

    def document(self) -> LocatedMapping:
        """Return the whole document."""
        main = self.application.main
        graph = self.graph(main)
        sources = ", ".join(self.application.sources) or "an application of IBM Streams"
        entries: dict[str, Any] = {
            "specVersion": 1,
            "application": application_name_of(self.application.name),
            "planOnly": f"it is the compiled form of {sources}, without parameters and logic",
            "submission": self.submission.document(),
            "hostPools": [
                {"name": pool.name, "tags": list(pool.tags)} | ({} if pool.size is None else {"size": pool.size})
                for pool in self.application.pools
            ],
            "operators": self.operators,
            "composites": self.composites,
            "annotations": annotations_of(main, self.submission),
            "graph": graph,
        }
        return self.mapping(main.line, entries)

    def mapping(self, line: int, entries: Mapping[str, Any]) -> LocatedMapping:
        """Return a mapping whose keys all have the same line.

        None, and empty mappings and lists, are left out; of the keys `outputs` and `mutates` only None is.
        """
        mapping = LocatedMapping(self.file, line)
        for key, value in entries.items():
            if value is None or (value in ({}, []) and key not in ("outputs", "mutates")):
                continue
            mapping[key] = self.located(line, value)
            mapping.lines[key] = line
        return mapping

    def located(self, line: int, value: Any) -> Any:
        """Return a value in which each mapping and list has a line: its own if it has one, or else `line`."""
        if is_mapping(value) and not isinstance(value, LocatedMapping):
            return self.mapping(line, value)
        if is_list(value) and not isinstance(value, LocatedList):
            located = LocatedList()
            located.extend(self.located(line, each) for each in value)
            located.lines = [each.line if isinstance(each, LocatedMapping) else line for each in located]
            return located
        return value

    def graph(self, composite: AdlInstance) -> list[LocatedMapping]:
        """Return the invocations in a composite, in the form of the document (see `invocation`)."""
        return [self.invocation(each, composite) for each in composite.children or ()]

    def invocation(self, instance: AdlInstance, parent: AdlInstance) -> LocatedMapping:
        """Return one invocation in the form of the document, and add its composite or declaration to the document."""
        kind = self.composite(instance) if instance.children is not None else self.operator(instance)
        names = self.port_names(instance)
        annotations = annotations_of(instance, self.submission)
        if instance.index in self.regions:
            annotations |= {"parallel": self.parallel(self.regions[instance.index], names)}
        config = dict(self.configs.get(instance.index, {}))
        queues = [
            {"port": port, **self.queue(each.queue)}
            for port, each in enumerate(instance.inputs)
            if each.queue is not None
        ]
        if queues:
            config["threadedPort"] = queues
        return self.mapping(
            instance.line,
            {
                "name": _local(instance.name, parent, self.application),
                "operator": kind,
                "inputs": [
                    self.input(instance, port, name, parent) for port, name in zip(instance.inputs, names, strict=True)
                ],
                "parameters": dict(instance.parameters),
                "outputs": [self.output(instance, port, parent) for port in range(len(instance.outputs))],
                "annotations": annotations,
                "config": config,
            },
        )

    def input(self, instance: AdlInstance, port: AdlInputPort, name: str, parent: AdlInstance) -> dict[str, Any]:
        """Return one input port of an invocation in the form of the document; a composite's port has only streams."""
        entry: dict[str, Any] = {"streams": [self.stream(end, parent) for end in port.sources]}
        if instance.children is not None:
            return entry
        entry["name"] = name
        if port.control:
            entry["control"] = True
        if instance.kind == _CUSTOM and not port.mutable:
            entry["mutates"] = LocatedList()
        return entry

    def output(self, instance: AdlInstance, number: int, parent: AdlInstance) -> dict[str, Any]:
        """Return one output port of an invocation in the form of the document, with a schema if its type is known."""
        entry: dict[str, Any] = {"stream": self.stream(PortEnd(instance.index, number, is_input=False), parent)}
        type_ = instance.outputs[number].type
        if type_ is not None:
            try:
                entry["schema"] = ddl_of(type_)
            except NoColumnError as error:
                message = f"{instance.name}: {error}"
                raise AdlError(message, instance.line) from error
        return entry

    def stream(self, end: PortEnd, composite: AdlInstance) -> str:
        """Return the name, inside a composite, of the stream at one end of a connection.

        If the stream has its name only outside of the composite, its port or the instance gives a name.
        """
        if end.is_input:
            self._checked(end, len(composite.inputs), composite.line)
            return self.composite_ports(composite)[end.port]
        instance = self.instances.get(end.instance)
        if instance is None:
            message = f"a connection leads to the instance {end.instance}, which does not exist"
            raise AdlError(message, composite.line)
        self._checked(end, len(instance.outputs), instance.line)
        full = self.full_stream(instance, end.port)
        prefix = f"{composite.name}." if composite is not self.application.main else ""
        inner = full.removeprefix(prefix) if full.startswith(prefix) else ""
        if inner and "." not in inner:
            return inner
        # The port of the composite gives its stream the name that it has outside, so its name here is unknown.
        name = instance.outputs[end.port].name or _local(instance.name, composite, self.application)
        return name if len(instance.outputs) == 1 or instance.outputs[end.port].name else f"{name}_{end.port}"

    def full_stream(self, instance: AdlInstance, port: int) -> str:
        """Return the full name of the stream that leaves a port; empty if the port leads to an input or nowhere."""
        for _ in range(len(self.instances) + 1):
            output = instance.outputs[port]
            if not output.sources:
                return output.stream
            end = output.sources[0]
            if end.is_input or end.instance not in self.instances:
                return ""
            instance, port = self.instances[end.instance], end.port
            self._checked(end, len(instance.outputs), instance.line)
        message = f"the connections of {instance.name} form a cycle"
        raise AdlError(message, instance.line)

    def _checked(self, end: PortEnd, count: int, line: int) -> None:
        if end.port >= count:
            message = f"a connection leads to port {end.port} of an instance that has {count} ports"
            raise AdlError(message, line)

    def composite_ports(self, composite: AdlInstance) -> list[str]:
        """Return the names of a composite's input ports: the readers' names if these agree, otherwise `In0`, `In1`.

        A port is also called `In` with its number if a stream or an earlier port of the composite has the readers'
        name. Readers that merge several streams are left out.
        """
        if composite.index in self.known_ports:
            return self.known_ports[composite.index]
        names: list[set[str]] = [set() for _ in composite.inputs]
        for child in composite.children or ():
            for port, name in zip(child.inputs, self.port_names(child), strict=True):
                for end in port.sources if len(port.sources) == 1 else ():
                    if end.is_input and end.port < len(names):
                        names[end.port].add(name)
        own = {
            self.stream(PortEnd(child.index, port, is_input=False), composite)
            for child in composite.children or ()
            for port in range(len(child.outputs))
        }
        chosen: list[str] = []
        for position, known in enumerate(names):
            name = min(known) if len(known) == 1 else ""
            chosen.append(name if name and name not in own and name not in chosen else f"In{position}")
        self.known_ports[composite.index] = chosen
        return chosen

    def port_names(self, instance: AdlInstance) -> list[str]:
        """Return the names of the input ports of an instance; a port without a name is called `In0`, `In1`."""
        if instance.children is not None:
            return self.composite_ports(instance)
        return [port.name or f"In{number}" for number, port in enumerate(instance.inputs)]

    def parallel(self, region: Region, names: list[str]) -> dict[str, Any]:
        """Return the annotation `parallel` for a parallel region."""
        for splitter in region.splitters:
            if splitter.port >= len(names):
                message = f"a splitter is at the input port {splitter.port}, which does not exist"
                raise AdlError(message, region.line)
        width: Any = region.width
        if region.submission is not None:
            width = self.submission.reference(region.submission, "int32", region.line)
        return {
            "width": width,
            "partitionBy": [
                {"port": names[each.port], "attributes": list(each.attributes)}
                for each in region.splitters
                if each.kind == "Hash"
            ],
            "broadcast": [names[each.port] for each in region.splitters if each.kind == "Broadcast"],
            "replicateHostTags": list(region.host_tags),
        }

    def queue(self, queue: AdlQueue) -> dict[str, Any]:
        """Return the queue of a threaded port as the document configures it, without a size if the file gives none."""
        policy = {"congestionPolicy": _POLICIES.get(queue.policy, queue.policy)}
        return policy if queue.size is None else policy | {"queueSize": queue.size}

    def operator(self, instance: AdlInstance) -> str:
        """Return the name of an operator's kind.

        A kind that is not standard is declared with the ports of this instance. It gets a number (`kind#2`) if an
        instance with other ports has the name.
        """
        last = instance.kind.rpartition("::")[2]
        if instance.kind.startswith("spl.") and (last in STANDARD or last in NO_NODES):
            return last
        model = {
            "inputs": [
                {"mutable": port.mutable} | ({"control": True} if port.control else {}) for port in instance.inputs
            ],
            "outputs": [{"mutable": port.mutable} for port in instance.outputs],
            "stateful": True,
            "singleThreaded": "Always" if instance.settings.single_threaded else "Never",
        }
        declared = LocatedMapping(self.file, instance.line)
        declared.update(model)
        declared.lines = dict.fromkeys(model, instance.line)
        return named_for(self.operators, instance.kind, declared)

    def composite(self, instance: AdlInstance) -> str:
        """Return the name of the composite for an instance, and add the composite unless an equal one exists."""
        graph = self.located(instance.line, self.graph(instance))
        body = self.mapping(
            instance.line,
            {
                "inputs": self.composite_ports(instance),
                "outputs": [self.stream(output.sources[0], instance) for output in instance.outputs if output.sources],
                "graph": graph,
            },
        )
        return named_for(self.composites, instance.kind, body)


def _all(instance: AdlInstance) -> Iterable[AdlInstance]:
    yield instance
    for child in instance.children or ():
        yield from _all(child)


def _local(name: str, parent: AdlInstance, application: CompiledApplication) -> str:
    """Return the name of an instance without the names of the composites around it; `_` replaces dots and brackets."""
    prefix = "" if parent is application.main else f"{parent.name}."
    return re.sub(r"[.\[\]]", "_", name.removeprefix(prefix))
