"""The console's ASGI application: its routes and their handlers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streams_orchestration.console.access import Access
from streams_orchestration.console.detail_panel import requested, subject
from streams_orchestration.console.graphs import graph_of
from streams_orchestration.console.guard import AccessGuard
from streams_orchestration.console.histories import History
from streams_orchestration.console.plans.compilers import Compilers
from streams_orchestration.console.plans.routes import plan_routes
from streams_orchestration.console.reader import SnapshotReader
from streams_orchestration.console.responses import (
    STATUSES,
    Answer,
    WrongRequestError,
    body_of,
    error_answer,
    json_answer,
)
from streams_orchestration.console.samples import Samples
from streams_orchestration.runtime import api

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

STATIC = Path(__file__).parent / "static"


def create_app(reader: SnapshotReader, access: Access, compilers: Compilers | None = None) -> Starlette:
    """Return the application that serves the page, its documents and its events.

    Args:
        reader: the reader of the catalog, which all pages share; it runs as long as the application.
        access: the rule who may use the console.
        compilers: the specs that pages may have compiled; by default there are none.
    """
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.requests import ClientDisconnect

    compilers = compilers or Compilers(reader.home)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        reading = asyncio.create_task(reader.run())
        compilers.prepare()
        yield
        compilers.close()
        reader.close()
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading

    # Guard is not a protocol of Starlette's for type checkers, since it names no keywords beyond its own
    middleware = [Middleware(AccessGuard, access)]  # pyright: ignore[reportArgumentType]
    return Starlette(
        routes=_routes(reader, access, compilers),
        middleware=middleware,
        lifespan=lifespan,
        exception_handlers=dict.fromkeys((*STATUSES, ClientDisconnect), error_answer),
    )


def _routes(reader: SnapshotReader, access: Access, compilers: Compilers) -> list[BaseRoute]:
    """Return all routes. The guard demands the token for all except the pages, their files and the session."""
    from starlette.responses import FileResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    documents = _Documents(reader)

    async def page(_request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def compile_view(_request: Request) -> Response:
        return FileResponse(STATIC / "compile.html")

    return [
        Route("/", page),
        Route("/compile", compile_view),
        Mount("/static", StaticFiles(directory=STATIC)),
        Route("/metrics", api.build_metrics_handler(reader.home, reader.only)),
        Route("/api/session", _session(access), methods=["GET", "POST"]),
        Route("/api/applications", json_answer(documents.applications)),
        Route("/api/applications/{name}/graph", json_answer(documents.graph)),
        Route("/api/applications/{name}/state", json_answer(documents.state)),
        Route("/api/applications/{name}/subject", json_answer(documents.subject)),
        Route("/api/applications/{name}/history", json_answer(documents.history)),
        Route("/api/applications/{name}/sample", json_answer(documents.sample)),
        Route("/api/applications/{name}/events", _events(reader)),
        Route("/api/applications/{name}/reset", _reset(reader, access), methods=["POST"]),
        *plan_routes(reader, compilers),
    ]


class _Documents:
    """Handlers of the routes that return documents."""

    def __init__(self, reader: SnapshotReader) -> None:
        self.reader = reader
        self.samples = Samples(reader.home)

    def applications(self, _request: Request) -> list[dict[str, Any]]:
        """Return the deployed applications with their states."""
        listed: list[dict[str, Any]] = []
        for name in self.reader.applications():
            with suppress(api.NotDeployedError):
                shown = self.reader.snapshot(name)
                listed.append(
                    {
                        "name": name,
                        "state": shown["state"],
                        "deployed_at": shown["deployed_at"],
                        "pes": len(shown["pes"]),
                        "failed": [failure["unit"] for failure in shown["failures"]],
                    }
                )
        return listed

    def graph(self, request: Request) -> dict[str, Any]:
        """Return the graph of the deployed plan, the physical one by default, or the logical one."""
        view = request.query_params.get("view", "physical")
        if view not in ("physical", "logical"):
            message = "`view` must be `physical` or `logical`."
            raise WrongRequestError(message)
        return graph_of(self.reader.compilation(request.path_params["name"]), view).document()

    def state(self, request: Request) -> dict[str, Any]:
        """Return the current state of the application."""
        return self.reader.snapshot(request.path_params["name"])

    def subject(self, request: Request) -> dict[str, Any]:
        """Return the panel on one operator, stream, PE or region of a deployed application."""
        application = request.path_params["name"]
        kind, name = requested(request.query_params)
        compilation = self.reader.compilation(application)
        catalog = api.open_catalog(self.reader.home, application)
        metrics, status = api.read_metrics(catalog, application), api.read_status(catalog, application)
        return subject(compilation, kind, name, metrics, status)

    def history(self, request: Request) -> dict[str, Any]:
        """Return the history of an operator, or of `PE n`, over the last quarter of an hour; empty if it is unknown."""
        self.reader.require(request.path_params["name"])
        history = self.reader.histories.get(request.path_params["name"], History())
        return history.document(request.query_params.get("name", ""))

    def sample(self, request: Request) -> dict[str, Any]:
        """Return a sample of a stream's tuples, or the reason why there is none."""
        application = request.path_params["name"]
        stream = request.query_params.get("stream", "")
        if not stream:
            message = "`stream` must be the name of a stream."
            raise WrongRequestError(message)
        compilation = self.reader.compilation(application)
        life = api.read_status(api.open_catalog(self.reader.home, application), application).life
        return self.samples.document(application, life, compilation, stream)


