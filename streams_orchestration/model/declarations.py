"""Checks of declarations, annotations and configs that need no submission-time values: allowed places, combinations."""

from __future__ import annotations

from collections.abc import Callable

from streams_orchestration.model.annotations import Annotations
from streams_orchestration.model.application import Application, Composite, Invocation
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.element import Element
from streams_orchestration.model.names import nearest
from streams_orchestration.model.placement import Config
from streams_orchestration.model.schema import parse_schema
from streams_orchestration.model.scopes import graphs
from streams_orchestration.model.signatures import is_standard, signature_of
from streams_orchestration.model.standard import EXPORT, IMPORT, JOB_CONTROL_PLANE, NO_NODES

Report = Callable[..., None]
_OF_EXPORT = {"congestionPolicy": ("wait", "dropConnection"), "visibility": ("read_committed", "read_uncommitted")}
"""Parameter of an Export -> its allowed values; the first one is the default."""
_OF_JOB_CONTROL_PLANE = {"parallel": "CDISP0848E", "consistent": "CDISP0849E", "eventTime": "CDISP0849E"}


def check_declarations(application: Application) -> list[Diagnostic]:
    """Report wrong schemas, pools, annotations and configs as diagnostics (A3, A8, A9, rules 35, 38, 44, 67)."""
    diagnostics: list[Diagnostic] = []

    def report(code: str, message: str, element: Element, *path: str | int, operator: str = "") -> None:
        diagnostics.append(Diagnostic.of(code, message, operator=operator, location=element.location(*path)))

    for name, text in application.schemas.items():
        for problem in parse_schema(text).errors:
            report("SO0301", f"{name}: {problem}", application, "schemas", name)
    pools: set[str] = set()
    for pool in application.host_pools:
        if pool.name in pools:
            report("SO0112", f"two host pools are called {pool.name}", pool, "name")
        pools.add(pool.name)
    _check_definition(application, "", report)
    for name, composite, graph in graphs(application):
        if composite is not None:
            _check_definition(composite, name, report)
            _check_config(application, composite.config, name, report)
        for invocation in graph:
            operator = f"{name}.{invocation.name}" if name else invocation.name
            _check_invocation(application, invocation, operator, report)
    _check_config(application, application.config, "", report)
    return diagnostics


def _check_definition(element: Application | Composite, name: str, report: Report) -> None:
    for annotation in ("parallel", "consistent", "autonomous", "atomic"):
        if getattr(element.annotations, annotation):
            message = f"{annotation} belongs on an invocation, not on a definition"
            report("CDISP0812E", message, element, "annotations", annotation, operator=name)
    if element.annotations.event_time is not None:
        _refuse_event_time(name, element, report, "annotations", "eventTime")
    _check_threading(element.annotations, name, report)
    if element.config.threaded_port:
        message = "threadedPort belongs on the invocation of a primitive operator"
        report("CDISP0489E", message, element, "config", "threadedPort", operator=name)


def _refuse_event_time(composite: str, element: Element, report: Report, *path: str) -> None:
    """Refuse `eventTime` on a composite (EV1)."""
    message = "eventTime belongs on primitive operators, not on a composite"
    report("CDISP0876E", message, element, *path, operator=composite)


def _check_threading(annotations: Annotations, operator: str, report: Report) -> None:
    threading = annotations.threading
    if threading is None:
        return
    if threading.model != "dynamic" and (threading.threads is not None or threading.elastic is not None):
        message = f"threads and elastic are for the model dynamic, not for {threading.model}"
        report("SO0402", message, threading, operator=operator)
    if isinstance(threading.threads, int) and threading.threads < 1:
        report("SO0401", f"threads is at least 1, not {threading.threads}", threading, "threads", operator=operator)


