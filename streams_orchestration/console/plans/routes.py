"""The routes of the compile view and their handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streams_orchestration.compiler.stage import LOGICAL
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.console.detail_panel import requested, subject
from streams_orchestration.console.graphs import graph_of
from streams_orchestration.console.plans.compilers import Compilers
from streams_orchestration.console.plans.documents import stages_document
from streams_orchestration.console.reader import SnapshotReader
from streams_orchestration.console.responses import WrongRequestError, body_of, json_answer

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute


def plan_routes(reader: SnapshotReader, compilers: Compilers) -> list[BaseRoute]:
    """Return the routes for specs, for compiled plans, and for the plans of deployed applications."""
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    documents = _Documents(reader, compilers)

    async def compile_(request: Request) -> Response:
        body = await body_of(request)
        spec = body.get("spec")
        if not isinstance(spec, str):
            message = "`spec` must be a spec with which the console was started."
            raise WrongRequestError(message)
        return JSONResponse(await compilers.compile(spec, body.get("choices", {}), body.get("before")))

    return [
        Route("/api/plans", json_answer(documents.listed), methods=["GET"]),
        Route("/api/plans", compile_, methods=["POST"]),
        Route("/api/plans/{number}/graph", json_answer(documents.graph)),
        Route("/api/plans/{number}/subject", json_answer(documents.subject)),
        Route("/api/applications/{name}/plan", json_answer(documents.deployed)),
    ]


class _Documents:
    """Handlers of the routes for plans."""

    def __init__(self, reader: SnapshotReader, compilers: Compilers) -> None:
        self.reader = reader
        self.compilers = compilers

    def listed(self, _request: Request) -> dict[str, Any]:
        """Return the specs that may be compiled, and the deployed applications."""
        return {"specs": list(map(str, self.compilers.specs)), "applications": list(self.reader.applications())}

    def deployed(self, request: Request) -> dict[str, Any]:
        """Keep an application's deployed plan, and return its stages and the plan's number; the spec is not read."""
        name = request.path_params["name"]
        compilation = self.reader.compilation(name)
        return {
            "application": name,
            "deployed": True,
            "spec": None,
            "diagnostics": [],
            "notes": [],
            "stages": stages_document(compilation),
            "plan": self.compilers.keep(compilation),
        }

    def graph(self, request: Request) -> dict[str, Any]:
        """Return the graph of a plan after one of the stages."""
        stage = request.query_params.get("stage", "")
        if stage not in BY_NAME:
            message = f"`stage` must be one of {', '.join(BY_NAME)}."
            raise WrongRequestError(message)
        view = "logical" if stage == LOGICAL else "physical"
        return graph_of(self.compilers.plan(request.path_params["number"]), view, stage).document()

    def subject(self, request: Request) -> dict[str, Any]:
        """Return the panel on one operator, stream, PE or region of a plan."""
        kind, name = requested(request.query_params)
        return subject(self.compilers.plan(request.path_params["number"]), kind, name, None, None)
