"""Places: which connection gives way."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from streams_orchestration.operators.serving.listener import Activity, ClientConnection, Listener, Places, listen
from streams_orchestration_tests.waiting import until

A, B = "127.0.0.1", "127.0.0.2"
"""Two addresses of this machine."""


class Meeting(contextlib.ExitStack):
    """A listener, and peers that connect one after another."""

    def __init__(self, places: Places, address: str = "127.0.0.1") -> None:
        super().__init__()
        self.listener: Listener = self.enter_context(listen(address, 0, places))

    def connect(self, source: str = A) -> ClientConnection | None:
        """Return the accepted connection, or None where it was refused."""
        peer = self.enter_context(socket.create_connection(self.listener.getsockname()[:2], 20, (source, 0)))
        accepted: list[ClientConnection | None] = []

        def accept() -> bool:
            try:
                accepted.append(self.enter_context(self.listener.accept()[0]))
            except BlockingIOError:
                peer.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    accepted.extend([None] if peer.recv(1) == b"" else [])
            return bool(accepted)

        until(accept, lambda: "nothing was accepted or closed")
        return accepted[0]

    def take(self, source: str = A) -> ClientConnection:
        """Return an accepted connection."""
        accepted = self.connect(source)
        assert accepted is not None
        return accepted


@pytest.fixture
def three() -> Iterator[Meeting]:
    with Meeting(Places(3)) as made:
        yield made


def cut(*connections: ClientConnection) -> list[bool]:
    return [each.is_cut for each in connections]


def test_the_one_that_has_waited_longest_gives_way(three: Meeting):
    first, second, third = (three.take() for _ in range(3))
    first.note(Activity.WAITING)
    three.take()
    assert cut(first, second, third) == [False, True, False]


def test_an_address_with_many_gives_way_to_one_with_few(three: Meeting):
    old, *many = three.take(B), three.take(), three.take()
    three.take(B)
    assert cut(old, *many) == [False, True, False]


def test_a_stream_gives_way_after_those_that_wait_and_work_never_does(three: Meeting):
    stream, waiting, working = (three.take() for _ in range(3))
    stream.note(Activity.STREAMING)
    working.note(Activity.WORKING)
    three.take().note(Activity.WORKING)
    assert cut(stream, waiting, working) == [False, True, False]
    three.take().note(Activity.WORKING)
    assert cut(stream, waiting, working) == [True, True, False]
    assert three.connect() is None


def test_a_connection_that_waits_keeps_its_place_for_as_long_as_it_may():
    refused: list[tuple[str, int]] = []
    with Meeting(Places(1, patience=3600.0, refused=refused.append)) as meeting:
        first = meeting.take()
        assert meeting.connect() is None
        assert [host for host, _ in refused] == [A]
        first.close()
        meeting.take()


def test_an_address_has_no_more_than_it_may():
    with Meeting(Places(10, most_each=2)) as meeting:
        first, second, other = meeting.take(), meeting.take(), meeting.take(B)
        meeting.take()
        assert cut(first, second, other) == [True, False, False]


def test_a_connection_that_nobody_closes_has_no_place(three: Meeting):
    for _ in range(10):
        socket.create_connection(three.listener.getsockname()).close()
        until(lambda: _accepted(three.listener), lambda: "nothing was accepted")
    assert cut(*(three.take() for _ in range(3))) == [False] * 3


def _accepted(listener: Listener) -> bool:
    with contextlib.suppress(BlockingIOError):
        listener.accept()
        return True
    return False


def test_those_that_are_cut_and_not_closed_are_bounded_too(three: Meeting):
    accepted = [three.connect() for _ in range(100)]
    assert 3 < sum(each is not None for each in accepted) < 100
