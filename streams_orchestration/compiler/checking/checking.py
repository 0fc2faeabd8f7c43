"""Checks that need the operators' classes: of parameters, expressions, attributes and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from streams_orchestration.compiler.checking.expression_faults import expression_fault
from streams_orchestration.compiler.checking.external_streams import check_external_streams
from streams_orchestration.compiler.checking.incomplete_parameters import missing_in, with_examples
from streams_orchestration.compiler.checking.natives import faulty_natives, without_class
from streams_orchestration.compiler.checking.not_yet import refused_queries
from streams_orchestration.compiler.checking.spl_calls import refused_calls
from streams_orchestration.compiler.compilation import Stages, need
from streams_orchestration.compiler.event_time.roles import roles_by_operator
from streams_orchestration.compiler.implementations import (
    implementation_name,
    import_beside,
    is_standard,
    load_operator,
)
from streams_orchestration.compiler.logical_graph import LogicalGraph, LogicalOperator
from streams_orchestration.compiler.parallel.intrinsics import substitute_channels
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import EventTimeMap
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.schema import parse_schema
from streams_orchestration.model.secrets import hidden_in
from streams_orchestration.operators.contract import Operator, OperatorContext
from streams_orchestration.operators.errors import FaultyExpressionError, UnknownAttributeError
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.expression import Noted, noted
from streams_orchestration.operators.faults import all_faults
from streams_orchestration.operators.implementation import ImplementationError, wrong_method
from streams_orchestration.operators.mentions import Mentions
from streams_orchestration.operators.parameter_errors import parameter_errors
from streams_orchestration.operators.storage.input_files import resolve_inputs


def running_limits(graph: LogicalGraph) -> Iterator[Diagnostic]:
    """Yield a warning for each queue with a policy to drop tuples."""
    for operator in graph.operators:
        for queue in operator.threaded_ports:
            if queue.congestion_policy != "Sys.Wait":
                policy = f"the queue of input port {queue.port} has the policy {queue.congestion_policy}"
                message = f"{policy}, but drops no tuples here: while it is full, its producers wait"
                yield Diagnostic.of("SO5007", message, operator=operator.name, location=operator.location)


def check_parameters(done: Stages) -> list[Diagnostic]:
    """Return the faults of standard operators that do not depend on where the application runs.

    These are unknown parameters and values, values of a wrong type, and attributes that a stream does not have. Faults
    that only matter when the application runs here, such as missing required parameters, are left to
    `check_operators`, since an application may be compiled only. A missing input file is a warning.
    """
    logical = need(done.logical)
    import_beside(logical.file)
    checked = _checked(logical, done.physical)
    wrong = [fault for each in checked for fault in faulty_natives(each.operator, deploys=False)]
    wrong += [fault for each in checked for fault in refused_calls(each.operator, done.regions, deploys=False)]
    standard = [each for each in checked if is_standard(each.operator)]
    found = [finding.diagnostic for each in standard for finding in _faults(each, None) if finding.anywhere]
    native = [each for each in checked if each.operator.is_native and each.operator.implementation is not None]
    found += [finding.diagnostic for each in native for finding in _faults(each, None)]
    return [*wrong, *found, *_advice(standard)]


def check_operators(done: Stages, notes: dict[int, list[Noted]] | None = None) -> list[Diagnostic]:
    """Return all errors that keep an application from running here, and warnings on parameters without effect.

    Args:
        done: the stages so far, at least the logical graph; the expanded graph is missing after errors in earlier
            stages.
        notes: receives the expressions of each operator, by its number.
    """
    logical, physical = need(done.logical), done.physical
    import_beside(logical.file)
    diagnostics = [*running_limits(logical)]
    if physical is not None:
        diagnostics += check_external_streams(physical, logical.time_zone)
        if done.event_time is not None:
            diagnostics += refused_queries(logical, physical, done.event_time)
    places: dict[Path | str, LogicalOperator] = {}
    checked = _checked(logical, physical, done.event_time)
    for each in checked:
        operator = each.operator
        if (missing := without_class(operator)) is not None:
            diagnostics.append(missing)
            continue
        try:
            implementation_name(operator)
        except ImplementationError as error:
            diagnostics.append(_diagnostic("SO5001", operator, str(error)))
            continue
        refused = refused_calls(operator, done.regions, deploys=True)
        diagnostics += refused
        if natives := faulty_natives(operator, deploys=True):
            diagnostics += natives
            continue
        if any(each.code == "SO0734" for each in refused):
            continue
        with noted() as found:
            diagnostics += (finding.diagnostic for finding in _faults(each, places))
        if notes is not None and found:
            notes[operator.index] = found
    return [*diagnostics, *_advice(checked)]


@dataclass(frozen=True, slots=True)
class _Checked:
    """One operator with the facts about it that its checks read."""

    operator: LogicalOperator
    parameters: dict[str, Any] | None
    """The parameters of the operator, in which channel functions have the values of the first replica (rule 32).

    None if an error in an earlier stage left no expanded graph, so that these values are unknown.
    """
    inputs: list[str] | None
    """The tuple type of each input port. None if a stream has no schema; other checks report such a stream."""
    submission: Mapping[str, Any]
    """The submission-time values; messages must not show the secrets among them."""
    zone: str
    """The time zone of the application."""
    event_time: EventTimeRole | None = None
    """Its role in an event-time graph."""


def _checked(
    logical: LogicalGraph, physical: PhysicalGraph | None, event_time: EventTimeMap | None = None
) -> list[_Checked]:
    replicas = {each.logical: each for each in reversed(physical.operators)} if physical is not None else {}
    types, roles = _input_types(logical), roles_by_operator(event_time, physical, logical)

    def parameters(operator: LogicalOperator) -> dict[str, Any] | None:
        if "${" not in str(operator.parameters):
            return operator.parameters
        if physical is None:
            return None
        replica = replicas.get(operator.index)
        return operator.parameters if replica is None else substitute_channels(operator.parameters, replica)

    return [
        _Checked(
            each, parameters(each), types[each.index], logical.submission, logical.time_zone, roles.get(each.index)
        )
        for each in logical.operators
    ]


def _input_types(logical: LogicalGraph) -> dict[int, list[str] | None]:
    inputs: dict[int, list[str | None]] = {each.index: [None] * len(each.inputs) for each in logical.operators}
    for connection in logical.connections:
        source = logical.operators[connection.source]
        inputs[connection.target][connection.target_port] = source.outputs[connection.source_port].schema
    for link in logical.imports:
        types = inputs[link.operator]
        types[link.port] = types[link.port] or link.schema
    known = {index: [ddl for ddl in types if ddl is not None] for index, types in inputs.items()}
    return {index: types if len(types) == len(inputs[index]) else None for index, types in known.items()}


def _advice(operators: Iterable[_Checked]) -> Iterator[Diagnostic]:
    """Yield advice on values of parameters that users rarely intend, each advice once."""
    said: set[str] = set()
    for each in operators:
        operator = each.operator
        if each.parameters is None:
            continue
        try:
            implementation = load_operator(operator)
            text = implementation.advice(implementation.Parameters.model_validate(each.parameters))
        except (ImplementationError, ValidationError):
            continue
        if text is not None and text not in said:
            said.add(text)
            yield _diagnostic("SO5011", operator, text, text.partition(":")[0])


class _Fault(NamedTuple):
    diagnostic: Diagnostic
    anywhere: bool = False
    """True if the fault is one in IBM Streams, too, and not only when the application runs here."""


def _faults(checked: _Checked, places: dict[Path | str, LogicalOperator] | None) -> list[_Fault]:
    """Return the faults of one operator as `_faults_as_raised` does, with each secret value in a message hidden."""
    secret = [checked.operator.parameters, checked.submission]
    return [
        finding._replace(diagnostic=replace(finding.diagnostic, message=hidden_in(finding.diagnostic.message, secret)))
        for finding in _faults_as_raised(checked, places)
    ]


def _faults_as_raised(checked: _Checked, places: dict[Path | str, LogicalOperator] | None) -> list[_Fault]:
    """Return the faults of one operator.

    Args:
        checked: the operator.
        places: the directory of each operator that publishes files, to find a second operator with the same directory.
            With None, only the faults are found that IBM Streams reports, too.
    """
    operator, written, inputs = checked.operator, checked.parameters, checked.inputs
    try:
        implementation = load_operator(operator)
    except ImplementationError as error:
        return [_Fault(_diagnostic("SO5002", operator, str(error)))]
    if written is None:
        return []
    if foreign := _foreign_logic(operator, implementation, written):
        return [foreign]
    try:
        parameters = implementation.Parameters.model_validate(written)
    except ValidationError as error:
        wrong = [each for each in parameter_errors(implementation, error) if not each.of_clause]
        found = [_Fault(_diagnostic("SO5003", operator, each.text, each.parameter), each.anywhere) for each in wrong]
        sound = {name: value for name, value in written.items() if name not in {each.parameter for each in wrong}}
        return [*found, *_wrong_expressions(checked, implementation, sound, anywhere=places is None)]
    found = list[_Fault]()
    if places is None and (missing := _missing_file(operator, implementation, parameters)):
        found.append(_Fault(_diagnostic("SO5008", operator, missing), anywhere=True))
    if operator.engine != "dataframe" and (wrong := wrong_method(implementation, len(operator.inputs))):
        return [*found, _Fault(_diagnostic("SO5002", operator, wrong))]
    if conflict := _model_conflict(operator, implementation):
        found.append(_Fault(_diagnostic("SO5004", operator, conflict)))
    if inputs is None or (places is None and _plainly_known(operator, implementation.mentions(parameters), inputs)):
        return found
    context = _context(checked, inputs)
    faults = all_faults(lambda: implementation.check(context, parameters), standard=is_standard(operator))
    found += (_fault(operator, each) for each in faults)
    if found or places is None:
        return found
    try:
        place = implementation.directory(context, parameters)
    except Exception as error:  # noqa: BLE001  whatever the code of a user's operator raises
        return [_fault(operator, error)]
    if place is None or places.setdefault(place, operator) is operator:
        return []
    text = f"{place}: {places[place].name} publishes into this directory, too; give each a directory of its own"
    return [_Fault(_diagnostic("SO5004", operator, text))]


def _foreign_logic(
    operator: LogicalOperator, implementation: type[Operator], written: Mapping[str, Any]
) -> _Fault | None:
    """Return a finding if an operator has a `logic` clause of SPL that its class does not run."""
    logic = written.get("spl")
    if not isinstance(logic, dict) or "spl" in implementation.Parameters.model_fields:
        return None
    clauses = [name for name in ("state", "onTuple", "onPunct", "onProcess") if name in logic]
    if not clauses and not is_standard(operator):
        return None
    text = f"{operator.kind} does not run {', '.join(clauses) or 'spl'} of SPL; move it to a Custom"
    return _Fault(_diagnostic("SO0724", operator, text, "spl"), anywhere=True)


def _fault(operator: LogicalOperator, error: Exception) -> _Fault:
    """Return the finding for an error that the operator's own check raised."""
    if isinstance(error, FaultyExpressionError):
        fault = expression_fault("SO5004", error, operator.name, operator.location, operator.location_of)
    else:
        text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        fault = _diagnostic("SO5004", operator, text)
    return _Fault(fault, isinstance(error, UnknownAttributeError))


