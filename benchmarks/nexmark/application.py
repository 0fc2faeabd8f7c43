"""The applications of the queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from benchmarks.nexmark.events import AUCTION, BID, PERSON

QUERIES: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("queries.yaml").read_text(encoding="utf-8")
)


def document(query: str, events: int, every: int = 100) -> dict[str, Any]:
    """A query with its source, and a sink for its result.

    Args:
        query: as in `queries.yaml`.
        events: how many there are.
        every: microseconds between two events.
    """
    streams = {"People": "Person", "Auctions": "Auction", "Bids": "Bid"}
    source = {
        "name": "Events",
        "operator": "Nexmark",
        "outputs": [{"stream": stream, "schema": schema} for stream, schema in streams.items()],
        "parameters": {"events": events, "every": every},
        "annotations": {"consistent": {"trigger": "periodic", "period": 2.0}},
    }
    sink = {"name": "Sink", "operator": "FileSink", "inputs": ["Result"], "parameters": {"file": "result"}}
    return {
        "specVersion": 1,
        "application": f"nexmark_{query}",
        "schemas": {"Person": PERSON, "Auction": AUCTION, "Bid": BID},
        "operators": {
            "Nexmark": {
                "implementation": "benchmarks.nexmark.events:NexmarkSource",
                "inputs": [],
                "outputs": [{"mutable": True}] * 3,
            }
        },
        "graph": [source, *QUERIES[query], sink],
    }
