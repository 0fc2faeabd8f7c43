"""The guard before Dagster's UI: own pages and programs are answered, pages of other addresses are not."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from streams_orchestration.orchestration.webserver import UiGuard, own_hosts

OWN = "127.0.0.1:3000"
JSON = {"content-type": "application/json"}
LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


async def answer(_request: object) -> Response:
    return Response(headers={"content-security-policy": "default-src 'self'"})


async def talk(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("hello")
    await socket.close()


def client() -> TestClient:
    routes = [WebSocketRoute("/graphql", talk), Route("/{path:path}", answer, methods=["GET", "POST", "PUT"])]
    guard = UiGuard(Starlette(routes=routes), own_hosts("127.0.0.1", 3000, "ui.example.org, other.example.org:8443"))
    return TestClient(guard, base_url=f"http://{OWN}")


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, 200),
        ("GET", "/runs", LINK, 200),
        ("GET", "/runs", LINK | {"sec-fetch-dest": "iframe"}, 403),
        ("GET", "/graphql", LINK | {"accept": "text/html"}, 403),
        ("GET", "/graphql", {"accept": "text/html"}, 200),
        ("GET", "/graphql?query=mutation{a}", {"accept": "*/*"}, 405),
        ("GET", "/report_asset_materialization/a", LINK, 403),
        ("GET", "/logs/a.err", LINK, 403),
        ("POST", "/runs", LINK | JSON, 403),
        ("POST", "/graphql", JSON, 200),
        ("POST", "/graphql", {"content-type": "application/json; charset=utf-8"}, 200),
        ("POST", "/graphql", {"content-type": "text/plain"}, 415),
        ("POST", "/graphql", {"content-type": "text/plain; a=application/json"}, 415),
        ("POST", "/graphql", {}, 415),
        ("PUT", "/graphql", {}, 415),
        ("POST", "/graphql", JSON | {"origin": f"http://{OWN}", "sec-fetch-site": "same-origin"}, 200),
        ("POST", "/graphql", JSON | {"origin": "http://127.0.0.1:8000", "sec-fetch-site": "same-site"}, 403),
        ("POST", "/graphql", JSON | {"origin": "null"}, 403),
        ("POST", "/graphql", JSON | {"origin": "http://[::1"}, 403),
        ("POST", "/graphql", JSON | {"host": "example.org:3000"}, 421),
        ("POST", "/graphql", JSON | {"host": "localhost:3000"}, 200),
        ("POST", "/graphql", JSON | {"host": "ui.example.org", "origin": "https://ui.example.org"}, 200),
        ("POST", "/graphql", JSON | {"host": "other.example.org", "origin": "https://other.example.org"}, 421),
    ],
)
def test_only_own_pages_and_programs_are_answered(method: str, path: str, headers: dict[str, str], status: int):
    answered = client().request(method, path, headers=headers)
    assert answered.status_code == status
    assert "frame-ancestors 'self'" in answered.headers["content-security-policy"]


def test_the_policy_of_dagster_stays():
    assert client().get("/").headers.get_list("content-security-policy") == [
        "default-src 'self'",
        "frame-ancestors 'self'",
    ]


def test_a_web_socket_is_for_own_pages():
    with client().websocket_connect("/graphql", headers={"host": OWN, "origin": f"http://{OWN}"}) as socket:
        assert socket.receive_text() == "hello"


@pytest.mark.parametrize(
    "headers",
    [
        {"host": OWN, "origin": "http://example.org"},
        {"host": "example.org:3000", "origin": "http://example.org:3000"},
        {"host": OWN, "sec-fetch-site": "cross-site"},
    ],
)
def test_a_web_socket_of_another_page_is_refused(headers: dict[str, str]):
    with pytest.raises(WebSocketDisconnect), client().websocket_connect("/graphql", headers=headers):
        pass
