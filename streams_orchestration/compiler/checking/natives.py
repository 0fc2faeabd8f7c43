"""Native functions of SPL in parameters: each needs a Python function that can be called."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from streams_orchestration.compiler.checking.checked_operator import CheckedOperator, OperatorFault
from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.diagnostics import Diagnostic, Severity
from streams_orchestration.model.programs import FUNCTIONS, is_native
from streams_orchestration.operators.expressions.spl.natives import NativeEntry, native_function
from streams_orchestration.operators.loading.import_path import ImplementationError

_CODE = "SO0711"


def without_python(each: CheckedOperator) -> Iterator[OperatorFault]:
    """Yield a fault for a native operator for which the companion names no class."""
    operator, kind = each.operator, each.operator.kind
    if operator.is_native and operator.implementation is None:
        message = (
            f"{kind} is a native operator that has no class in Python; declare one in the companion: "
            f"operators: {{{kind}: package.module:Class}}"
        )
        yield OperatorFault(_diagnostic(operator, message, str(operator.location), "error", "SO0710"))


def faulty_natives(each: CheckedOperator) -> Iterator[OperatorFault]:
    """Yield a fault for each native function of an operator that cannot be called.

    A native function without a Python function or without known types is an error if the application is to run. If it
    is only compiled, that is a warning; for SPL, the front-end has already given this warning.
    """
    operator, place = each.operator, each.operator.location
    from_spl = place is not None and place.column > 0
    for entry, at in _entries(operator.parameters, str(place or "")):
        if not entry.python or not entry.signature:
            if each.deploys or not from_spl:
                severity = "error" if each.deploys else "warning"
                yield OperatorFault(_diagnostic(operator, _lacks(entry), at, severity))
        elif (fault := _fault(entry)) is not None:
            yield OperatorFault(_diagnostic(operator, fault, at, "error"))


def varying_natives(operator: LogicalOperator) -> list[Diagnostic]:
    """Return a warning for each native function that an operator of a consistent region calls and that is not pure.

    Functions without a Python function are left out, since another check reports them.
    """
    found: dict[str, Diagnostic] = {}
    for entry, at in _entries(operator.parameters, str(operator.location or "")):
        if entry.python and not entry.pure:
            message = (
                f"{entry.native} may give other values in a replay of the consistent region; if it does not, declare "
                f"it in the companion: functions: {{{entry.native}: {{python: {entry.python}, pure: true}}}}"
            )
            found.setdefault(entry.native, _diagnostic(operator, message, at, "warning", "SO0721"))
    return list(found.values())


def _entries(value: Any, at: str) -> Iterator[tuple[NativeEntry, str]]:
    """Yield each native function in a parameter's value, with the place in the SPL source of its call, else `at`."""
    if is_mapping(value):
        written = value.get("at")
        at = written if isinstance(written, str) else at
        for key, each in value.items():
            if key == FUNCTIONS and is_list(each):
                yield from _listed(each, at)
            else:
                yield from _entries(each, at)
    elif is_list(value):
        for each in value:
            yield from _entries(each, at)


def _listed(functions: Sequence[Any], at: str) -> Iterator[tuple[NativeEntry, str]]:
    """Yield each native function in a list of functions; others are for the check of parameters."""
    for each in functions:
        if is_native(each):
            with suppress(ValidationError):
                entry = NativeEntry.model_validate(each)
                yield entry, entry.at or at


def _lacks(entry: NativeEntry) -> str:
    """Return the message about a native function whose companion lacks its types, or else its Python function."""
    what = "no known types; declare its signature" if entry.python else "no function in Python; declare one"
    wanted = "signature: TYPE name(TYPE, ...)" if entry.python else "python: package.module:name"
    declaration = f"functions: {{{entry.native}: {{{wanted}}}}}"
    return f"{entry.native} is a native function that has {what} in the companion: {declaration}"


def _fault(entry: NativeEntry) -> str | None:
    """Return the reason why a function cannot be called; None if it can, or if it does not show what it takes."""
    try:
        native = native_function(entry)
    except ImplementationError as error:
        return f"{entry.native}: {error}"
    count = len(native.signature.parameters)
    try:
        inspect.signature(native.function).bind(*range(count))
    except TypeError as error:
        return f"{entry.native}: {entry.python} cannot be called with {count} arguments: {error}"
    except ValueError:  # a function that is compiled may not show what it takes
        return None
    return None


def _diagnostic(operator: LogicalOperator, message: str, at: str, severity: Severity, code: str = _CODE) -> Diagnostic:
    return replace(Diagnostic.of(code, message, operator=operator.name, location=at), severity=severity)
