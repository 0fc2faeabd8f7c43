"""Checks of names and references in each graph: operators, invocations, streams and ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams_orchestration.model.application import Application, Composite, Invocation
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.names import nearest
from streams_orchestration.model.signatures import most_outputs, output_names, signature_of
from streams_orchestration.model.standard import STANDARD

MAX_COMPOSITE_DEPTH = 100
"""The most levels of composites inside composites."""


def graphs(application: Application) -> Iterator[tuple[str, Composite | None, tuple[Invocation, ...]]]:
    """Yield every graph with the name of its composite; the main graph has an empty name."""
    yield "", None, application.graph
    for name, composite in application.composites.items():
        yield name, composite, composite.graph


def check_names(application: Application, lost: Iterable[str] = ()) -> list[Diagnostic]:
    """Return the diagnostics about names and numbers of ports of an application (codes SO01.. and SO0303).

    Args:
        application: the application.
        lost: names in elements of the spec that were left out as faulty; references to such names are not reported.
    """
    diagnostics: list[Diagnostic] = []
    forgiven = frozenset(lost)
    if not application.graph and not forgiven:
        diagnostics.append(
            Diagnostic.of("SO0113", "the main graph has no invocations", location=application.location("graph"))
        )
    for name in application.composites:
        if name in application.operators:
            message = f"{name} is both a composite and a declared operator"
            diagnostics.append(Diagnostic.of("SO0112", message, location=application.location("composites", name)))
    for name, composite, graph in graphs(application):
        diagnostics += _Graph(application, name, composite, graph, forgiven).check()
    diagnostics += _check_nesting(application)
    return diagnostics


class _Graph:
    """The checks of names and references in the graph of one composite."""

    def __init__(
        self,
        application: Application,
        name: str,
        composite: Composite | None,
        graph: tuple[Invocation, ...],
        forgiven: frozenset[str],
    ) -> None:
        self.application = application
        self.name = name
        self.composite = composite
        self.graph = graph
        self.forgiven = forgiven
        self.diagnostics: list[Diagnostic] = []
        self.ports = composite.inputs if composite is not None else ()
        self.streams: dict[str, Invocation] = {}

    def report(self, code: str, message: str, invocation: Invocation | None = None, *path: str | int) -> None:
        holder = invocation or self.composite or self.application
        operator = self.name
        if invocation is not None:
            operator = f"{self.name}.{invocation.name}" if self.name else invocation.name
        self.diagnostics.append(Diagnostic.of(code, message, operator=operator, location=holder.location(*path)))

    def check(self) -> list[Diagnostic]:
        self.check_producers()
        read: set[str] = set()
        for invocation in self.graph:
            self.check_operator(invocation)
            self.check_inputs(invocation, read)
        self.check_ports(read)
        for stream, invocation in self.streams.items():
            if stream not in read and invocation.outputs is not None:
                self.report("SO0110", f"nothing reads the stream {stream}", invocation, "outputs")
        return self.diagnostics

    def check_producers(self) -> None:
        names: dict[str, Invocation] = {}
        for invocation in self.graph:
            first = names.setdefault(invocation.name, invocation)
            if first is not invocation:
                place = first.location("name")
                since = f" by the operator in line {place.line}" if place else ""
                self.report("SO0103", f"the name {invocation.name} is taken{since}", invocation, "name")
            outputs = output_names(self.application, invocation)
            for position, stream in enumerate(outputs):
                producer = self.streams.setdefault(stream, invocation)
                if producer is not invocation:
                    message = f"the stream {stream} is also produced by {producer.name}"
                    self.report("SO0104", message, invocation, "outputs", position, "stream")
                elif stream in outputs[:position]:
                    self.report("SO0104", f"the stream {stream} is named twice", invocation, "outputs", position)

    def check_operator(self, invocation: Invocation) -> None:
        application, operator = self.application, invocation.operator
        composite = application.composites.get(operator)
        signature = signature_of(application, operator)
        written = len(output_names(application, invocation))
        if composite is not None:
            inputs, outputs = len(composite.inputs), len(composite.outputs)
            self.check_count(invocation, "input", len(invocation.inputs), inputs, inputs)
            self.check_count(invocation, "output", written, outputs, outputs)
        elif signature is not None:
            least, most = signature.least_inputs, signature.most_inputs
            self.check_count(invocation, "input", len(invocation.inputs), least, most)
            least, most = signature.least_outputs, most_outputs(signature, invocation)
            self.check_count(invocation, "output", written, least, most)
        elif operator not in self.forgiven:
            known = (*application.composites, *application.operators, *STANDARD)
            self.report("SO0101", f"there is no operator {operator}{nearest(operator, known)}", invocation, "operator")

    def check_count(self, invocation: Invocation, kind: str, count: int, least: int, most: int | None) -> None:
        if count >= least and (most is None or count <= most):
            return
        wanted = f"at least {least}" if most is None else f"{least}" if least == most else f"{least} to {most}"
        noun = f"{kind} port" if wanted in ("1", "at least 1") else f"{kind} ports"
        message = f"{invocation.operator} has {wanted} {noun}, but {count} {'is' if count == 1 else 'are'} given"
        self.report("SO0303", message, invocation, f"{kind}s")

    def check_inputs(self, invocation: Invocation, read: set[str]) -> None:
        names: set[str] = set()
        for port, binding in enumerate(invocation.inputs):
            if binding.name is not None:
                if binding.name in names:
                    self.report("SO0108", f"two input ports are called {binding.name}", invocation, "inputs", port)
                names.add(binding.name)
            for position, stream in enumerate(binding.streams):
                read.add(stream)
                if stream not in self.streams and stream not in self.ports and stream not in self.forgiven:
                    near = nearest(stream, (*self.streams, *self.ports))
                    message = f"there is no stream {stream} in scope{near}"
                    self.report("SO0102", message, invocation, "inputs", port, "streams", position)
                if stream in binding.streams[:position]:
                    message = f"the stream {stream} feeds input port {port} twice"
                    self.report("SO0109", message, invocation, "inputs", port)

    def check_ports(self, read: set[str]) -> None:
        if self.composite is None:
            return
        for kind, ports in (("inputs", self.composite.inputs), ("outputs", self.composite.outputs)):
            for position, port in enumerate(ports):
                if port in ports[:position]:
                    self.report("SO0108", f"two {kind[:-1]} ports are called {port}", None, kind, position)
        for position, stream in enumerate(self.composite.outputs):
            read.add(stream)
            if stream not in self.streams and stream not in self.forgiven:
                near = nearest(stream, self.streams)
                self.report("SO0107", f"no invocation produces the output {stream}{near}", None, "outputs", position)
        for position, port in enumerate(self.ports):
            if port not in read:
                self.report("SO0110", f"nothing reads the input port {port}", None, "inputs", position)


def _check_nesting(application: Application) -> list[Diagnostic]:
    """Report composites that contain themselves, or that are nested too deeply (SO0106).

    The depth is reported once, for one composite, and only if no composite contains itself.
    """
    inner = {
        name: sorted({call.operator for call in composite.graph if call.operator in application.composites})
        for name, composite in application.composites.items()
    }
    diagnostics: list[Diagnostic] = []
    height: dict[str, int] = {}
    for start in inner:
        path: list[str] = []
        stack: list[tuple[str, bool]] = [(start, False)]
        while stack:
            name, finished = stack.pop()
            if finished:
                path.pop()
                height[name] = 1 + max((height.get(child, 0) for child in inner[name]), default=0)
            elif name in path:
                circle = " -> ".join([*path[path.index(name) :], name])
                location = application.location("composites", name)
                diagnostics.append(Diagnostic.of("SO0106", circle, operator=name, location=location))
            elif name not in height:
                path.append(name)
                stack.append((name, True))
                stack.extend((child, False) for child in reversed(inner[name]))
    deep = [name for name, levels in height.items() if levels > MAX_COMPOSITE_DEPTH]
    if deep and not diagnostics:
        message = f"more than {MAX_COMPOSITE_DEPTH} levels of composites inside one another"
        diagnostics.append(Diagnostic.of("SO0106", message, location=application.location("composites", deep[0])))
    return diagnostics
