"""The logical graph: an application flattened to primitive operators, with every value in place.

Composites are opened up, submission-time values are substituted, and configs and annotations are resolved for the
operators that they reach. Values that depend on a channel stay open until the parallel transformation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams_orchestration.compiler.logical.event_time_annotations import event_time_annotation
from streams_orchestration.compiler.logical.inheritance import Inheritance
from streams_orchestration.compiler.logical.instances import (
    MAX_OPERATORS,
    InstanceTree,
    PrimitiveInstance,
    count_operators,
)
from streams_orchestration.compiler.logical.parallel_annotations import (
    RegionDeclarations,
    misplaced_widths,
    number_regions,
    port_names,
)
from streams_orchestration.compiler.logical.region_annotations import consistent_annotations
from streams_orchestration.compiler.logical.substitution import Substitution
from streams_orchestration.compiler.logical.tuple_types import TupleTypes
from streams_orchestration.compiler.logical.windows import single_threaded, windows_of
from streams_orchestration.compiler.logical_graph import (
    HostPool,
    ImportExport,
    InputPort,
    LogicalConnection,
    LogicalGraph,
    LogicalOperator,
    OutputPort,
)
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.application import Application, Invocation
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.location import Location
from streams_orchestration.model.names import LONGEST_NAME, nearest
from streams_orchestration.model.operators import OutputPortModel
from streams_orchestration.model.schema import Schema
from streams_orchestration.model.signatures import routes_failures
from streams_orchestration.model.standard import EXPORT, IMPORT, JOB_CONTROL_PLANE
from streams_orchestration.model.values import show


def build_logical_graph(application: Application, options: Options) -> tuple[LogicalGraph, list[Diagnostic]]:
    """Flatten an application.

    It always returns a graph: a part in error has a diagnostic, and is left out or takes a default, so that later
    stages can find more errors. The graph of an application with more than `MAX_OPERATORS` is empty.

    Args:
        application: the application; its names and declarations are checked, no composite contains itself.
        options: the options of the compiler.
    """
    diagnostics: list[Diagnostic] = []
    if options.name is not None:
        application = application.model_copy(update={"application": options.name})
    substitution = Substitution(application, options, diagnostics)
    operators = count_operators(application)
    if operators > MAX_OPERATORS:
        message = f"the composites expand to {operators} operators; at most {MAX_OPERATORS} are possible"
        diagnostics.append(Diagnostic.of("SO0501", message))
        return LogicalGraph(application.application, (), ()), diagnostics
    builder = _Builder(application, options, substitution)
    return builder.graph(), list(dict.fromkeys(diagnostics))


class _Builder:
    def __init__(self, application: Application, options: Options, substitution: Substitution) -> None:
        self.application = application
        self.options = options
        self.substitution = substitution
        self.diagnostics = substitution.diagnostics
        self.tree = InstanceTree(application)
        self.types = TupleTypes(self.tree, self.diagnostics)
        self.order = number_regions(self.tree)
        self.inheritance = Inheritance(application, options, substitution)

    def graph(self) -> LogicalGraph:
        self.diagnostics.extend(misplaced_widths(self.tree))
        declarations = RegionDeclarations(self.options, self.substitution, self.types.of_stream, self.tree.uid)
        regions = tuple(declarations.regions(self.order))
        operators = tuple(map(self.operator, self.tree.primitives))
        imports: list[ImportExport] = []
        connections = sorted(self.connections(imports), key=lambda each: each[:2])
        exports = list(self.exports())
        self.check_job_control_planes()
        self.check_names()
        self.check_uids()
        annotations = tuple(consistent_annotations(self.tree, self.substitution))
        self.check_unused()
        return LogicalGraph(
            application=self.application.application,
            operators=operators,
            connections=tuple(connections),
            regions=regions,
            annotations=annotations,
            imports=tuple(imports),
            exports=tuple(exports),
            host_pools=tuple(HostPool(pool.name, pool.tags, pool.size) for pool in self.application.host_pools),
            submission=dict(self.substitution.values),
            description=self.application.description,
            plan_only=self.application.plan_only,
            file=place.file if (place := self.application.location()) is not None else "",
            time_zone=self.application.time_zone,
        )

    def operator(self, instance: PrimitiveInstance) -> LogicalOperator:
        invocation, signature = instance.invocation, instance.signature
        parameters: dict[str, Any] = {
            key: self.substitution.value(value, invocation, "parameters", key, operator=instance.name)
            for key, value in invocation.parameters.items()
        }
        custom = instance.standard and invocation.operator == "Custom"
        inputs = self.inputs(instance, parameters, custom=custom)
        config = self.inheritance.config(instance)
        return LogicalOperator(
            index=instance.index,
            name=instance.name,
            kind=invocation.operator,
            implementation=signature.implementation,
            inputs=inputs,
            outputs=tuple(self.outputs(instance)),
            parameters=parameters,
            standard=instance.standard,
            regions=instance.regions,
            composites=tuple(each.name for each in reversed(instance.parent.enclosing())),
            stateful=signature.stateful,
            single_threaded=single_threaded(
                signature.single_threaded, windows_of(parameters, tuple(port.name for port in inputs))
            ),
            waits=tuple(wait for wait in signature.waits if max(wait) < len(inputs)),
            may_be_member=signature.consistent.member,
            may_start=signature.consistent.start,
            region_reason=signature.consistent.reason,
            engine=signature.engine,
            event_time=event_time_annotation(instance, self.substitution),
            watermark_mode=signature.watermark_mode,
            threaded_ports=config.threaded_ports,
            threading=self.inheritance.threading(instance),
            partition=config.partition,
            host_placement=config.host_placement,
            host=config.host,
            host_pool=config.host_pool,
            restartable=config.restartable,
            relocatable=config.relocatable,
            checkpoint=config.checkpoint,
            checkpoint_period=config.checkpoint_period,
            uncommitted=config.uncommitted,
            complete_within=config.complete_within,
            atomic=self.inheritance.atomic(instance),
            submits=tuple(not binding.control for binding in invocation.inputs) if custom else (),
            location=invocation.location(),
            parameter_locations=_parameter_locations(invocation),
            uid=self.tree.uid(instance),
        )

    def inputs(self, instance: PrimitiveInstance, parameters: dict[str, Any], *, custom: bool) -> tuple[InputPort, ...]:
        names = port_names(instance)
        windows = windows_of(parameters, names)
        ports: list[InputPort] = []
        for port, binding in enumerate(instance.invocation.inputs):
            model = instance.signature.input(port)
            mutable, mutates = model.is_mutable, model.mutates
            if custom and binding.mutates is not None:
                mutates = binding.mutates
                # Only a Custom without outputs has a port turned immutable that its logic leaves alone (rule 79).
                mutable = bool(binding.mutates) or bool(instance.outputs)
            if mutable and mutates:
                self.check_mutated(instance, port, mutates)
            punctuated = port in windows and windows[port].eviction == "punct"
            ports.append(
                InputPort(
                    name=names[port],
                    mutable=mutable,
                    mutates=mutates if mutable else None,
                    control=model.control or binding.control,
                    expects_window_punctuation=model.expects_window_punctuation or (model.window_bound and punctuated),
                )
            )
        return tuple(ports)

    def check_mutated(self, instance: PrimitiveInstance, port: int, mutates: tuple[str, ...]) -> None:
        for stream in instance.invocation.inputs[port].streams:
            for schema in self.types.of_stream(instance.parent, stream):
                lacking = [name for name in mutates if schema is not None and name not in schema.names]
                if schema is not None and lacking:
                    near = nearest(lacking[0], schema.names)
                    message = f"input port {port} mutates {lacking[0]}, which {stream} does not have{near}"
                    self.substitution.report("SO0306", message, instance.name, instance.invocation, "inputs", port)

    def outputs(self, instance: PrimitiveInstance) -> Iterator[OutputPort]:
        bindings = instance.invocation.outputs or ()
        last = len(instance.outputs) - 1
        failures = last if routes_failures(instance.signature, instance.invocation) else None
        for port in range(len(instance.outputs)):
            model = OutputPortModel(mutable=True) if port == failures else instance.signature.output(port)
            schema = self.types.of(instance, port)
            rate: float | None = None
            if port < len(bindings):
                rate, _ = self.substitution.number(bindings[port].rate, bindings[port], "rate", instance.name)
            yield OutputPort(
                stream=self.tree.stream_name(instance, port),
                mutable=model.mutable,
                generates_window_punctuation=model.generates_window_punctuation,
                preserves_window_punctuation=model.preserves_window_punctuation,
                schema=schema.ddl if schema is not None else None,
                rate=rate,
            )

    def connections(self, imports: list[ImportExport]) -> Iterator[LogicalConnection]:
        """Yield the connections in the order of their consumers; streams of Imports go into `imports` instead."""
        for consumer in self.tree.primitives:
            for port, binding in enumerate(consumer.invocation.inputs):
                for stream in binding.streams:
                    for producer, source_port, path in self.tree.sources(consumer.parent, stream):
                        if producer.index >= 0:
                            yield LogicalConnection(producer.index, source_port, consumer.index, port, path)
                        elif producer.invocation.operator == IMPORT:
                            schema = self.types.of(producer, source_port)
                            imports.append(self.link("import", producer, consumer.index, port, schema))

    def exports(self) -> Iterator[ImportExport]:
        for special in self.tree.specials:
            if special.invocation.operator != EXPORT:
                continue
            for port, binding in enumerate(special.invocation.inputs):
                for stream in binding.streams:
                    for producer, source_port, _ in self.tree.sources(special.parent, stream):
                        if producer.index >= 0:
                            schema = self.types.of(producer, source_port)
                            yield self.link("export", special, producer.index, source_port, schema)
                        else:
                            message = f"{special.name} exports the imported stream {stream}"
                            self.substitution.report(
                                "SO0406", message, special.name, special.invocation, "inputs", port
                            )

    def link(
        self, kind: Any, special: PrimitiveInstance, operator: int, port: int, schema: Schema | None
    ) -> ImportExport:
        invocation = special.invocation
        return ImportExport(
            kind=kind,
            name=special.name,
            operator=operator,
            port=port,
            parameters={
                key: self.substitution.value(value, invocation, "parameters", key, operator=special.name)
                for key, value in invocation.parameters.items()
            },
            regions=special.regions,
            composites=tuple(each.name for each in reversed(special.parent.enclosing())),
            autonomous=invocation.annotations.autonomous,
            schema=schema.ddl if schema is not None else None,
            location=invocation.location(),
        )

    def check_job_control_planes(self) -> None:
        """Report job control planes: one is ignored, but several or one in a parallel region are errors (rule 38)."""
        planes = [each for each in self.tree.specials if each.invocation.operator == JOB_CONTROL_PLANE]
        if len(planes) > 1:
            message = "this is the first JobControlPlane"
            self.substitution.report("CDISP0847D", message, planes[0].name, planes[0].invocation)
        for position, plane in enumerate(planes):
            findings = [("CDISP0846E", f"{planes[0].name} is already a JobControlPlane")] if position else []
            if plane.regions:
                findings.append(("CDISP0848E", "a JobControlPlane cannot be in a parallel region"))
            for code, message in findings:
                self.substitution.report(code, message, plane.name, plane.invocation)

    def check_uids(self) -> None:
        """Report operators, Imports and Exports whose identity has another owner already.

        The owner is an earlier one with the same identity, or one that has no identity, by its full name. An identity
        comes from a uid of the operator itself or of a composite around it; see `InstanceTree.uid`.
        """
        if not self.tree.has_uids:
            return
        uids = {each: self.tree.uid(each) for each in (*self.tree.primitives, *self.tree.specials)}
        owners = {each.name: each for each, uid in uids.items() if not uid}
        for instance, uid in uids.items():
            if not uid or (first := owners.setdefault(uid, instance)) is instance:
                continue
            message = f"the uid {uid} is {'that' if uids[first] else 'the name'} of {first.name} already"
            self.substitution.report("SO0114", message, instance.name, instance.invocation, "uid")

    def check_names(self) -> None:
        for instance in (*self.tree.primitives, *self.tree.specials):
            streams = {self.tree.stream_name(instance, port) for port in range(len(instance.outputs))}
            for name in sorted({instance.name, *streams}):
                if len(name) > LONGEST_NAME:
                    message = (
                        f"the full name {show(name)} has {len(name)} characters, but at most {LONGEST_NAME} are "
                        "possible, since files have its name; shorten it, or the names of the composites around it"
                    )
                    key = "name" if name == instance.name else "outputs"
                    self.substitution.report("SO0105", message, instance.name, instance.invocation, key)

    def check_unused(self) -> None:
        application = self.application
        used_operators = {each.invocation.operator for each in (*self.tree.primitives, *self.tree.specials)}
        used_operators |= {each.invocation.operator for each in self.tree.composites() if each.invocation is not None}
        unused = (
            ("submission", "submission-time value", application.submission.keys() - self.substitution.used),
            ("schemas", "schema", application.schemas.keys() - self.types.used),
            ("operators", "declared operator", application.operators.keys() - used_operators),
            ("composites", "composite", application.composites.keys() - used_operators),
        )
        for key, noun, names in unused:
            if key == "submission" and application.plan_only:
                continue  # parameters and logic use them, and they are not there
            for name in sorted(names):
                self.substitution.report("SO0111", f"the {noun} {name} is not used", "", application, key, name)


def _parameter_locations(invocation: Invocation) -> tuple[tuple[str, Location], ...]:
    """Return the locations of parameters whose location differs from their operator's."""
    first = invocation.location()
    places = ((name, invocation.location("parameters", name)) for name in invocation.parameters)
    return tuple((name, place) for name, place in places if place is not None and place != first)