def _session(access: Access) -> Answer:
    """Return the handler of sessions: GET returns the rights of a request, POST exchanges a token for a session.

    A wrong token is answered with status 401.
    """
    from starlette.responses import JSONResponse

    def described(request: Request) -> dict[str, bool]:
        may = access.may_read(request.cookies.get(access.cookie), request.headers.get("authorization", ""))
        return {"authorized": may, "allow_actions": access.allow_actions}

    async def answer(request: Request) -> Response:
        if request.method != "POST":
            return JSONResponse(described(request))
        token = (await body_of(request)).get("token")
        if not isinstance(token, str):
            return JSONResponse({"error": "`token` must be a text."}, 400)
        if not access.is_token(token):
            return JSONResponse({"error": "The token is missing or wrong."}, 401)
        answered = JSONResponse({"authorized": True, "allow_actions": access.allow_actions})
        secure = request.url.scheme == "https"
        answered.set_cookie(access.cookie, access.begin_session(), httponly=True, samesite="strict", secure=secure)
        return answered

    return answer


def _reset(reader: SnapshotReader, access: Access) -> Answer:
    """Return the handler of POST {unit, force}, which resets a unit.

    It answers status 403 unless actions are allowed, 400 for a wrong request, and 409 if the unit is not reset.
    """
    from starlette.responses import JSONResponse

    async def answer(request: Request) -> Response:
        name, body = request.path_params["name"], await body_of(request)
        if not access.allow_actions:
            return JSONResponse(
                {"error": "This console is read-only. Start `streams console --allow-actions` to reset units."}, 403
            )
        unit, force = body.get("unit"), body.get("force", False)
        if not isinstance(unit, str) or not isinstance(force, bool):
            return JSONResponse({"error": "`unit` must be the name of a region or PE, and `force` true or false."}, 400)
        reader.require(name)
        try:
            catalog = await asyncio.to_thread(api.open_catalog, reader.home, name)
            reset = await asyncio.to_thread(partial(api.reset_unit, catalog, name, unit, force=force))
        except api.NotDeployedError:
            raise
        except api.StreamsRuntimeError as error:
            return JSONResponse({"error": str(error)}, 409)
        return JSONResponse({"unit": unit, "generation": reset.generation})

    return answer


def _events(reader: SnapshotReader) -> Answer:
    """Return the handler that streams the server-sent events of an application."""
    from starlette.responses import StreamingResponse

    async def answer(request: Request) -> Response:
        name = request.path_params["name"]
        reader.require(name)
        return StreamingResponse(reader.events(name), media_type="text/event-stream")

    return answer
