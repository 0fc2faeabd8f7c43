"""Receivers of a host: whatever ends a source's `receive` is reported, and it begins again."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.source import JournalSource
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.receiving import receiving, reported


class Broken(JournalSource):
    """Ends in a way that asyncio takes for something else, and then receives."""

    error: type[BaseException]
    began = threading.Event()
    may_begin = threading.Event()

    async def receive(self, intake: Intake) -> None:
        """Fail until it may begin."""
        if not self.may_begin.is_set():
            raise self.error
        intake.receiving("here")
        self.began.set()
        await asyncio.Event().wait()


@pytest.mark.usefixtures("soon_again")
@pytest.mark.parametrize(
    ("error", "reason"),
    [(asyncio.CancelledError, "a library has cancelled it"), (SystemExit, "sys.exit"), (KeyError, "")],
)
def test_any_end_of_receive_is_reported_and_it_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], reason: str
):
    monkeypatch.setattr(Broken, "error", error, raising=False)
    monkeypatch.setattr(Broken, "began", threading.Event())
    monkeypatch.setattr(Broken, "may_begin", threading.Event())
    source = Bench(Broken, [], ["k string"], results=tmp_path).operator
    assert isinstance(source, Broken)
    with receiving(source):
        if reason:
            assert reason in reported(source, "error")
        Broken.may_begin.set()
        assert Broken.began.wait(20.0)