def _wrong_expressions(
    checked: _Checked, implementation: type[Operator], sound: dict[str, Any], *, anywhere: bool
) -> list[_Fault]:
    """Return the faults of the expressions of an operator that has wrong values in other parameters.

    Args:
        checked: the operator.
        implementation: the class of the operator.
        sound: the parameters with right values.
        anywhere: True to find only faults that IBM Streams reports, too.
    """
    operator, inputs = checked.operator, checked.inputs
    if inputs is None:
        return []
    standard = is_standard(operator)
    try:
        parameters = implementation.Parameters.model_validate(sound)
    except ValidationError:
        parameters = with_examples(implementation.Parameters, sound) if standard else None
        if parameters is None:
            return []
    else:
        if anywhere and _plainly_known(operator, implementation.mentions(parameters), inputs):
            return []
    context = _context(checked, inputs)
    faults = all_faults(lambda: implementation.check(context, parameters), standard=standard)
    missing = missing_in(implementation.Parameters, sound)
    return [
        _fault(operator, each)
        for each in faults
        if (isinstance(each, FaultyExpressionError) and each.parameter.partition(".")[0] not in missing)
        or (standard and type(each) is UnknownAttributeError)
    ]


def _model_conflict(operator: LogicalOperator, implementation: type[Operator]) -> str | None:
    """Return the first contradiction between the class and the model that the application declares for it."""
    mode, name = implementation.watermark_mode, operator.kind.rpartition(":")[2]
    if mode is not None and mode != operator.watermark_mode and not is_standard(operator):
        return (
            f"the code of {implementation.__name__} sets its watermarks in the mode {mode}; declare it: "
            f"operators: {{{name}: {{implementation: {implementation.__module__}:{implementation.__name__}, "
            f"watermarkMode: {mode}}}}}"
        )
    if implementation.model is None:
        return None
    for side, declared, given in (
        ("input", implementation.model.inputs, operator.inputs),
        ("output", implementation.model.outputs, operator.outputs),
    ):
        if declared == () and given:
            return f"{implementation.__name__} has no {side} ports, and {len(given)} are given"
    signature, wanted = implementation.model.signature(), ""
    for number, port in enumerate(operator.inputs):
        needs = signature.input(number)
        covered = port.mutable and (port.mutates is None or set(needs.mutates or port.mutates) <= set(port.mutates))
        if needs.is_mutable and not (covered and (needs.mutates or port.mutates is None)):
            what = f"mutates: [{', '.join(needs.mutates)}]" if needs.mutates else "mutable: true"
            wanted = f"inputs: [{{{what}}}]"
    for number, output in enumerate(operator.outputs):
        if signature.output(number).preserves_window_punctuation and not output.preserves_window_punctuation:
            wanted += (", " if wanted else "") + "outputs: [{mutable: true, preservesWindowPunctuation: true}]"
    if not wanted:
        return None
    return (
        f"the code of {implementation.__name__} needs more of its ports than the application says; declare it: "
        f"operators: {{{name}: {{implementation: {implementation.__module__}:{implementation.__name__}, {wanted}}}}}"
    )


