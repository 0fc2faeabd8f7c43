"""HttpServer: no peer keeps others out, sends without limit, or waits without end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from streams_orchestration.operators.serving import http_server
from streams_orchestration_tests.operators.serving.serving import Peers, is_closed, served
from streams_orchestration_tests.waiting import until

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
EVENTS = GET.replace(b"/ ", b"/events ", 1)
BODY = b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"
LARGE = 32 << 20


class Application:
    """Answers, reads bodies, sends events without end, and holds requests until they are let go."""

    def __init__(self) -> None:
        self.held = threading.Semaphore(0)
        self.let_go = threading.Event()
        routes = [
            Route("/", self.answer),
            Route("/body", self.body, methods=["POST"]),
            Route("/unread", self.answer, methods=["POST"]),
            Route("/events", self.events),
            Route("/hold", self.hold),
            Route("/large", self.large),
        ]
        self.app = Starlette(routes=routes)

    async def answer(self, _request: Request) -> Response:
        return PlainTextResponse("here")

    async def body(self, request: Request) -> Response:
        return Response(await request.body())

    async def large(self, _request: Request) -> Response:
        return Response(bytes(LARGE))

    async def events(self, _request: Request) -> Response:
        async def forever() -> AsyncIterator[str]:
            yield "data: 0\n\n"
            await asyncio.Event().wait()

        return StreamingResponse(forever(), media_type="text/event-stream")

    async def hold(self, _request: Request) -> Response:
        self.held.release()
        await asyncio.to_thread(self.let_go.wait)
        return PlainTextResponse("let go")


@pytest.fixture
def peers() -> Iterator[Peers]:
    with served(Application().app, most=5) as made:
        yield made


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> Iterator[Peers]:
    """A server that gives its peers next to no time."""
    monkeypatch.setattr(http_server, "HEAD_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr(http_server, "TIMEOUT_CHECK_SECONDS", 0.01)
    with served(Application().app) as made:
        yield made


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost:", BODY, BODY + b"12345", EVENTS])
def test_connections_that_wait_or_stream_keep_nobody_out(peers: Peers, sent: bytes):
    before = [peers.connect(sent) for _ in range(5)]
    if sent == EVENTS:
        assert all(each.recv(1) for each in before)  # all stream by now: a waiting one would be closed before the first
    assert all(peers.ask(GET) == b"HTTP/1.1 200 OK" for _ in range(3))
    assert is_closed(before[0])


def test_a_request_that_is_answered_keeps_its_place_and_a_new_connection_is_closed():
    application = Application()
    with served(application.app, most=2) as peers:
        held = [peers.connect(GET.replace(b"/ ", b"/hold ", 1)) for _ in range(2)]
        for _ in held:
            assert application.held.acquire(timeout=20)
        assert is_closed(peers.connect())
        application.let_go.set()
        assert all(each.recv(1000).startswith(b"HTTP/1.1 200 OK") for each in held)
        assert peers.ask(GET) == b"HTTP/1.1 200 OK"


def test_a_head_has_a_limit(peers: Peers):
    connection = peers.connect(b"GET / HTTP/1.1\r\n")
    with pytest.raises(ConnectionError):
        for number in range(1000):
            connection.sendall(b"X-%d: %b\r\n" % (number, bytes([97]) * (1 << 18)))


def test_a_head_that_is_too_long_or_no_http_is_answered_so(peers: Peers):
    assert peers.ask(b"\x16\x03\x01\r\n\r\n") == b"HTTP/1.1 400 Bad Request"
    assert peers.ask(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * http_server.HEAD_BYTES) == b"HTTP/1.1 400 Bad Request"
    assert peers.ask(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 60_000 + b"\r\n\r\n") == b"HTTP/1.1 200 OK"


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HTTP/1.1\r\n", BODY, BODY + b"1", BODY.replace(b"/body", b"/unread"), GET, GET + b"GET /"],
    ids=["nothing", "part of a head", "no body", "part of a body", "a body that nobody reads", "a request", "another"],
)
def test_a_peer_that_sends_nothing_more_is_cut_off(hurried: Peers, sent: bytes):
    assert is_closed(hurried.connect(sent))


def test_a_peer_that_does_not_take_its_answer_is_cut_off(hurried: Peers, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_server, "SLOWEST", LARGE * 100)
    connection = hurried.connect(GET.replace(b"/ ", b"/large ", 1))
    until(lambda: len(hurried.places) == 1, lambda: "the connection was not accepted")
    until(lambda: len(hurried.places) == 0, lambda: "the connection stays")
    taken = 0
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1 << 20):
            taken += len(part)
    assert taken < LARGE


def test_a_body_that_comes_fast_enough_has_its_time(peers: Peers):
    size = 4 << 20
    connection = peers.connect(b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
    sending = threading.Thread(target=connection.sendall, args=(bytes(size),))
    sending.start()
    taken = 0
    while taken < size:
        taken += len(connection.recv(1 << 20))
    sending.join()


def test_events_are_not_cut_off_for_their_length(hurried: Peers):
    events = hurried.connect(EVENTS)
    while b"data: 0" not in events.recv(1000):
        pass
    assert is_closed(hurried.connect())  # one that waits is, meanwhile
    events.setblocking(False)
    with pytest.raises(BlockingIOError):
        events.recv(1)
