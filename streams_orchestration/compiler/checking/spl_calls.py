"""Calls in programs of SPL that cannot be made here, or not in a consistent region."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streams_orchestration.compiler.checking.checked_operator import CheckedOperator, OperatorFault
from streams_orchestration.compiler.checking.natives import varying_natives
from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.programs import LINK_FUNCTIONS
from streams_orchestration.operators.expressions.spl.text import place_of

_CALL = re.compile(r'"(?:[^"\\]|\\.)*"|((?:[\w.]+::)?\w+) ?\(')
"""Regular expression that finds calls: it matches the name of a called function, perhaps with a namespace.

String literals match without a name, so that text inside quotes is not taken for a call."""
_REACHING = frozenset(
    (
        *("evalPredicate", "loadAndFormatResource", "getPEOutputPortConnections", "getInputPortMetricValue"),
        *("getOutputPortMetricValue", "getOperatorMetricValue", "getOutputPortCongestionFactor"),
    )
)
"""Functions of SPL that read or change the connections and metrics of the Streams runtime."""
_DEFINED = frozenset(("getCompileTimeValue", "getCompileTimeListValue"))
"""Functions whose calls the compiler replaces by constants; a call without a known value remains."""
_BY_OPERATORS = frozenset(("submit", "currentPunct"))
"""Functions that the operator of the logic implements, so the library of functions does not have them."""
_VARYING = frozenset(
    (
        *("random", "srand", "getTimestamp", "getTimestampInSecs", "time", "ctime", "getCPUTime", "getCPUTimestamp"),
        *("getCPUCounterInNanoSeconds", "localtime", "getRelaunchCount"),
    )
)
"""Functions whose result depends on the clock, on random numbers, or on earlier failures."""
_WITH_DELAYS = frozenset(("FileSink", "Format"))
"""Operators whose rows may begin with the seconds since the row before."""
_OUTWARD = frozenset(
    (
        *("block", "shutdownPE", "fopen", "fclose", "fread", "fwrite", "fwriteString", "fwriteTxt"),
        *("freadLine", "freadTxt", "freadBin", "fwriteBin", "freadToken", "freadblob", "fwriteblob", "fseek", "fflush"),
        *("mkdir", "rename", "mktemp", "fstat", "ftell", "feof", "rewind", "freadfile"),
    )
)
"""Functions that wait, shut the PE down, or use files."""


def refused_calls(each: CheckedOperator) -> Iterator[OperatorFault]:
    """Yield a fault for each function that an operator's SPL programs call, but that cannot be called here.

    Some functions never work here, others not in a consistent region. Clock windows, delays and native functions that
    are not pure are reported there, too. Functions that never work here are reported only if the application is to
    run; only their faults are decisive.
    """
    operator, inside = each.operator, each.in_region
    if inside and "window" in operator.parameters and operator.parameters.get("by") == "clock":
        message = (
            f"windows of {operator.kind} depend on the clock, so a replay of the consistent region may put tuples "
            "into other windows; base them on timeAttribute or on a count"
        )
        yield OperatorFault(each.diagnostic("SO0721", message, "window"), decisive=False)
    if inside and operator.parameters.get("hasDelayField") and each.operator.kind in _WITH_DELAYS:
        message = (
            f"the delays that {operator.kind} writes depend on the clock, so a replay of the consistent region may "
            "write other delays; keep the time of a tuple in an attribute"
        )
        yield OperatorFault(each.diagnostic("SO0721", message, "hasDelayField"), decisive=False)
    own = set(_defined(operator.parameters))
    found: dict[tuple[str, str], Diagnostic] = {}
    for text, at in _texts(operator.parameters, str(operator.location or "")):
        for name in _called(text):
            if name in own:
                continue
            code, message = _refused(name, inside=inside, deploys=each.deploys)
            if code:
                place = _call_behind(at, name)
                found.setdefault((code, name), Diagnostic.of(code, message, operator=operator.name, location=place))
    for (code, _), diagnostic in found.items():
        yield OperatorFault(diagnostic, decisive=code == "SO0734")
    for diagnostic in varying_natives(operator) if inside else ():
        yield OperatorFault(diagnostic, decisive=False)


def _called(text: str) -> Iterator[str]:
    """Yield the names of the functions that a program calls, without a namespace for functions of SPL itself."""
    for match in _CALL.finditer(text):
        if match[1]:
            yield match[1].rpartition("::")[2] if match[1].startswith("spl.") else match[1]


def _defined(value: Any) -> Iterator[str]:
    """Yield the names of the functions that an application defines itself, from a parameter's value.

    A call of such a name is not a call of the SPL function with the same name.
    """
    if is_mapping(value):
        for key, each in value.items():
            if key == "functions" and is_list(each):
                for function in each:
                    text = function.get("spl", "") if is_mapping(function) else function
                    if (header := _CALL.search(str(text))) is not None and header[1]:
                        yield header[1]
            else:
                yield from _defined(each)
    elif is_list(value):
        for each in value:
            yield from _defined(each)


def _call_behind(at: str, name: str) -> str:
    """Return the place of the first call of a function at or after `at`, by the text of the file.

    Return `at` if the file cannot be read or has no such call.
    """
    file, line, column = place_of(at)
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return at
    for number, text in enumerate(lines[line - 1 :], line):
        begin = column - 1 if number == line else 0
        if (found := re.compile(rf"\b{name}\s*\(").search(text, begin)) is not None:
            return f"{file}:{number}:{found.start() + 1}"
    return at


def _refused(name: str, *, inside: bool, deploys: bool) -> tuple[str, str]:
    if name in _REACHING and deploys:
        return "SO0734", f"{name} uses the runtime of Streams, which does not exist here; remove the call"
    if name in _DEFINED and deploys:
        return "SO0734", f"{name} has no value here; give it one with --define NAME=VALUE, or a default"
    if deploys and _is_missing(name):
        return "SO0734", f"{name} of SPL does not run here; a native function that the companion names may replace it"
    if inside and name in _OUTWARD:
        return "SO0733", f"{name} cannot be called in a consistent region, where a replay would repeat it"
    if inside and name in LINK_FUNCTIONS:
        message = f"{name} cannot be called in a consistent region, whose reset could not take back a change"
        return "SO0733", message
    if inside and name in _VARYING:
        return "SO0721", f"{name} returns other values in a replay of the consistent region"
    return "", ""


def _is_missing(name: str) -> bool:
    """Return True for a built-in function of SPL that has no implementation; False in `spl.eventtime`."""
    from streams_orchestration.spl.functions.signatures import builtin
    from streams_orchestration.spl.programs.library import names

    signatures = () if name in _BY_OPERATORS or name in names() else builtin(name)
    return any(each.namespace != "spl.eventtime" for each in signatures)


def _texts(value: Any, at: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of programs in a value, with their places.

    A text without a place of its own has the place of the value around it, or else `at`.
    """
    if is_mapping(value):
        written = value.get("at")
        at = written if isinstance(written, str) else at
        for key, each in value.items():
            if key == "spl" and isinstance(each, str):
                yield each, at
            elif key == "functions" and is_list(each):
                for function in each:
                    yield from [(function, at)] if isinstance(function, str) else _texts(function, at)
            elif key in ("state", "onProcess") and isinstance(each, str):
                yield each, at
            elif key in ("onTuple", "onPunct") and is_mapping(each):
                for body in each.values():
                    yield from [(body, at)] if isinstance(body, str) else _texts(body, at)
            else:
                yield from _texts(each, at)
    elif is_list(value):
        for each in value:
            yield from _texts(each, at)
