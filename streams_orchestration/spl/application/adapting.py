"""Translation of the parameters of Streams' standard operators to ours, which have other names, forms and defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from streams_orchestration.model.containers import is_list
from streams_orchestration.model.names import application_name_of, leaves_directory
from streams_orchestration.model.programs import CONSTANTS, LOGIC, is_program
from streams_orchestration.model.streams_defaults import STREAMS_DEFAULTS
from streams_orchestration.spl.language.tokens import string_text, tokenize
from streams_orchestration.spl.types.columns import beyond_column, has_text_of_column
from streams_orchestration.spl.typing.scopes import Port

_PATHS = {"FileSource": ("file", "moveFileToDirectory"), "DirectoryScan": ("directory",), "Split": ("file",)}
"""Operator -> its parameters that name a file or directory relative to the data directory."""
_FORMATS = {"csv": "splCsv", "txt": "splTxt"}
_TIMED = re.compile(r"\b(time|partitionAge)\(")
_SUBMITTED = re.compile(r"\$\{(.+)\}")
_CHANNEL = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\w.:])(get(?:Local)?(?:Max)?Channels?)\(\)')
"""Regular expression that finds calls of channel functions: it matches their names, and string literals without a name.
"""
_NUMBERED = re.compile(r"partitionBy[0-9]+")
_WITHOUT_EFFECT = {
    "Barrier": {"bufferSize"},
    "DirectoryScan": {"initDelay", "sleepTime"},
    "Export": {"allowFilter"},
    "FileSink": {"flush", "append", "flushOnPunctuation", "writeFailureAction", "truncateOnReset"},
    "FileSource": {"initDelay", "bytesPerBatch"},
    "Import": {"applicationScope"},
    "MetricsSink": {"initDelay"},
    "Pair": {"bufferSize"},
    "TCPSink": {
        *("confirmWireFormat", "detectDisconnectsBeforeSends", "flush", "flushOnPunctuation", "initDelay"),
        *("reconnectionBound", "reconnectionPolicy", "retryFailedSends", "sendBufferSize"),
    },
    "TCPSource": {"initDelay", "reconnectionPolicy", "receiveBufferSize", "confirmWireFormat"},
    "ThreadedSplit": {"bufferSize"},
    "Throttle": {"period", "includePunctuations"},
    "UDPSink": {"sendBufferSize"},
    "UDPSource": {"initDelay", "receiveBufferSize"},
}
"""Operator -> its parameters without effect here: buffers, initial delays, and options that always apply here."""


def adapted(
    kind: str,
    parameters: dict[str, Any],
    windows: Any,
    ports: tuple[Sequence[Port], Sequence[Port]],
    data: Path,
    ignored: Callable[[str], None],
) -> dict[str, Any]:
    """Translate the parameters of Streams in place, and return those with which our operator behaves in the same way.

    Parameters that the application sets take precedence over the defaults of Streams. Most parameters without effect
    are removed.

    Args:
        kind: the standard operator.
        parameters: the parameters by the names of Streams.
        windows: the text of the window, or a list with one for each port.
        ports: the input and the output ports.
        data: the directory of relative input files.
        ignored: takes the name of each parameter that has no effect here.
    """
    for name in sorted(parameters.keys() & _WITHOUT_EFFECT.get(kind, set())):
        del parameters[name]
        ignored(name)
    added: dict[str, Any] = {}
    for each in STREAMS_DEFAULTS:
        if each.operator == kind and _CONDITIONS[each.when](parameters, _windows(windows)):
            added |= each.parameters
    for name in _PATHS.get(kind, ()):
        if name in parameters:
            parameters[name] = _within(data, parameters[name])
    inputs, outputs = ports
    for translate in _TRANSLATIONS.get(kind, ()):
        translate(_Invocation(parameters, inputs, outputs, data, ignored))
    for name, value in parameters.items():
        if is_program(value) and not _reads(value, inputs):
            parameters[name] = _with_channels(value)
    return added | parameters


class _Invocation(NamedTuple):
    """An operator whose parameters are translated in place."""

    parameters: dict[str, Any]
    inputs: Sequence[Port]
    outputs: Sequence[Port]
    data: Path
    ignored: Callable[[str], None]


def _name_application(invocation: _Invocation) -> None:
    if (name := invocation.parameters.pop("applicationName", None)) is not None:
        invocation.parameters["application"] = application_name_of(str(name))


def _read_below_data(invocation: _Invocation) -> None:
    """Let a FileSource whose names come as tuples read them below the data directory."""
    if invocation.inputs:
        invocation.parameters["directory"] = str(invocation.data)


def _ignore_delays(invocation: _Invocation) -> None:
    if invocation.inputs and "hasDelayField" in invocation.parameters:
        invocation.ignored("hasDelayField")


def _stay_open(invocation: _Invocation) -> None:
    """Leave out the close mode `never`, which is how a TCPSink works here."""
    if invocation.parameters.get("closeMode") == "never":
        del invocation.parameters["closeMode"]


def _read_rows(invocation: _Invocation) -> None:
    _use_texts_of_streams(invocation.parameters, invocation.outputs)


def _write_rows(invocation: _Invocation) -> None:
    _use_texts_of_streams(invocation.parameters, invocation.inputs)


def _make_binary_rows(invocation: _Invocation) -> None:
    if invocation.parameters.get("format") == "bin":
        _suppress_variables(invocation)
        _write_rows(invocation)


def _use_texts_of_streams(parameters: dict[str, Any], ports: Sequence[Port]) -> None:
    """Replace the formats `csv` (the default) and `txt` by those with the texts of IBM Streams.

    Add `types` for the attributes of the first port whose columns do not tell the type, with the format `bin` as well.

    Args:
        parameters: the parameters of the operator.
        ports: the ports whose tuples are read or written.
    """
    if parameters.get("format", "csv") in _FORMATS:
        parameters["format"] = _FORMATS[parameters.get("format", "csv")]
        if types := _own_texts(ports):
            parameters["types"] = types
    if (
        parameters.get("format") == "bin"
        and ports
        and ports[0].is_known
        and (attributes := beyond_column(ports[0].type).attributes)
    ):
        parameters["types"] = {each.name: str(each.type) for each in attributes}


def _receive(invocation: _Invocation) -> None:
    """Use the formats of Streams in a source of the network, and `onBadTuple` for `parsing`.

    `permissive` becomes `drop`, any other value `fail`.
    """
    _read_rows(invocation)
    parameters = invocation.parameters
    if (parsing := parameters.pop("parsing", None)) is not None:
        parameters["onBadTuple"] = "drop" if parsing == "permissive" else "fail"


def _with_channels(program: dict[str, Any]) -> dict[str, Any]:
    """Return a program in which every channel function is replaced by a submission-time value.

    The program's constants assign the channel of each replica to this value.
    """
    constants: dict[str, str] = {}

    def replaced(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        constants[match[1]] = f"${{{match[1]}()}}"
        return f"(int32) getSubmissionTimeValue({string_text(match[1])})"

    text = _CHANNEL.sub(replaced, program[LOGIC])
    return program | {LOGIC: text, CONSTANTS: program.get(CONSTANTS, {}) | constants} if constants else program


def _name_files(invocation: _Invocation) -> None:
    """Replace a `file` that reads attributes by `nameBy`; otherwise drop the close modes `dynamic` and `never`."""
    parameters = invocation.parameters
    file: Any = parameters.get("file")
    if is_program(file) and _reads(file, invocation.inputs):
        parameters |= {"nameBy": file, "file": ""}
    elif parameters.get("closeMode") in ("dynamic", "never"):
        del parameters["closeMode"]


def _leave_results(invocation: _Invocation) -> None:
    """Write a file that is outside of the results where Streams writes it: relative to the data directory."""
    file: Any = invocation.parameters.get("file")
    if isinstance(file, str) and "://" not in file and leaves_directory(file):
        invocation.parameters["file"] = os.path.normpath(invocation.data / file)


def _reads(program: dict[str, Any], inputs: Sequence[Port]) -> bool:
    """Return True if a program reads the tuples of an input port."""
    return not {port.label for port in inputs}.isdisjoint(tokenize(str(program[LOGIC])).texts)


def _suppress_variables(invocation: _Invocation) -> None:
    """Leave the variables of the logic that are columns out of the rows of a sink."""
    parameters = invocation.parameters
    if columns := parameters.get("spl", {}).get("columns", []):
        given = parameters.get("suppress", [])
        parameters["suppress"] = [*(given if is_list(given) else [given]), *columns]


def _own_texts(ports: Sequence[Port]) -> dict[str, str]:
    """Return the types of the attributes of the first port whose texts do not follow from their columns.

    There are none without a port, or if its type is not known.
    """
    attributes = ports[0].type.attributes if ports and ports[0].is_known else ()
    return {each.name: str(each.type) for each in attributes if not has_text_of_column(each.type)}


def _windows(written: Any) -> list[str]:
    """Return the texts of windows; a program begins with the text as far as it is known."""
    each_port = written if is_list(written) else [written]
    return [str(each[LOGIC]).lstrip('"') if is_program(each) else str(each) for each in each_port]


_CONDITIONS: dict[str, Callable[[dict[str, Any], list[str]], bool]] = {
    "": lambda _, __: True,
    "time": lambda parameters, windows: "timeAttribute" not in parameters and any(map(_TIMED.search, windows)),
    "tumbling": lambda _, windows: any(each.startswith("tumbling") for each in windows),
    "sliding": lambda _, windows: any(each.startswith("sliding") for each in windows),
    "outer": lambda parameters, _: parameters.get("algorithm", "inner") != "inner",
    "server": lambda parameters, _: parameters.get("role") == "server",
    "file": lambda parameters, _: "file" in parameters,
    "csv": lambda parameters, _: parameters.get("format", "csv") == "csv",
    "no limit": lambda parameters, _: not parameters.keys() & {"count", "delta", "timeOut"},
}
"""Condition of a difference between defaults (see `Difference.when`) -> whether parameters and windows fulfil it."""


def _partition_ports(invocation: _Invocation) -> None:
    """Replace parameters for single ports, such as `partitionByLHS` and `partitionBy0`, by one `partitionBy`.

    If only one of `partitionByLHS` and `partitionByRHS` is given, the other side has no attributes.
    """
    parameters = invocation.parameters
    if "partitionByLHS" in parameters or "partitionByRHS" in parameters:
        parameters["partitionBy"] = [parameters.pop(f"partitionBy{side}", []) for side in ("LHS", "RHS")]
    numbers = sorted(int(name[len("partitionBy") :]) for name in parameters if _NUMBERED.fullmatch(name))
    if numbers:
        parameters["partitionBy"] = [parameters.pop(f"partitionBy{number}") for number in numbers]


def _within(directory: Path, name: Any) -> Any:
    """Return the path of a file to read; a relative path is below the data directory, and a URL is kept.

    A name that only a run knows is a program, or `${name}` for a submission-time value; the path is a program then. Any
    other value that is not a text is returned unchanged.
    """
    if is_program(name):
        text = f"({name[LOGIC]})"
        below = f"{string_text(f'{directory}/')} + {text}"
        return name | {LOGIC: f'findFirst({text}, "/") == 0 || findFirst({text}, "://") >= 0 ? {text} : {below}'}
    if not isinstance(name, str):
        return name
    if (value := _SUBMITTED.fullmatch(name)) is not None:
        text = f"getSubmissionTimeValue({string_text(value[1])})"
        return _within(directory, {LOGIC: text, CONSTANTS: {value[1]: name}})
    return name if "://" in name else str(directory / name)


_TRANSLATIONS: dict[str, tuple[Callable[[_Invocation], None], ...]] = {
    "Barrier": (_partition_ports,),
    "FileSink": (_name_files, _leave_results, _suppress_variables, _write_rows),
    "FileSource": (_read_below_data, _ignore_delays, _read_rows),
    "Format": (_make_binary_rows,),
    "Import": (_name_application,),
    "Pair": (_partition_ports,),
    "Parse": (_ignore_delays, _read_rows),
    "TCPSink": (_stay_open, _suppress_variables, _write_rows),
    "TCPSource": (_receive,),
    "UDPSink": (_suppress_variables, _write_rows),
    "UDPSource": (_receive,),
}
"""Operator -> the functions that translate its parameters, beyond `_PATHS`, `_WITHOUT_EFFECT` and its defaults."""
