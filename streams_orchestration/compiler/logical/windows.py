"""Windows of an invocation and their policies (rules 25, 72)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from streams_orchestration.compiler.logical_graph import SingleThreaded
from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.operators import SingleThreadedMode

_POLICY = re.compile(r"(\w+)\s*\(")


class WindowPolicies(NamedTuple):
    """The names of the policies of one window: count, delta, time or punct, or empty without such a policy."""

    eviction: str = ""
    trigger: str = ""


def windows_of(parameters: Mapping[str, Any], ports: tuple[str, ...]) -> dict[int, WindowPolicies]:
    """Return the windows of the input ports of an invocation, from its parameter `window`.

    The parameter is one window for all ports, a list with a window per port, or a mapping by port name. A window is a
    text as in `sliding, count(10), time(5)`, eviction before trigger, or a mapping with `eviction` and `trigger`.
    Without the parameter there are no windows, and ports that the list or the mapping lacks have none.
    """
    value = parameters.get("window")
    if value is None:
        return {}
    if is_list(value):
        return {port: _window(entry) for port, entry in enumerate(value[: len(ports)])}
    if is_mapping(value) and value and all(name in ports for name in value):
        return {ports.index(name): _window(entry) for name, entry in value.items()}
    return dict.fromkeys(range(len(ports)), _window(value))


def _window(value: Any) -> WindowPolicies:
    if isinstance(value, str):
        names = _POLICY.findall(value)
        return WindowPolicies(*names[:2])
    if not is_mapping(value):
        return WindowPolicies()
    return WindowPolicies(_policy(value.get("eviction")), _policy(value.get("trigger")))


def _policy(value: Any) -> str:
    if isinstance(value, str):
        return value.partition("(")[0].strip()
    return str(next(iter(value), "")) if is_mapping(value) else ""


def _timed(windows: Mapping[int, WindowPolicies], mode: SingleThreadedMode) -> Iterator[bool]:
    for window in windows.values():
        yield mode != "WindowEvictionBound" and window.trigger == "time"
        yield mode != "WindowTriggerBound" and window.eviction == "time"


def single_threaded(mode: SingleThreadedMode, windows: Mapping[int, WindowPolicies]) -> SingleThreaded:
    """Return "Always" if the outputs are single-threaded whenever the input is, else "Never" (rule 72)."""
    if mode in ("Always", "WindowPartitionEvictionBound"):
        return "Always"
    return "Never" if mode == "Never" or any(_timed(windows, mode)) else "Always"