def _check_invocation(application: Application, invocation: Invocation, operator: str, report: Report) -> None:
    annotations = invocation.annotations
    if annotations.consistent is not None and annotations.autonomous:
        report("CDISP0694E", "consistent and autonomous exclude each other", annotations, operator=operator)
    consistent = annotations.consistent
    if consistent is not None and consistent.trigger == "periodic" and consistent.period is None:
        report("CDISP0840E", "trigger periodic needs a period", consistent, operator=operator)
    if consistent is not None and consistent.trigger == "operatorDriven" and consistent.period is not None:
        report("CDISP0841E", "a period needs trigger: periodic", consistent, "period", operator=operator)
    composite = invocation.operator in application.composites
    primitive = not composite and signature_of(application, invocation.operator) is not None
    if primitive and annotations.threading is not None:
        message = "threading belongs on composites, not on a primitive operator"
        report("CDISP0851E", message, annotations, "threading", operator=operator)
    if composite and annotations.event_time is not None:
        _refuse_event_time(operator, annotations, report, "eventTime")
    if composite and invocation.parameters:
        message = f"{invocation.operator} is a composite and takes no parameters"
        report("SO0407", message, invocation, "parameters", operator=operator)
    if composite and invocation.config.threaded_port:
        message = "threadedPort belongs on the invocation of a primitive operator"
        report("CDISP0489E", message, invocation, "config", "threadedPort", operator=operator)
    _check_threading(annotations, operator, report)
    standard = is_standard(application, invocation.operator)
    for port, binding in enumerate(invocation.inputs):
        if binding.mutates is not None and not (standard and invocation.operator == "Custom"):
            message = f"{invocation.operator} is not a Custom, so its model says what it mutates"
            report("SO0408", message, invocation, "inputs", port, operator=operator)
    if standard and invocation.operator in NO_NODES:
        _check_special(invocation, operator, report)
    _check_queues(invocation, operator, report)
    _check_config(application, invocation.config, operator, report)
    for position, output in enumerate(invocation.outputs or ()):
        text = output.tuple_type
        if isinstance(output.rate, float) and output.rate <= 0:
            message = f"the rate is above zero, not {output.rate}"
            report("SO0401", message, invocation, "outputs", position, "rate", operator=operator)
        if text is None:
            continue
        if text.isidentifier():
            if text not in application.schemas:
                message = f"there is no schema {text}{nearest(text, application.schemas)}"
                report("SO0302", message, invocation, "outputs", position, "schema", operator=operator)
        else:
            for problem in parse_schema(text).errors:
                report("SO0301", problem, invocation, "outputs", position, "schema", operator=operator)


def _check_special(invocation: Invocation, operator: str, report: Report) -> None:
    annotations = invocation.annotations
    for name, annotation in (
        ("parallel", annotations.parallel),
        ("consistent", annotations.consistent),
        ("eventTime", annotations.event_time),
    ):
        if annotation is not None:
            code = _OF_JOB_CONTROL_PLANE[name] if invocation.operator == JOB_CONTROL_PLANE else "CDISP0815E"
            message = f"{name} cannot be combined with {invocation.operator}"
            report(code, message, annotations, name, operator=operator)
    if invocation.operator == JOB_CONTROL_PLANE and annotations.autonomous:
        report("CDISP0849E", "autonomous cannot be combined with JobControlPlane", annotations, operator=operator)
    parameters = invocation.parameters
    if invocation.operator in (IMPORT, EXPORT) and not parameters:
        # Streams takes it; it may be on purpose while an application is only compiled.
        message = f"{invocation.name} has no parameters, which must name its streams"
        report("SO0409", message, invocation, operator=operator)
    elif invocation.operator == IMPORT and ("subscription" in parameters) == ("streamId" in parameters):
        message = "an Import takes either `subscription`, or `application` and `streamId`"
        report("SO0405", message, invocation, "parameters", operator=operator)
    elif invocation.operator == EXPORT and ("properties" in parameters) == ("streamId" in parameters):
        message = "an Export takes either `properties` or `streamId`"
        report("SO0405", message, invocation, "parameters", operator=operator)
    if invocation.operator == EXPORT:
        for key, choices in _OF_EXPORT.items():
            if parameters.get(key, choices[0]) not in choices:
                message = f"the {key} is {' or '.join(choices)}, not {parameters[key]!r}"
                report("SO0405", message, invocation, "parameters", key, operator=operator)
    allowed = {
        IMPORT: ("subscription", "application", "streamId", "filter", "eventTime"),
        EXPORT: ("properties", "streamId", *_OF_EXPORT),
    }
    for key in parameters:
        if invocation.operator in allowed and key not in allowed[invocation.operator]:
            message = f"{invocation.operator} has no parameter {key}{nearest(key, allowed[invocation.operator])}"
            report("SO0405", message, invocation, "parameters", key, operator=operator)


def _check_queues(invocation: Invocation, operator: str, report: Report) -> None:
    ports: set[int] = set()
    for position, queue in enumerate(invocation.config.threaded_port):
        if queue.port in ports:
            message = f"input port {queue.port} has two queues"
            report("SO0403", message, queue, "port", operator=operator)
        ports.add(queue.port)
        if queue.port >= len(invocation.inputs):
            message = f"there is no input port {queue.port}; {invocation.name} has {len(invocation.inputs)}"
            report("SO0305", message, invocation, "config", "threadedPort", position, operator=operator)


def _check_config(application: Application, config: Config, operator: str, report: Report) -> None:
    placement = config.placement
    if placement is None or placement.host_pool is None:
        return
    pools = [pool.name for pool in application.host_pools]
    if "${" not in placement.host_pool and placement.host_pool not in pools:
        message = f"there is no host pool {placement.host_pool}{nearest(placement.host_pool, pools)}"
        report("SO0404", message, placement, "hostPool", operator=operator)
