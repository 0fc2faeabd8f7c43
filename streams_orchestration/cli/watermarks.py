"""`streams watermark`: up to which event time the visible outputs of a sink are complete."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from streams_orchestration.cli.failures import APPLICATION
from streams_orchestration.cli.invocation import answer, current
from streams_orchestration.cli.messages import error as show_error
from streams_orchestration.model.brief import moment
from streams_orchestration.model.names import nearest
from streams_orchestration.runtime import api

POLL_SECONDS = 0.5
"""Seconds between two checks of the sink."""


def watermark(application: str, sink: str, at_least: float | None, within: float | None) -> int:
    """Show the watermark of a sink, once it has reached a time; return the exit status.

    The status is 1 if there is no such sink, the application ends before that time, or `within` has passed.

    Args:
        application: the name of the application.
        sink: the name of the sink.
        at_least: the time to wait for, in unix seconds; None for none.
        within: the most seconds to wait; None for no limit.

    Raises:
        NotDeployedError: the application is not deployed.
    """
    current().application = application
    catalog = api.open_catalog(api.Home.default(), application)
    began = time.monotonic()
    while True:
        status = api.read_status(catalog, application)
        found = next((each for each in status.sinks if each.operator == sink), None)
        if found is None:
            names = [each.operator for each in status.sinks]
            return _refused(status, f"{sink} is not a sink of {application}{nearest(sink, names)}")
        if at_least is None or found.is_complete or (found.complete_until or float("-inf")) >= at_least:
            return answer(partial(_document, status, found), f"{sink} is {_text(found)}")
        if status.state in api.ENDED:
            return _refused(status, f"{application} is {status.state}, and {sink} is {_short(found, at_least)}")
        if within is not None and time.monotonic() - began >= within:
            return _refused(status, f"{sink} is {_short(found, at_least)}, after {within:g} s")
        time.sleep(POLL_SECONDS)


def _refused(status: api.ApplicationStatus, message: str) -> int:
    show_error(message)
    return answer(lambda: {"state": status.shown_state}, status=APPLICATION, error=message)


def _text(sink: api.SinkStatus) -> str:
    if sink.is_complete:
        return "complete: its streams have ended"
    if sink.complete_until is None:
        return "without a watermark: none of its streams has event time, or none has sent a watermark yet"
    return f"complete up to {moment(sink.complete_until)}"


def _short(sink: api.SinkStatus, at_least: float) -> str:
    """Return the completeness of a sink that has not reached a time, in words."""
    return f"{_text(sink)}, and not up to {moment(at_least)}"


def _document(status: api.ApplicationStatus, sink: api.SinkStatus) -> dict[str, Any]:
    return {
        "state": status.shown_state,
        "sink": sink.operator,
        "watermark": sink.complete_until,
        "complete": sink.is_complete,
        "epoch": sink.epoch,
    }
