"""Invocations in parallel regions, and the splitters that come of them."""

from __future__ import annotations

from typing import Any

from streams_orchestration.compiler.physical_graph import PhysicalGraph

SOURCE = {"name": "Src", "operator": "Source"}


def region(name: str, width: int, inputs: Any, operator: str = "Work", **parallel: Any) -> dict[str, Any]:
    annotation = {"width": width, **parallel}
    return {"name": name, "operator": operator, "inputs": inputs, "annotations": {"parallel": annotation}}


def splitter_texts(graph: PhysicalGraph) -> list[str]:
    """Name of the operator, port of the region, policy and width; D for those that drop window punctuation."""
    return [
        f"{graph.operators[each.operator].name} {each.region_port} {each.policy} {each.width}"
        + " D" * each.drops_window_punctuation
        for each in graph.splitters
    ]
