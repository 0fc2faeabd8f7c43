"""Dagster's web server with a guard, which refuses requests that pages of other addresses make a browser send.

Dagster checks neither Host nor Origin and takes mutations in the query string, so that without the guard any page in
a browser could launch runs. `python -m streams_orchestration.orchestration.webserver` takes the options of
`dagster-webserver`.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click
from dagster_webserver import cli
from dagster_webserver.app import create_app_from_workspace_process_context

from streams_orchestration.operators.serving.http_server import HttpServer
from streams_orchestration.operators.serving.listener import Places, listen
from streams_orchestration.operators.serving.own_pages import LOOPBACK, foreign_refusal, hosts_of, is_json
from streams_orchestration.orchestration.ui import HOSTS
from streams_orchestration.runtime import api

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_CLIENT_CONNECTIONS = 128
"""The most connections at a time; an open page has about seven."""
SHUTDOWN_SECONDS = 2
GRAPHQL = "/graphql"
NO_PAGES = (GRAPHQL, "/report_asset", "/logs/", "/download_debug/", "/notebook", "/dagit")
"""Prefixes of the paths to which a page of another address may not even link."""
HEADERS = (
    (b"content-security-policy", b"frame-ancestors 'self'"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


class UiGuard:
    """ASGI middleware that refuses requests and WebSockets from pages of other addresses.

    Args:
        app: Dagster's ASGI application.
        hosts: the values of the header Host by which the UI is reached.
        prefix: the prefix of all paths of the UI.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str], prefix: str = "") -> None:
        self._app = app
        self._hosts = hosts
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request or WebSocket on, or refuse it; add `HEADERS` to the answer of a request."""
        from starlette.datastructures import Headers
        from starlette.responses import JSONResponse

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        headers = Headers(scope=scope)
        if scope["type"] == "websocket":
            if foreign_refusal(headers, self._is_own_host, "this UI", may_link=False) is not None:
                await send({"type": "websocket.close", "code": 1008})  # before it is accepted: the answer is 403
                return
            await self._app(scope, receive, send)
            return
        refused = self._refusal(scope["method"], scope["path"].removeprefix(self._prefix), headers)
        if refused is not None:
            await JSONResponse({"error": refused[1]}, refused[0])(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)

    def _refusal(self, method: str, path: str, headers: Headers) -> tuple[int, str] | None:
        reads = method in ("GET", "HEAD")
        may_link = reads and not path.startswith(NO_PAGES)
        if (refused := foreign_refusal(headers, self._is_own_host, "this UI", may_link=may_link)) is not None:
            return refused
        if not reads and not is_json(headers):
            return 415, "The body of a request must be JSON."
        if reads and path.startswith(GRAPHQL) and "text/html" not in headers.get("accept", ""):
            return 405, "A GraphQL query must be posted as JSON."
        return None

    def _is_own_host(self, host: str) -> bool:
        return host in self._hosts


def own_hosts(host: str, port: int, further: str) -> frozenset[str]:
    """Return the values of the header Host by which the UI is reached.

    `further` is the value of the variable `HOSTS`.
    """
    return hosts_of((host, *LOOPBACK), port) | {each.strip() for each in further.split(",") if each.strip()}


def _serve(
    context: Any, host: str | None, port: int | None, prefix: str, log_level: str, poll_rate: int | None = None
) -> None:
    """Serve Dagster's application behind the guard; `main` puts this in place of `dagster_webserver`'s own function.

    Without a host or port, it has Dagster's default.
    """
    host, port = host or cli.DEFAULT_WEBSERVER_HOST, port or cli.DEFAULT_WEBSERVER_PORT
    app = create_app_from_workspace_process_context(context, prefix, poll_rate)
    try:
        listener = listen(host, port, Places(MAX_CLIENT_CONNECTIONS))
    except OSError as error:
        message = f"port {port} on {host} cannot be used: {error.strerror}. Stop what listens there or name another."
        raise click.ClickException(message) from error
    guard = UiGuard(app, own_hosts(host, port, os.environ.get(HOSTS, "")), prefix)
    HttpServer(guard, listener, SHUTDOWN_SECONDS, ws="auto", log_level=log_level).run()


def main() -> None:
    """Run the command `dagster-webserver` with the guard.

    Raises:
        ClickException: this version of `dagster-webserver` cannot be guarded.
    """
    replaced = "host_dagster_ui_with_workspace_process_context"
    if not hasattr(cli, replaced):
        message = (
            f"this version of dagster-webserver has no {replaced}, so it cannot be guarded. Install a version that the "
            "requirements of streams-orchestration allow."
        )
        raise click.ClickException(message)
    setattr(cli, replaced, _serve)
    cli.main()


if __name__ == "__main__":
    api.hide_secrets()
    main()
