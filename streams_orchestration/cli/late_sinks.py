"""The lines of `streams run` about late sinks, whose complete epochs do not become visible."""

from __future__ import annotations

from streams_orchestration.model.brief import duration, plural
from streams_orchestration.runtime import api

HANGING_SECONDS = 10.0
"""Seconds without a delivery after which a late sink is shown even if it has met no error."""


class LateSinks:
    """The late sinks of a followed application: sinks with an error at once, other sinks after `HANGING_SECONDS`.

    When all PEs are complete, every late sink is among them at once.
    """

    def __init__(self) -> None:
        self._since: dict[str, tuple[float | None, float]] = {}
        """Late sink -> its last delivery, and since when it has been late without another; both in unix seconds."""
        self._named: list[api.SinkStatus] = []

    def add(self, status: api.ApplicationStatus, now: float) -> None:
        """Take a status into account that was read at a unix time; times must ascend."""
        waiting = [sink for sink in status.sinks if sink.late]
        before = self._since
        self._since = {}
        for sink in waiting:
            delivered, since = before.get(sink.operator, (sink.delivered_at, now))
            self._since[sink.operator] = (sink.delivered_at, since if delivered == sink.delivered_at else now)
        ended = all(pe.state == "COMPLETED" for pe in status.pes)
        self._named = [
            sink for sink in status.sinks if sink.error is not None or (sink.late and (ended or self._hangs(sink, now)))
        ]

    def brief(self) -> str:
        """Return the names of the late sinks with their waiting rows; empty if there are none."""
        sinks = ", ".join(f"{sink.operator} ({plural(sink.waiting_rows, 'row')})" for sink in self._named)
        return f"waiting for sinks: {sinks}" if sinks else ""

    def lines(self, now: float) -> list[str]:
        """Return a line for each late sink that hangs or fails: waiting rows, time since its last delivery, reason."""
        return [
            _line(sink, f", nothing delivered {_how_long(sink, now)}")
            for sink in self._named
            if sink.error is not None or self._hangs(sink, now)
        ]

    def reasons(self) -> list[str]:
        """Return a line for each late sink with the reason only, so that it changes only if the reason does."""
        return [f"{sink.operator}: {_reason(sink)}" for sink in self._named]

    def _hangs(self, sink: api.SinkStatus, now: float) -> bool:
        """Return True if a late sink has delivered nothing for `HANGING_SECONDS` while it was late."""
        return now - self._since.get(sink.operator, (None, now))[1] >= HANGING_SECONDS


def undelivered(status: api.ApplicationStatus) -> list[str]:
    """Return a line for every sink of a stopped application with complete epochs that are not visible."""
    return [
        _line(sink, "", otherwise="they are delivered when the application runs again")
        for sink in status.sinks
        if sink.error is not None or sink.late
    ]


def _how_long(sink: api.SinkStatus, now: float) -> str:
    """Return the time since the sink's last delivery as "for 5 s", or "yet" before the first one."""
    return "yet" if sink.delivered_at is None else f"for {duration(now - sink.delivered_at)}"


def _line(sink: api.SinkStatus, since: str, otherwise: str = "") -> str:
    return f"sink {sink.operator}: {plural(sink.waiting_rows, 'row')} not visible{since}: {_reason(sink, otherwise)}"


def _reason(sink: api.SinkStatus, otherwise: str = "") -> str:
    """Return the first line of the sink's error; `otherwise` without an error.

    Without both, the reason is that the delivery is under way.
    """
    reason = (sink.error or "").strip().partition("\n")[0]
    return reason or otherwise or "the delivery is under way, and the target has not answered yet"
