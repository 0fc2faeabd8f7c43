"""The guard of every route, which refuses foreign hosts and origins, and adds headers that restrict the browser."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from streams_orchestration.console.access import Access
from streams_orchestration.operators.serving.own_pages import foreign_refusal, is_json

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
PAGES = ("/", "/compile")
OPEN = (*PAGES, "/static/", "/api/session")
"""Paths that need no session: the pages, their files, and the exchange of a token for a session."""

log = logging.getLogger("streams.console")


class AccessGuard:
    """ASGI middleware that refuses requests that `access` does not allow."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with restricting headers in its answer, or refuse it.

        An error of the application is logged and answered with status 500, or raised if its answer has begun.
        """
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        from starlette.datastructures import MutableHeaders
        from starlette.requests import Request
        from starlette.responses import JSONResponse

        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if not scope["path"].startswith("/static/"):
                    headers["cache-control"] = "no-store"
            await send(message)

        request = Request(scope)
        refused = self._refusal(request.method, scope["path"], request.headers)
        if refused is None and not self._is_open(scope["path"]):
            session = request.cookies.get(self.access.cookie)
            if not self.access.may_read(session, request.headers.get("authorization", "")):
                refused = (
                    401,
                    "Open the console by the address that `streams console` prints, which contains the token.",
                )
        if refused is not None:
            await JSONResponse({"error": refused[1]}, refused[0])(scope, receive, guarded)
            return
        try:
            await self.app(scope, receive, guarded)
        except Exception:
            log.exception("%s %s was not answered", request.method, scope["path"])
            if begun:
                raise
            answer = JSONResponse({"error": "The console failed. The terminal in which it runs shows the reason."}, 500)
            await answer(scope, receive, guarded)

    def _refusal(self, method: str, path: str, headers: Headers) -> tuple[int, str] | None:
        refused = foreign_refusal(headers, self.access.is_own_host, "this console", may_link=path in PAGES)
        if refused is None and method not in ("GET", "HEAD") and not is_json(headers):
            refused = 415, "The body of a request must be JSON."
        return refused

    @staticmethod
    def _is_open(path: str) -> bool:
        return path in OPEN or path.startswith("/static/")
