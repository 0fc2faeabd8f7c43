"""`spl.utility` and the remaining functions: printing, tracing, environment, configuration, metrics, hashes."""

from __future__ import annotations

# pyright: standard
import hashlib
import json
import os
from collections.abc import Callable
from typing import Any

from streams_orchestration.spl.programs.errors import AbortError, RunError
from streams_orchestration.spl.programs.library.collection_types import element_of
from streams_orchestration.spl.programs.library.registry import plain, typed
from streams_orchestration.spl.programs.values import copying, plain_function, text_function
from streams_orchestration.spl.types.types import BOOLEAN, INT32, Tuple, Type


@plain("printString", run=True)
def print_string(run: Any, text: str) -> None:
    """Print a text."""
    run.print(text)


@plain("printStringLn", run=True)
def print_line(run: Any, text: str) -> None:
    """Print a text and a line break."""
    run.print(text + "\n")


@typed("print", run=True)
def _print(types: tuple[Type, ...], _: Type) -> Callable[..., None]:
    text = text_function(types[0])
    return lambda run, value: run.print(text(value))


@typed("println", run=True)
def _println(types: tuple[Type, ...], _: Type) -> Callable[..., None]:
    text = text_function(types[0])
    return lambda run, value: run.print(text(value) + "\n")


def _called_with_level(types: tuple[Type, ...]) -> bool:
    return len(types) >= 2


@plain("appTrc", "appLog", "log", when=_called_with_level, run=True)
def trace(run: Any, level: str, text: str, *_: str) -> None:
    """Write a text to the operator's log at a level; further arguments are ignored."""
    run.log(level, text)


@typed("assignFrom", assigns=(0,))
def _assign_from(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    target, source = types
    assert isinstance(target, Tuple)
    assert isinstance(source, Tuple)
    taken = [(each.name, copying(each.type)) for each in target.attributes if source.type_of(each.name) == each.type]
    return lambda value, other: (None, {**value, **{name: copy(other[name]) for name, copy in taken}})


@typed("hashCode")
def _hash_code(types: tuple[Type, ...], _: Type) -> Callable[..., int]:
    plain_ = plain_function(types[0])

    def hash_code(value: Any) -> int:
        text = json.dumps(plain_(value), sort_keys=True, default=str)
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())

    return hash_code


@typed("hashCodeForEach")
def _hash_codes(types: tuple[Type, ...], result: Type) -> Callable[..., list[int]]:
    hash_code = _hash_code((element_of(types[0]),), result)
    return lambda values: [hash_code(value) for value in values]


@plain("assert")
def check(condition: bool | list[bool] | dict[Any, bool], text: str = "") -> None:  # noqa: FBT001
    """Raise RunError if a condition, or any condition in a list or map, is false."""
    if isinstance(condition, bool):
        place = "" if condition else "the condition"
    else:
        pairs = condition.items() if isinstance(condition, dict) else enumerate(condition)
        place = next((f"the condition at {key!r}" for key, holds in pairs if not holds), "")
    if place:
        message = f"assert: {text or f'{place} is false'}"
        raise RunError(message)


plain("flushStdio")(lambda: None)
plain("swap", assigns=(0, 1))(lambda one, other: (None, other, one))


@plain("abort")
def abort() -> None:
    """End the PE with an error.

    Raises:
        AbortError: always.
    """
    message = "abort: the application ends itself"
    raise AbortError(message)


plain("shutdownPE", run=True)(lambda _run, *_: abort())
plain("isShutdown")(lambda: False)
plain("block", run=True)(lambda run, seconds: run.sleep(seconds))
plain("getThisOperatorName", run=True)(lambda run: run.operator)
plain("getThisOperatorLogicalName", run=True)(lambda run: run.logical)
for _name in ("getAllChannels", "getAllMaxChannels"):
    plain(_name, run=True)(lambda run, name=_name: json.loads(run.constants[f"{name}()"]))
plain("getChannel", run=True)(lambda run: run.channel)
plain("getMaxChannels", run=True)(lambda run: run.max_channels)
plain("getLocalChannel", run=True)(lambda run: run.local_channel)
plain("getLocalMaxChannels", run=True)(lambda run: run.local_max_channels)
plain("jobID", run=True)(lambda run: run.job)
plain("PEID", run=True)(lambda run: run.pe)
plain("getRelaunchCount", run=True)(lambda run: run.relaunches)
plain("getJobName", run=True)(lambda run: run.application)
plain("dataDirectory", run=True)(lambda run: run.data_directory)
plain("getApplicationDir", run=True)(lambda run: run.application_directory)
plain("getHostName", run=True)(lambda run: run.host_name())
plain("isTraceable", "isLoggable")(lambda _: True)