def _missing_file(operator: LogicalOperator, implementation: type[Operator], parameters: Any) -> str | None:
    """Return the first input file that cannot be read, with the reason."""
    for file in implementation.input_files(parameters):
        try:
            resolve_inputs(file, _base(operator))
        except ValueError as error:
            return str(error)
    return None


def _base(operator: LogicalOperator) -> Path:
    """Return the directory from which relative input paths start."""
    return Path(operator.location.file).absolute().parent if operator.location else Path.cwd()


def _plainly_known(operator: LogicalOperator, mentions: Mentions | None, inputs: list[str]) -> bool:
    """Return True if all names in the expressions are attributes of the streams; False if a full check must tell."""
    if mentions is None:
        return False
    outputs = [output.schema for output in operator.outputs]
    known = [inputs[0] if ddl is None and inputs else ddl for ddl in outputs]
    return mentions.are_known(
        [parse_schema(ddl).names for ddl in inputs], [parse_schema(ddl).names if ddl else () for ddl in known]
    )


def _context(checked: _Checked, inputs: list[str]) -> OperatorContext:
    """Return the context that the operator's checks take."""
    operator = checked.operator
    context = OperatorContext.declared(
        operator.name,
        inputs,
        (output.schema for output in operator.outputs),
        _base(operator),
        (port.name for port in operator.inputs),
        checked.zone,
    )
    context.event_time = checked.event_time
    return context


def _diagnostic(code: str, operator: LogicalOperator, message: str, parameter: str = "") -> Diagnostic:
    return Diagnostic.of(code, message, operator=operator.name, location=operator.location_of(parameter))
