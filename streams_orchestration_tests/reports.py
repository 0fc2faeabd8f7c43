"""Reports of a worker to the process that shows them, without those that it would not show."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

QUICK_SECONDS = 0.05
"""The seconds of a setup or teardown that is too short to be shown among the slowest ones."""


def leave_out(config: pytest.Config) -> None:
    """Have the worker of this process send only what is shown.

    Most tests have a setup and a teardown of microseconds. Sending and receiving their reports takes two thirds of a
    second for each thousand tests. Only `--verbose` shows that a test begins.
    """
    if config.option.xmlpath or config.option.verbose > 0:  # the file in XML is made from all reports
        return
    for plugin in config.pluginmanager.get_plugins():
        if (send := getattr(plugin, "sendevent", None)) is not None:
            plugin.sendevent = functools.partial(_send, send)


def _send(send: Callable[..., None], name: str, **content: Any) -> None:
    if is_shown(name, content):
        send(name, **content)


def is_shown(name: str, content: dict[str, Any]) -> bool:
    """Return False for the begin and end of a test, and for the report of a quick setup or teardown that has passed."""
    if name != "testreport":
        return name not in ("logstart", "logfinish")
    report = content["data"]
    return report["when"] == "call" or report["outcome"] != "passed" or report["duration"] >= QUICK_SECONDS
