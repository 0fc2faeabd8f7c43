"""The receivers of a host leave nothing open, however opening and ending go."""

from __future__ import annotations

import asyncio
import errno
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from streams_orchestration.operators.journal.files import JournalFiles
from streams_orchestration.operators.journal.writing import Journal
from streams_orchestration.runtime.hosts.receivers import Receiver, Receivers
from streams_orchestration_tests.waiting import until


def receiver(directory: Path) -> Receiver:
    async def receive(_intake: object) -> None:
        await asyncio.Event().wait()

    context = SimpleNamespace(name="Source")
    parameters = SimpleNamespace(journal_limit=1 << 20)
    source: Any = SimpleNamespace(
        context=context, parameters=parameters, directory_of=lambda _: directory, load=lambda: None, receive=receive
    )
    return Receiver(source)


def test_a_journal_whose_report_cannot_be_written_is_closed_and_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    one = receiver(tmp_path)
    Journal(tmp_path, 1 << 20).close()
    with monkeypatch.context() as patch:
        patch.setattr(JournalFiles, "report", full)
        for _ in range(3):
            with pytest.raises(OSError, match="No space left"):
                one.open_journal()
    assert [file.path for file in psutil.Process().open_files() if file.path.startswith(str(tmp_path))] == []
    one.open_journal().journal.close()


def test_the_loop_of_receivers_is_closed_when_they_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    loops: list[asyncio.AbstractEventLoop] = []
    made = asyncio.new_event_loop

    def noted() -> asyncio.AbstractEventLoop:
        loops.append(made())
        return loops[-1]

    monkeypatch.setattr(asyncio, "new_event_loop", noted)
    monkeypatch.setattr(Receivers, "trim", lambda _: None)
    receivers = Receivers(cast(Any, None), "app")
    receivers.receive_for({"Source": receiver(tmp_path)})
    receivers.stop()
    (loop,) = loops
    until(loop.is_closed, "the loop is open")
    until(lambda: not any(each.name == "receivers" for each in threading.enumerate()), "its thread runs")
