"""The endpoint that Prometheus scrapes, as an ASGI application and as a route of the console."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from streams_orchestration.operators.serving.own_pages import LOOPBACK, foreign_refusal, hosts_of, is_loopback
from streams_orchestration.runtime.observing.exposition.prometheus import read_metrics_text
from streams_orchestration.runtime.storage.home import Home

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response


def build_metrics_handler(home: Home, application: str | None = None) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler of a scrape, which reads the catalog in a thread every time; see `read_metrics_text`.

    Args:
        home: the state directory.
        application: the only application to expose; None for all.
    """
    from starlette.responses import Response

    async def answer(request: Request) -> Response:
        accept = request.headers.get("accept", "")
        text, content_type = await asyncio.to_thread(read_metrics_text, home, accept, application)
        return Response(text, headers={"content-type": content_type})

    return answer


def build_metrics_app(home: Home, host: str, port: int) -> Starlette:
    """Return the ASGI application that answers every path with the metrics.

    Args:
        home: the state directory.
        host: address to listen on. At a loopback address, requests for foreign host names are refused, so that no web
            page can read the metrics through a name of its own (DNS rebinding).
        port: port to listen on.
    """
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    scrape, own = build_metrics_handler(home), hosts_of((host, *LOOPBACK), port)

    async def answer(request: Request) -> Response:
        if is_loopback(host):
            refused = foreign_refusal(request.headers, own.__contains__, "these metrics", may_link=True)
            if refused is not None:
                return PlainTextResponse(refused[1], refused[0])
        return await scrape(request)

    return Starlette(routes=[Route("/{path:path}", answer)])
