"""Annotated parallel regions: their order, widths, and the routing of their input ports (rules 4, 6, 7, 17-19)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from streams_orchestration.compiler.logical.instances import CompositeInstance, InstanceTree, PrimitiveInstance
from streams_orchestration.compiler.logical.substitution import Substitution
from streams_orchestration.compiler.logical_graph import ParallelRegion, Routing, width_pattern
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.annotations import SPARK, Parallel
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.names import nearest
from streams_orchestration.model.schema import Schema
from streams_orchestration.model.secrets import shown

Instance = CompositeInstance | PrimitiveInstance
SchemasOf = Callable[[CompositeInstance, str], list[Schema | None]]
"""A function from a stream name to the tuple types of the streams with that name; None for an unknown type."""

MAX_WIDTH = 2**31 - 1


def _annotation(instance: Instance) -> Parallel | None:
    """Return the parallel annotation of an invocation; None without one, and for a width that is left to Spark."""
    parallel = instance.invocation.annotations.parallel if instance.invocation is not None else None
    return None if parallel is None or parallel.width == SPARK else parallel


def misplaced_widths(tree: InstanceTree) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each annotation that leaves the width to Spark, but is on no Spark query."""

    def instances(parent: CompositeInstance) -> Iterator[Instance]:
        yield from parent.primitives
        for composite in parent.composites:
            yield composite
            yield from instances(composite)

    for instance in instances(tree.main):
        parallel = instance.invocation.annotations.parallel if instance.invocation is not None else None
        query = isinstance(instance, PrimitiveInstance) and instance.signature.engine == "dataframe"
        if parallel is not None and parallel.width == SPARK and not query:
            message = "the width spark is for Sql and DataFrame operators only"
            location = parallel.location("width")
            yield Diagnostic.of("SO0216", message, operator=instance.name, location=location)


def number_regions(tree: InstanceTree) -> list[Instance]:
    """Number the annotated invocations in the order of their expansion (rule 4), inner ones first, and return them.

    Every instance also gets the numbers of the regions around it, its own as the last.

    The annotated primitive operators of a composite come first. Then come the composites inside it, each after
    everything that it contains. An annotation of an Import or Export makes no region.
    """
    order: list[Instance] = []

    def visit(parent: CompositeInstance) -> None:
        for primitive in parent.primitives:
            if _annotation(primitive) is not None and primitive.index >= 0:
                primitive.region = len(order)
                order.append(primitive)
        for composite in parent.composites:
            visit(composite)
            if _annotation(composite) is not None:
                composite.region = len(order)
                order.append(composite)

    def enclose(parent: CompositeInstance) -> None:
        for child in (*parent.primitives, *parent.composites):
            own = (child.region,) if child.region >= 0 else ()
            child.regions = parent.regions + own
        for composite in parent.composites:
            enclose(composite)

    visit(tree.main)
    enclose(tree.main)
    return order


def port_names(instance: Instance) -> tuple[str, ...]:
    """Return the names of the input ports.

    A port has the name that the invocation gives it, else the name in the composite or operator model, else in0, in1
    ... The ports of a Spark query are named after the first streams that they read, like its views.
    """
    if isinstance(instance, CompositeInstance):
        return instance.ports
    names: list[str] = []
    for port, binding in enumerate(instance.invocation.inputs):
        view = binding.streams[0] if instance.signature.engine == "dataframe" and binding.streams else ""
        names.append(binding.name or instance.signature.input(port).name or view or f"in{port}")
    return tuple(names)


