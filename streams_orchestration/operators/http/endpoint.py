"""An endpoint for HTTP requests: access, limits, and answers."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streams_orchestration.operators.http.bodies import BodyError
from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.writing import JournalFullError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LONGEST_KEY = 255
RETRY_SECONDS = 1
"""Seconds after which a request that found no room may be repeated."""


@dataclass(frozen=True)
class Endpoint:
    """The rules of an endpoint for each request."""

    intake: Intake
    token: str | None
    most_bytes: int
    """Most bytes of a body."""
    messages: Callable[[bytes, str], list[bytes]]
    """The messages of a body of some Content-Type."""
    sender: Callable[[Any], str]

    async def answer(self, request: Request) -> Response:
        """202 as soon as all messages of the body are in the journal; else none of them is."""
        from starlette.requests import ClientDisconnect
        from starlette.responses import JSONResponse, Response

        try:
            self._admit(request)
            key = self._key(request)
            messages = self.messages(await self._body(request), request.headers.get("content-type", ""))
            await self.intake.offer(messages, self.sender(request.client), key)
        except BodyError as error:
            headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
            return JSONResponse({"error": str(error)}, error.status, headers)
        except JournalFullError:
            self.intake.count("held back", "a request was answered 503: the journal has no room")
            body = {"error": "there is no room now; nothing of the body was taken"}
            return JSONResponse(body, 503, {"Retry-After": str(RETRY_SECONDS)})
        except ClientDisconnect:
            return Response(status_code=400)
        return JSONResponse({"messages": len(messages)}, 202)

    def _admit(self, request: Request) -> None:
        if self.token is not None:
            sent = request.headers.get("authorization", "").encode()
            if not hmac.compare_digest(sent, f"Bearer {self.token}".encode()):
                raise BodyError(401, "the token is missing or wrong")
        encoding = request.headers.get("content-encoding", "identity")
        if encoding != "identity":
            raise BodyError(415, f"Content-Encoding is {encoding}; bodies are taken as they are")

    def _key(self, request: Request) -> str:
        key = request.headers.get("idempotency-key", "")
        if len(key) > LONGEST_KEY:
            raise BodyError(400, f"Idempotency-Key has more than {LONGEST_KEY} characters")
        return key

    async def _body(self, request: Request) -> bytes:
        announced = request.headers.get("content-length", "")
        too_large = BodyError(413, f"the body has more than {self.most_bytes} bytes")
        if announced.isdecimal() and int(announced) > self.most_bytes:
            raise too_large
        parts: list[bytes] = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > self.most_bytes:
                raise too_large
            parts.append(part)
        return b"".join(parts)


def application(path: str, answer: Callable[[Any], Awaitable[Any]]) -> Any:
    """The ASGI application that answers POST to one path."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    return Starlette(routes=[Route(path, answer, methods=["POST"])])
