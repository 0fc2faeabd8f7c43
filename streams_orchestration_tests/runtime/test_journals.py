"""From a TCP connection to files, through the runtime: what a sender was told of is there once, whatever happens."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams_orchestration.operators.journal import writing
from streams_orchestration.operators.journal.source import JournalSource
from streams_orchestration.runtime.hosts.receivers import Receivers, make_receivers, needed_messages
from streams_orchestration.runtime.stepping import StepError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import PERIODIC, compiled, published, sink
from streams_orchestration_tests.runtime.ordeals import ACTIONS, Ordeal
from streams_orchestration_tests.runtime.redeployed import run_some
from streams_orchestration_tests.runtime.saved import begun, take
from streams_orchestration_tests.servers.receiving import files_of, lines, port, receiving, send

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

FAULTS = ("new_host", "torn_tail", "reset", "execute_only", "lost_answer")


class JournalOrdeal(Ordeal):
    """A host dies with what it receives, in the middle of a write; a sender does not hear that it was taken."""

    def __init__(self, directory: Path, *, region: bool) -> None:
        tcp = {
            "name": "Rows", "operator": "TCPSource", "outputs": [{"stream": "Rows", "schema": "Row"}],
            "parameters": {"port": 0, "acknowledge": True}, "annotations": PERIODIC if region else {},
        }  # fmt: skip
        super().__init__(Home(directory / "home"), compiled([tcp, sink("Out", "Rows")], fusion="manual", pes=1))
        self.sent: list[tuple[str, int]] = []
        self._begin()

    def _begin(self) -> None:
        """Start the receivers of a host."""
        made = make_receivers(self.local.home, self.local.programs)
        self.source: JournalSource = made["Rows"].source
        self.files = files_of(self.source)
        self.files.directory.mkdir(parents=True, exist_ok=True)
        self.files.report({})
        self.receivers = Receivers(self.local.catalog, self.local.name)
        self.receivers.receive_for(made)

    def send(self, number: int) -> None:
        rows = [(f"k{each % 5}", each) for each in range(len(self.sent), len(self.sent) + 1 + number % 7)]
        answer = send(port(self.source), [lines(*(b'{"k": "%s", "n": %d}' % (k.encode(), n) for k, n in rows))])
        assert answer == len(rows)
        self.sent += rows

    def new_host(self, _number: int) -> None:
        self.receivers.stop()
        self._begin()

    def torn_tail(self, number: int) -> None:
        """It dies while it writes: bytes of a record are behind what it has answered for."""
        self.receivers.stop()
        segments = self.files.segments()
        with segments[-1][1].open("ab") as file:
            file.write(b"\7\0\0\0torn"[: 1 + number % 8])
        self._begin()

    def lost_answer(self, number: int) -> None:
        """It dies behind a write, before the mark: nobody has read it, and it is there."""
        durable = (self.files.directory / "durable").read_bytes()
        self.receivers.stop()
        (self.files.directory / "durable").write_bytes(durable)
        self._begin()

    def collect(self, _number: int) -> None:
        super().collect(0)
        self.receivers.trim()

    def finish(self) -> None:
        for _ in range(100):
            for program in self.local.programs:
                self.local.step(program)
            self.local.trigger()
            if len(self.there()) >= len(self.sent):
                break
        for program in self.local.programs:
            self.local.step(program)
        self.receivers.stop()

    def there(self) -> list[tuple]:
        return published(self.local.published("Out"))


@contextmanager
def ordeal_of(directory: Path, *, region: bool) -> Iterator[JournalOrdeal]:
    ordeal = JournalOrdeal(directory, region=region)
    try:
        yield ordeal
    finally:
        ordeal.receivers.stop()


@pytest.mark.parametrize("region", [True, False])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.deep), pytest.param(3, marks=pytest.mark.deep)])
def test_each_tuple_is_there_once_after_25_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, region: bool
):
    monkeypatch.setattr(writing, "SEGMENT_BYTES", 400)
    chance, faults = random.Random(seed), 0
    with ordeal_of(tmp_path, region=region) as ordeal:
        while faults < 25:
            action = chance.choice((*ACTIONS, *FAULTS, "send", "send", "send"))
            faults += action in FAULTS
            getattr(ordeal, action)(chance.randrange(100))
            ordeal.check()
        ordeal.finish()
        assert Counter(ordeal.there()) == Counter(ordeal.sent)
        assert len(ordeal.sent) > 15


def test_a_journal_that_is_not_on_this_machine_is_named_and_not_passed_over(tmp_path: Path):
    with ordeal_of(tmp_path, region=True) as ordeal:
        ordeal.send(6)
        ordeal.commit_only(0)
        ordeal.receivers.stop()
        shutil.rmtree(ordeal.files.directory)
        ordeal.sweep(0)
        gone = f"{ordeal.files.directory}: the journal is missing; it has the next message, 3"
        with pytest.raises(StepError, match=gone):
            ordeal.turn(0)


def test_an_application_begun_at_a_savepoint_reads_its_own_journal(tmp_path: Path):
    with ordeal_of(tmp_path / "before", region=True) as ordeal:
        ordeal.send(6)
        ordeal.finish()
        created = take(ordeal.local)
        other = begun(Home(tmp_path / "other"), ordeal.local.compilation, created.place)
        receiver = make_receivers(other.home, other.programs)
        with receiving(receiver["Rows"].source):
            send(port(receiver["Rows"].source), [lines(b'{"k": "new", "n": 7}')])
        for _ in range(3):
            run_some(other, 2)
            other.trigger()
        assert published(other.published("Out")) == [("new", 7)]


def test_the_journal_is_trimmed_behind_the_last_cut_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writing, "SEGMENT_BYTES", 1)
    with ordeal_of(tmp_path, region=True) as ordeal:
        first = [number for number, _ in ordeal.files.segments()]
        for number in range(6):
            ordeal.send(number)
        ordeal.commit_only(0)
        ordeal.receivers.trim()
        assert [number for number, _ in ordeal.files.segments()][: len(first)] == first
        ordeal.trigger(0)
        ordeal.commit_only(0)
        ordeal.trigger(0)
        ordeal.receivers.trim()
        needed = needed_messages(ordeal.local.catalog, ordeal.local.name)["Rows"].number
        kept = [number for number, _ in ordeal.files.segments()]
        assert needed > 1
        assert kept[0] <= needed
        assert all(number > needed for number in kept[1:])
        ordeal.finish()
        assert Counter(ordeal.there()) == Counter(ordeal.sent)
