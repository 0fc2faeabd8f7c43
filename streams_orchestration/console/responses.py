"""Helpers of routes to read requests and to answer with documents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from streams_orchestration.compiler.explain import UnknownSubjectError
from streams_orchestration.model.containers import is_mapping
from streams_orchestration.operators.loading.import_path import ImplementationError
from streams_orchestration.runtime import api

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LONGEST_BODY = 64 * 1024
"""The most bytes in the body of a request."""
Answer = Callable[["Request"], Awaitable["Response"]]


class WrongRequestError(Exception):
    """The request cannot be answered; the message gives the reason."""


class UnknownPlanError(LookupError):
    """The console was not started with a spec, or no longer keeps the plan."""


class BusyError(Exception):
    """Too many pages wait for a compilation."""


STATUSES: Mapping[type[Exception], int] = {
    api.NotDeployedError: 404,
    UnknownSubjectError: 404,
    UnknownPlanError: 404,
    WrongRequestError: 400,
    BusyError: 429,
    api.StreamsRuntimeError: 503,
    ImplementationError: 503,
}
"""Maps the errors with which a route answers to their statuses; the nearest class of an error counts."""


async def error_answer(_request: Request, error: Exception) -> Response:
    """Answer an error of `STATUSES` with its message as JSON; status 400 for a sender who has disconnected."""
    from starlette.responses import JSONResponse

    status = next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 400)
    return JSONResponse({"error": str(error)}, status)


def json_answer(read: Callable[[Request], Any]) -> Answer:
    """Return a route that calls `read` in a thread and answers with its document. Errors are raised."""
    from starlette.responses import JSONResponse

    async def answer(request: Request) -> Response:
        return _Document(await asyncio.to_thread(read, request))

    class _Document(JSONResponse):
        def render(self, content: Any) -> bytes:
            return json.dumps(content, default=str, allow_nan=False, separators=(",", ":")).encode()

    return answer


async def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request.

    Raises:
        WrongRequestError: the body is too long, is not a JSON object, or has text that is not Unicode.
    """
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_BODY:
                message = f"The body has more than {LONGEST_BODY} bytes."
                raise WrongRequestError(message)
        document = json.loads(body)
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits and lone surrogates, too
        message = "The body is not valid JSON."
        raise WrongRequestError(message) from error
    if not is_mapping(document):
        message = "The body is not a JSON object."
        raise WrongRequestError(message)
    return document
