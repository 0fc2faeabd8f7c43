"""An application whose lineage is sent to a list, and what it reads and writes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openlineage.client.event_v2 import RunEvent
from openlineage.client.serde import Serde

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.lineage.client import Client, LineageError
from streams_orchestration_tests.runtime.applications import compiled, node, sink, source


@dataclass
class SentEvents(Client):
    """A client that keeps the events, as JSON; or refuses them."""

    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refuses: str | None = None
    """The reason why events do not arrive; None while they do."""

    def send(self, event: RunEvent) -> None:
        if self.refuses is not None:
            raise LineageError(self.refuses)
        self.events.append(json.loads(Serde.to_json(event)))

    def close(self, seconds: float) -> None:
        """Do nothing, since nothing is under way."""

    @property
    def names(self) -> list[str]:
        return [event["eventType"] for event in self.events]

    @property
    def runs(self) -> list[str]:
        return [event["run"]["runId"] for event in self.events]


def filtered(path: Path, pes: int) -> PlannedCompilation:
    """Rows -> those that are positive -> twice their number -> Out, in so many PEs."""
    graph = [
        source("Rows", path),
        node("Positive", "Filter", "Rows", parameters={"filter": "n > 0"}),
        node("Twice", "Functor", "Positive", parameters={"output": {"n": "n * 2"}}),
        sink("Out", "Twice"),
    ]
    return compiled(graph, fusion="manual", pes=pes)
