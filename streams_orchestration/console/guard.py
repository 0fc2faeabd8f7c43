"""Guards every route: refuses foreign hosts and origins, and adds headers that restrict the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from streams_orchestration.console.access import Access

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
"""The pages themselves and the exchange of a token for a session; everything else needs that session."""


class Guard:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        from starlette.datastructures import MutableHeaders
        from starlette.requests import Request
        from starlette.responses import JSONResponse

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
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
                refused = (401, "Open the console with the address that `streams console` shows: it has the token.")
        if refused is not None:
            await JSONResponse({"error": refused[1]}, refused[0])(scope, receive, guarded)
            return
        await self.app(scope, receive, guarded)

    def _refusal(self, method: str, path: str, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self.access.is_own_host(host):
            return 421, f"{host or 'no host'} is not the address of this console."
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return 403, "The request comes from a page of another address."
        navigates = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not (navigates and path in PAGES):
            return 403, "The request comes from a page of another address."
        is_json = headers.get("content-type", "").partition(";")[0].strip() == "application/json"
        if method not in ("GET", "HEAD") and not is_json:
            return 415, "The body of a request is JSON."
        return None

    @staticmethod
    def _is_open(path: str) -> bool:
        return path in OPEN or path.startswith("/static/")