@plain("getEnvironmentVariable", when=lambda types: types[1:] == (BOOLEAN,), run=True, assigns=(1,))
def environment_variable_if_set(run: Any, name: str, _: bool) -> tuple[str, bool]:  # noqa: FBT001
    """Return a variable of the environment; assign True to the second argument if the variable is set."""
    value = run.environment(name)
    return value or "", value is not None


@plain("getEnvironmentVariable", when=lambda types: types[1:] != (BOOLEAN,), run=True)
def environment_variable(run: Any, name: str, default: str = "") -> str:
    """Return a variable of the environment, or the default if it is not set."""
    value = run.environment(name)
    return default if value is None else value


@plain("getApplicationConfigurationProperty", when=lambda types: types[2:] == (INT32,), assigns=(2,))
def configured_with_error(_configuration: str, _name: str, _error: int) -> tuple[str, int]:
    """Return an empty text, and assign 1 to the last argument, because there are no application configurations."""
    return "", 1


@plain("getApplicationConfigurationProperty", when=lambda types: types[2:] != (INT32,))
def configured(_configuration: str, _name: str, default: str) -> str:
    """Return the default, because there are no application configurations."""
    return default


@plain("getApplicationConfiguration", assigns=(0,))
def configuration(_: Any, _name: str) -> tuple[int, dict[str, str]]:
    """Return the error code 1, and assign an empty map, because there are no application configurations."""
    return 1, {}


plain("getShortHostName", run=True)(lambda run: run.host_name().partition(".")[0])
plain("getConfiguredHostName", run=True)(lambda run: run.host_name())
plain("getIPAddress", run=True)(lambda run: run.address())
plain("instanceID")(lambda: "StreamsInstance")
plain("domainID")(lambda: "StreamsDomain")
plain("getJobGroup")(lambda: "default")
plain("strerror")(os.strerror)


@plain("submission", "getSubmissionTimeValue", run=True)
def submission_value(run: Any, name: str, default: str | None = None) -> str:
    """Return a submission-time value, or the default if it was not given.

    Raises:
        RunError: the value was not given, and has no default.
    """
    value = run.constants.get(name, default)
    if value is None:
        message = f"there is no submission-time value {name}"
        raise RunError(message)
    return value


@plain("getSubmissionTimeListValue", run=True)
def submission_list(run: Any, name: str, default: list[str] | None = None) -> list[str]:
    """Return a submission-time value that is a list, or the default if it was not given.

    The elements are the texts between the commas of the value, or the value is a list in JSON.

    Raises:
        RunError: the value is a list in JSON of other values than texts, or was not given and has no default.
    """
    text = run.constants.get(name)
    if text is None:
        if default is not None:
            return default
        message = f"there is no submission-time value {name}"
        raise RunError(message)
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, list):
        return text.split(",")
    if not all(isinstance(each, str) for each in values):
        message = f'the submission-time value {name} must be a list of texts, such as ["a", "b"] or a,b, not {text!r}'
        raise RunError(message)
    return values


@plain("createCustomMetric", run=True)
def create_metric(run: Any, name: str, _description: str, _kind: str, value: int = 0) -> int:
    """Create a metric of the operator, or replace the value of an existing one; return 0."""
    run.metrics[name] = value
    return 0


@plain("setCustomMetricValue", run=True)
def set_metric(run: Any, name: str, value: int) -> int:
    """Set a metric of the operator, whether or not it was created; return 0."""
    run.metrics[name] = value
    return 0


@plain("getCustomMetricValue", run=True, assigns=(1,))
def metric_value(run: Any, name: str, _: int) -> tuple[None, int]:
    """Assign the value of a metric of the operator to the second argument.

    Raises:
        RunError: the operator has no metric with this name.
    """
    if name not in run.metrics:
        message = f"the operator has no metric {name!r:.60}"
        raise RunError(message)
    return None, run.metrics[name]


plain("hasCustomMetric", run=True)(lambda run, name: name in run.metrics)
plain("getCustomMetricNames", run=True)(lambda run: list(run.metrics))
