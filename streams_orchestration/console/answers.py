"""Helpers of routes to read requests and to answer with documents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from streams_orchestration.compiler.explain import UnknownSubjectError
from streams_orchestration.runtime.errors import NotDeployedError, StreamsRuntimeError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LONGEST_BODY = 64 * 1024
"""Bytes of a request."""
Answer = Callable[["Request"], Awaitable["Response"]]


class WrongRequestError(Exception):
    """A request that cannot be answered; the message gives the reason."""


class UnknownPlanError(LookupError):
    """A spec that the console was not started with, or a plan that is not kept any more."""


def json_answer(read: Callable[[Request], Any]) -> Answer:
    """A route that answers with a document, which is read in a thread."""
    from starlette.responses import JSONResponse

    async def answer(request: Request) -> Response:
        try:
            return _Document(await asyncio.to_thread(read, request))
        except (NotDeployedError, UnknownSubjectError, UnknownPlanError) as error:
            return JSONResponse({"error": str(error)}, 404)
        except WrongRequestError as error:
            return JSONResponse({"error": str(error)}, 400)
        except StreamsRuntimeError as error:
            return JSONResponse({"error": str(error)}, 503)

    class _Document(JSONResponse):
        def render(self, content: Any) -> bytes:
            return json.dumps(content, default=str, allow_nan=False, separators=(",", ":")).encode()

    return answer


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object that a request holds; an empty one where it holds none."""
    from starlette.requests import ClientDisconnect

    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_BODY:
                return {}
        document = json.loads(body)
    except (ClientDisconnect, json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
