"""Checks of one operator that need its class: of parameters, expressions, attributes, ports and files.

A check yields the faults of one operator; `checking.py` has the order of the checks. If the class or its parameters
are wrong, which one of the checks reports, the checks that need them yield nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from streams_orchestration.compiler.checking.checked_operator import CheckedOperator, OperatorFault
from streams_orchestration.compiler.checking.expression_faults import expression_fault
from streams_orchestration.compiler.checking.incomplete_parameters import missing_in, with_examples
from streams_orchestration.compiler.checking.parameter_errors import parameter_errors
from streams_orchestration.compiler.implementations import NoImplementationError, is_standard
from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.schema import parse_schema
from streams_orchestration.operators.contract.operator import Operator, Parameters
from streams_orchestration.operators.errors.errors import FaultyExpressionError, UnknownAttributeError
from streams_orchestration.operators.errors.faults import all_faults
from streams_orchestration.operators.expressions.mentioned_attributes import Mentions
from streams_orchestration.operators.implementations.implementation import ImplementationError, wrong_method
from streams_orchestration.operators.storage.input_files import resolve_inputs


def compile_only(each: CheckedOperator) -> Iterator[OperatorFault]:
    """Yield a fault for an operator without a class, which can only be compiled."""
    if isinstance(each.implementation, NoImplementationError):
        yield OperatorFault(each.diagnostic("SO5001", str(each.implementation)))


def not_importable(each: CheckedOperator) -> Iterator[OperatorFault]:
    """Yield a fault for an operator whose class cannot be imported."""
    if isinstance(each.implementation, ImplementationError):
        yield OperatorFault(each.diagnostic("SO5002", str(each.implementation)))


def foreign_logic(each: CheckedOperator) -> Iterator[OperatorFault]:
    """Yield a fault for an operator with a `logic` clause of SPL that its class does not run.

    For a standard operator, logic without such a clause is a fault, too.
    """
    logic = None if each.written is None else each.written.get("spl")
    kind, implementation = each.operator.kind, each.implementation
    if not isinstance(logic, dict) or not isinstance(implementation, type):
        return
    if "spl" in implementation.Parameters.model_fields:
        return
    clauses = [name for name in ("state", "onTuple", "onPunct", "onProcess") if name in logic]
    if clauses or is_standard(each.operator):
        text = f"{kind} cannot run {', '.join(clauses) or 'spl'} of SPL; move the logic to a Custom"
        yield OperatorFault(each.diagnostic("SO0724", text, "spl"), anywhere=True)


def wrong_parameters(each: CheckedOperator) -> Iterator[OperatorFault]:
    """Yield a fault for each parameter that is wrong, unknown or missing, and for wrong expressions in correct ones."""
    implementation = each.implementation
    error = each.parameters
    written = each.written
    if not isinstance(implementation, type) or not isinstance(error, ValidationError) or written is None:
        return
    wrong = [fault for fault in parameter_errors(implementation, error) if not fault.of_clause]
    for fault in wrong:
        yield OperatorFault(each.diagnostic("SO5003", fault.text, fault.parameter), fault.anywhere)
    names = {fault.parameter for fault in wrong}
    sound = {name: value for name, value in written.items() if name not in names}
    yield from _wrong_expressions(each, implementation, sound)


def _wrong_expressions(
    each: CheckedOperator, implementation: type[Operator], sound: dict[str, Any]
) -> Iterator[OperatorFault]:
    """Yield the faults of the expressions of an operator that has wrong values in other parameters.

    There are none if the tuple type of an input stream is unknown, or if the right values alone cannot be validated.
    """
    standard = is_standard(each.operator)
    if each.inputs is None:
        return
    try:
        parameters = implementation.Parameters.model_validate(sound)
    except ValidationError:
        parameters = with_examples(implementation.Parameters, sound) if standard else None
        if parameters is None:
            return
    else:
        if not each.deploys and _plainly_known(each, implementation.mentions(parameters)):
            return
    missing = missing_in(implementation.Parameters, sound)
    for error in _errors_of_class(each, implementation, parameters):
        in_given = isinstance(error, FaultyExpressionError) and error.parameter.partition(".")[0] not in missing
        if in_given or (standard and type(error) is UnknownAttributeError):
            yield _raised(each, error)


def missing_file(each: CheckedOperator) -> Iterator[OperatorFault]:
    """Yield a fault for the first input file that cannot be read.

    An operator of an application that is to run opens its files in its own check.
    """
    if each.deploys or each.sound is None:
        return
    implementation, parameters = each.sound
    for file in implementation.input_files(parameters):
        try:
            resolve_inputs(file, each.base)
        except ValueError as error:
            yield OperatorFault(each.diagnostic("SO5008", str(error)), anywhere=True, decisive=False)
            return


def wrong_methods(each: CheckedOperator) -> Iterator[OperatorFault]:
    """Yield a fault for the first method of a class that is missing or cannot be called.

    There is none for a Spark query, nor for an operator without a class or with wrong parameters.
    """
    if each.sound is None or each.operator.engine == "dataframe":
        return
    if wrong := wrong_method(each.sound[0], len(each.operator.inputs)):
        yield OperatorFault(each.diagnostic("SO5002", wrong))


def other_model(each: CheckedOperator) -> Iterator[OperatorFault]:
    """Yield a fault if the model that the application declares contradicts the class."""
    if each.sound is not None and (conflict := _model_conflict(each.operator, each.sound[0])):
        yield OperatorFault(each.diagnostic("SO5004", conflict))


def own_faults(each: CheckedOperator) -> Iterator[OperatorFault]:
    """Yield the faults that the class itself finds in the parameters, given the types of the streams.

    If nothing is to run here, operators whose expressions name only known attributes are not checked.
    """
    if each.sound is None or each.inputs is None:
        return
    implementation, parameters = each.sound
    if each.deploys or not _plainly_known(each, implementation.mentions(parameters)):
        for error in _errors_of_class(each, implementation, parameters):
            yield _raised(each, error)


def shared_directory(each: CheckedOperator) -> Iterator[OperatorFault]:
    """Yield a fault if another operator publishes into the same directory, since each would remove the other's files.

    An error that the code of the operator raises is a fault, too. Only an application that is to run is checked. The
    first operator of a directory is added to `each.directories`.
    """
    if not each.deploys or each.sound is None or each.context is None:
        return
    implementation, parameters = each.sound
    try:
        place = implementation.directory(each.context, parameters)
    except Exception as error:  # noqa: BLE001  whatever the code of a user's operator raises
        yield _raised(each, error)
        return
    if place is None or (first := each.directories.setdefault(place, each.operator)) is each.operator:
        return
    text = f"{place}: {first.name} publishes into this directory, too; give each a directory of its own"
    yield OperatorFault(each.diagnostic("SO5004", text))


def advice(each: CheckedOperator) -> Diagnostic | None:
    """Return advice on values of parameters that users rarely intend; None if there is none, or if one is wrong."""
    if each.sound is None:
        return None
    implementation, parameters = each.sound
    text = implementation.advice(parameters)
    return None if text is None else each.diagnostic("SO5011", text, text.partition(":")[0])


def _errors_of_class(each: CheckedOperator, implementation: type[Operator], parameters: Parameters) -> list[Exception]:
    """Return the errors that the class itself finds in parameters, given the types of the streams.

    The list is empty if the type of an input stream is unknown.
    """
    if (context := each.context) is None:
        return []
    return all_faults(lambda: implementation.check(context, parameters), standard=is_standard(each.operator))


def _raised(each: CheckedOperator, error: Exception) -> OperatorFault:
    operator = each.operator
    if isinstance(error, FaultyExpressionError):
        found = expression_fault("SO5004", error, operator.name, operator.location, operator.location_of)
    else:
        text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        found = each.diagnostic("SO5004", text)
    return OperatorFault(found, isinstance(error, UnknownAttributeError))


def _model_conflict(operator: LogicalOperator, implementation: type[Operator]) -> str | None:
    """Return the first contradiction between the class and the model that the application declares for it.

    None if they agree.
    """
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
            return f"{implementation.__name__} has no {side} ports, but {len(given)} are given"
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
        f"the code of {implementation.__name__} uses its ports in ways that the application does not declare; declare "
        "them: operators: "
        f"{{{name}: {{implementation: {implementation.__module__}:{implementation.__name__}, {wanted}}}}}"
    )


def _plainly_known(each: CheckedOperator, mentions: Mentions | None) -> bool:
    """Return True if all names in the expressions are attributes of the streams, so that no full check is necessary.

    The result is False if the names, or the type of an input stream, are unknown.
    """
    if mentions is None or each.inputs is None:
        return False
    inputs, outputs = each.inputs, [output.schema for output in each.operator.outputs]
    known = [inputs[0] if ddl is None and inputs else ddl for ddl in outputs]
    return mentions.are_known(
        [parse_schema(ddl).names for ddl in inputs], [parse_schema(ddl).names if ddl else () for ddl in known]
    )