class RegionDeclarations:
    """The parallel regions that annotations declare."""

    def __init__(
        self, options: Options, substitution: Substitution, schemas: SchemasOf, uid_of: Callable[[Instance], str]
    ) -> None:
        self._uid_of = uid_of
        self.substitution = substitution
        self.schemas = schemas
        self._overrides = [(pattern, width_pattern(pattern), width) for pattern, width in options.widths]

    def regions(self, order: list[Instance]) -> Iterator[ParallelRegion]:
        """Yield the regions by index; report wrong widths and routing, and width patterns that match nothing."""
        for index, instance in enumerate(order):
            parallel = _annotation(instance)
            assert parallel is not None
            width, origin = self._width(instance, parallel)
            yield ParallelRegion(
                index,
                instance.name,
                width,
                tuple(region for region in instance.regions if region != index),
                self._routing(instance, parallel),
                tuple(
                    str(self.substitution.value(tag, parallel, "replicateHostTags", operator=instance.name))
                    for tag in parallel.replicate_host_tags
                ),
                origin,
                self._uid_of(instance),
            )
        names = [name for instance in order for name in (instance.name, self._uid_of(instance)) if name]
        for pattern, regex, _ in self._overrides:
            if not any(map(regex.fullmatch, names)):
                known = nearest(pattern, names) if names else "; the application has no parallel regions"
                message = f"no parallel region matches the width pattern {pattern}{known}"
                self.substitution.diagnostics.append(Diagnostic.of("SO0207", message))

    def _width(self, instance: Instance, parallel: Parallel) -> tuple[int, str]:
        """Return the width by the strongest source: override, submission-time value, literal (rule 6).

        The second result is the name of the submission-time value, empty for another source. A wrong width is reported,
        and a wrong or missing one counts as 1.
        """
        declared, origin = self.substitution.annotation(parallel.width, parallel, "width", instance.name)
        for pattern, regex, width in self._overrides:
            if regex.fullmatch(instance.name) or regex.fullmatch(self._uid_of(instance)):
                return self._checked(width, "CDISR1164E", f"--width {pattern}", instance, parallel), ""
        if declared is None:
            return 1, origin
        if isinstance(declared, str) and re.fullmatch(r"\s*[-+]?\d{1,10}\s*", declared):
            declared = int(declared)
        if isinstance(declared, bool) or not isinstance(declared, int):
            code = "CDISP0809E" if self.substitution.is_default(origin) else "CDISR1164E"
            message = f"the width {shown(origin, declared)!r} from {origin} is not an integer"
            self.substitution.report(code, message, instance.name, parallel, "width")
            return 1, origin
        return self._checked(declared, "CDISR1164E", origin, instance, parallel), origin

    def _checked(self, width: int, code: str, source: str, instance: Instance, parallel: Parallel) -> int:
        if 1 <= width <= MAX_WIDTH:
            return width
        self.substitution.report(
            code, f"the width from {source} is {width}; it must be at least 1", instance.name, parallel, "width"
        )
        return 1

    def _routing(self, instance: Instance, parallel: Parallel) -> dict[str, Routing]:
        names = port_names(instance)
        routing: dict[str, Routing] = {}
        for position, partition in enumerate(parallel.partition_by):
            path = ("partitionBy", position)
            port = self._port(partition.port, instance, parallel, *path, "port")
            if port is None:
                continue
            if names[port] in routing:
                message = f"the port {partition.port} is partitioned twice"
                self.substitution.report("CDISP0854E", message, instance.name, parallel, *path, "port")
                continue
            self._check_attributes(partition.attributes, port, instance, parallel, *path, "attributes")
            routing[names[port]] = Routing("hash", tuple(dict.fromkeys(partition.attributes)))
        for position, name in enumerate(parallel.broadcast):
            port = self._port(name, instance, parallel, "broadcast", position)
            if port is None:
                continue
            present = routing.get(names[port])
            if present is not None:
                code = "CDISP0852E" if present.policy == "broadcast" else "CDISP0853E"
                wrong = "named twice" if present.policy == "broadcast" else "partitioned as well"
                self.substitution.report(
                    code, f"the broadcast port {name} is {wrong}", instance.name, parallel, "broadcast", position
                )
                continue
            routing[names[port]] = Routing("broadcast")
        return routing

    def _port(self, name: str, instance: Instance, parallel: Parallel, *path: str | int) -> int | None:
        """Return the number of the input port with this name, else of the port that reads the stream of this name.

        The stream may be named by its full or its short name (rule 18). Without such a port, report CDISP0823E and
        return None.
        """
        names = port_names(instance)
        if name in names:
            return names.index(name)
        bindings = instance.invocation.inputs if instance.invocation is not None else ()
        short = name.rpartition(".")[2]
        for port, binding in enumerate(bindings[: len(names)]):
            if name == binding.name:
                return port
        for port, binding in enumerate(bindings[: len(names)]):
            if name in binding.streams or short in binding.streams:
                return port
        known = (*names, *(stream for binding in bindings for stream in binding.streams))
        message = f"the region has no input port {name}{nearest(name, known)}"
        self.substitution.report("CDISP0823E", message, instance.name, parallel, *path)
        return None

    def _check_attributes(
        self, attributes: tuple[str, ...], port: int, instance: Instance, parallel: Parallel, *path: str | int
    ) -> None:
        bindings = instance.invocation.inputs if instance.invocation is not None else ()
        scope = instance.parent
        for position, attribute in enumerate(attributes):
            if attribute in attributes[:position]:
                message = f"the attribute {attribute} is named twice"
                self.substitution.report("CDISP0825E", message, instance.name, parallel, *path, position)
                continue
            for stream in bindings[port].streams if scope is not None and port < len(bindings) else ():
                assert scope is not None
                lacking = [
                    schema
                    for schema in self.schemas(scope, stream)
                    if schema is not None and attribute not in schema.names
                ]
                if lacking:
                    near = nearest(attribute, lacking[0].names)
                    message = f"the stream {stream} has no attribute {attribute}{near}"
                    self.substitution.report("CDISP0824E", message, instance.name, parallel, *path, position)
                    break
