"""Translation of the parameters of Streams' standard operators to ours, which have other names, forms and defaults."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from streams_orchestration.model.containers import is_list
from streams_orchestration.model.names import application_name_of
from streams_orchestration.model.programs import CONSTANTS, LOGIC, is_program
from streams_orchestration.model.streams_defaults import STREAMS_DEFAULTS
from streams_orchestration.spl.language.tokens import string_text, tokenize
from streams_orchestration.spl.types.columns import beyond_column, has_text_of_column
from streams_orchestration.spl.typing.scopes import Port

_READ = {"FileSource": "file", "DirectoryScan": "directory", "Split": "file"}
"""Operator -> its parameter that names a file or directory to read, relative to the data directory."""
_SENDING = ("TCPSink", "UDPSink")
_RECEIVING = ("TCPSource", "UDPSource")
_WRITING = ("FileSink", *_SENDING)
"""Operators that write the tuples of their input port."""
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
    """Return parameters with which our operator behaves like the one in Streams.

    Parameters that the application sets take precedence over the defaults of Streams.

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
    if kind == "Import" and "applicationName" in parameters:
        parameters["application"] = application_name_of(str(parameters.pop("applicationName")))
    if kind in ("Barrier", "Pair"):
        _partition_ports(parameters)
    constant = [name for name, value in parameters.items() if is_program(value) and not _reads(value, ports[0])]
    parameters |= {name: _with_channels(parameters[name]) for name in constant}
    read = _READ.get(kind, "")
    if read in parameters:
        parameters[read] = _within(data, parameters[read])
    if kind == "FileSink":
        _name_files(parameters, ports[0])
        _suppress(parameters, parameters.get("spl", {}).get("columns", []))
    if kind == "FileSource" and "moveFileToDirectory" in parameters:
        parameters["moveFileToDirectory"] = _within(data, parameters["moveFileToDirectory"])
    added: dict[str, Any] = {}
    for each in STREAMS_DEFAULTS:
        if each.operator == kind and _holds(each.when, parameters, windows):
            added |= each.parameters
    if kind == "FileSource" and ports[0]:
        parameters["directory"] = str(data)
    if kind in ("FileSource", "Parse") and ports[0] and "hasDelayField" in parameters:
        ignored("hasDelayField")
    if kind in _RECEIVING:
        _receive(parameters)
    if kind == "TCPSink" and parameters.get("closeMode") == "never":
        del parameters["closeMode"]
    if kind in _SENDING:
        _suppress(parameters, parameters.get("spl", {}).get("columns", []))
    if kind in ("FileSource", "Parse", *_WRITING) and parameters.get("format", "csv") in _FORMATS:
        parameters["format"] = _FORMATS[parameters.get("format", "csv")]
        if types := _own_texts(ports[kind not in _WRITING]):
            parameters["types"] = types
    if kind in ("FileSource", "Parse", *_WRITING) and parameters.get("format") == "bin":
        own = ports[kind not in _WRITING]
        if own and own[0].is_known and (attributes := beyond_column(own[0].type).attributes):
            parameters["types"] = {each.name: str(each.type) for each in attributes}
    return added | parameters


def _receive(parameters: dict[str, Any]) -> None:
    """Replace parameters of a source of the network: lines are raw messages here, and `parsing` is `onBadTuple`."""
    if parameters.get("format") == "line":
        parameters["format"] = "raw"
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


def _name_files(parameters: dict[str, Any], inputs: Sequence[Port]) -> None:
    """Replace a `file` that reads attributes by `nameBy`, and close modes that change nothing without one."""
    file: Any = parameters.get("file")
    if is_program(file) and _reads(file, inputs):
        parameters |= {"nameBy": file, "file": ""}
    elif parameters.get("closeMode") in ("dynamic", "never"):
        del parameters["closeMode"]


def _reads(program: dict[str, Any], inputs: Sequence[Port]) -> bool:
    """Return True if a program reads the tuples of an input port."""
    return not {port.label for port in inputs}.isdisjoint(tokenize(str(program[LOGIC])).texts)


def _suppress(parameters: dict[str, Any], columns: Sequence[str]) -> None:
    """Leave the variables of the logic that are columns out of the rows of a sink."""
    if columns:
        given = parameters.get("suppress", [])
        parameters["suppress"] = [*(given if is_list(given) else [given]), *columns]


def _own_texts(ports: Sequence[Port]) -> dict[str, str]:
    """Return the types of the attributes of the first port whose texts do not follow from their columns."""
    attributes = ports[0].type.attributes if ports and ports[0].is_known else ()
    return {each.name: str(each.type) for each in attributes if not has_text_of_column(each.type)}


def _windows(written: Any) -> list[str]:
    """Return the texts of windows; a program begins with the text as far as it is known."""
    each_port = written if is_list(written) else [written]
    return [str(each[LOGIC]).lstrip('"') if is_program(each) else str(each) for each in each_port]


def _holds(condition: str, parameters: dict[str, Any], windows: Any) -> bool:
    """Return True if the condition of a difference between defaults is fulfilled (see `Difference.when`)."""
    if condition == "time":
        return "timeAttribute" not in parameters and any(map(_TIMED.search, _windows(windows)))
    if condition in ("tumbling", "sliding"):
        return any(each.startswith(condition) for each in _windows(windows))
    if condition == "outer":
        return parameters.get("algorithm", "inner") != "inner"
    if condition == "server":
        return parameters.get("role") == "server"
    if condition == "file":
        return "file" in parameters
    if condition == "csv":
        return parameters.get("format", "csv") == "csv"
    if condition == "no limit":
        return not parameters.keys() & {"count", "delta", "timeOut"}
    assert not condition, condition
    return True


def _partition_ports(parameters: dict[str, Any]) -> None:
    """Replace parameters for single ports, such as `partitionByLHS` and `partitionBy0`, by one `partitionBy`."""
    if "partitionByLHS" in parameters or "partitionByRHS" in parameters:
        parameters["partitionBy"] = [parameters.pop(f"partitionBy{side}", []) for side in ("LHS", "RHS")]
    numbers = sorted(int(name[len("partitionBy") :]) for name in parameters if _NUMBERED.fullmatch(name))
    if numbers:
        parameters["partitionBy"] = [parameters.pop(f"partitionBy{number}") for number in numbers]


def _within(directory: Path, name: Any) -> Any:
    """Return the path of a file to read; a relative path is below the data directory.

    A name that only a run knows is a program, or `${name}` for a submission-time value; so is the path.
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
