"""An HTTP endpoint that receives messages: access, limits and responses."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streams_orchestration.operators.journal.intake import ConflictError, Intake
from streams_orchestration.operators.journal.writing import JournalFullError
from streams_orchestration.operators.serving.bodies import BodyError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LONGEST_KEY = 255
BODIES_AT_ONCE = 8
"""The memory limit for bodies, as a multiple of the largest body."""
RETRY_AFTER_SECONDS = 1
"""Seconds after which a request that found no room may be repeated."""


@dataclass
class Endpoint:
    """Receives requests and writes their messages to the journal."""

    intake: Intake
    token: str | None
    most_bytes: int
    """The largest body in bytes."""
    messages: Callable[[bytes, str], list[bytes]]
    """Splits a body into messages, given its Content-Type."""
    sender: Callable[[Any], str]
    held: int = 0
    """Bytes of the bodies that are currently being read or written."""

    async def answer(self, request: Request) -> Response:
        """Respond with 202 once all messages of the body are in the journal. On any other status none of them is.

        A request that is answered 503, for lack of room, is counted.

        Raises:
            DamagedError: an acknowledged message is missing in the journal.
        """
        from starlette.requests import ClientDisconnect
        from starlette.responses import JSONResponse, Response

        parts: list[bytes] = []
        try:
            self._admit(request)
            key = self._key(request)
            await self._read(request, parts)
            body = b"".join(parts)
            messages = self.messages(body, request.headers.get("content-type", ""))
            digest = hashlib.blake2b(body, digest_size=16).hexdigest() if key else ""
            await self.intake.offer(messages, self.sender(request.client), key, digest)
        except BodyError as error:
            headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
            return JSONResponse({"error": str(error)}, error.status, headers)
        except ConflictError:
            message = "Idempotency-Key: another body was sent with this key before; use a new key for other content"
            return JSONResponse({"error": message}, 409)
        except JournalFullError:
            self.intake.count("held back", "a request was answered 503: the journal has no room")
            return self._no_room()
        except OSError as error:
            self.intake.count("held back", "a request was answered 503: the journal: %s", error.strerror or error)
            return self._no_room()
        except _BusyError:
            self.intake.count("held back", "a request was answered 503: too many bodies are being read")
            return self._no_room()
        except ClientDisconnect:
            return Response(status_code=400)
        finally:
            self.held -= sum(map(len, parts))
        return JSONResponse({"messages": len(messages)}, 202)

    def _admit(self, request: Request) -> None:
        if self.token is None:
            # any web page can make a browser post here; the header Origin gives it away
            if (origin := request.headers.get("origin")) is not None:
                raise BodyError(
                    403, f"a web page of {origin} sent this request; without a token, requests of web pages are refused"
                )
        else:
            sent = request.headers.get("authorization", "").encode()
            if not hmac.compare_digest(sent, f"Bearer {self.token}".encode()):
                raise BodyError(401, "the token is missing or wrong")
        encoding = request.headers.get("content-encoding", "identity")
        if encoding != "identity":
            raise BodyError(415, f"Content-Encoding is {encoding}; only bodies without an encoding are accepted")

    def _key(self, request: Request) -> str:
        key = request.headers.get("idempotency-key", "")
        if len(key) > LONGEST_KEY:
            raise BodyError(400, f"Idempotency-Key has more than {LONGEST_KEY} characters")
        return key

    async def _read(self, request: Request, parts: list[bytes]) -> None:
        announced = request.headers.get("content-length", "")
        too_large = BodyError(413, f"the body has more than {self.most_bytes} bytes")
        if announced.isdecimal() and int(announced) > self.most_bytes:
            raise too_large
        size = 0
        async for part in request.stream():
            parts.append(part)
            size += len(part)
            self.held += len(part)
            if size > self.most_bytes:
                raise too_large
            if self.held > BODIES_AT_ONCE * self.most_bytes:
                raise _BusyError

    @staticmethod
    def _no_room() -> Response:
        from starlette.responses import JSONResponse

        body = {"error": "the journal has no room now; no message of the body was accepted"}
        return JSONResponse(body, 503, {"Retry-After": str(RETRY_AFTER_SECONDS)})


class _BusyError(Exception):
    """Bodies being read already use all the memory that is allowed."""


def application(path: str, answer: Callable[[Any], Awaitable[Any]]) -> Any:
    """Return an ASGI application that answers POST requests on one path."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    return Starlette(routes=[Route(path, answer, methods=["POST"])])
