"""Random applications with nested composites and nested parallel regions."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from streams_orchestration.model.application import Application
from streams_orchestration_tests.specs import graph

Invocations = list[dict[str, Any]]


@st.composite
def applications(draw: st.DrawFn) -> Application:
    """Return a main graph with composites down to three levels, regions of width 1 to 3, fan-in and fan-out."""
    composites: dict[str, Any] = {}

    def body(streams: list[str], depth: int) -> Invocations:
        invocations: Invocations = []
        for number in range(draw(st.integers(1, 3))):
            name = f"N{number}"
            invocation: dict[str, Any] = {"name": name, "operator": "Work"}
            chosen = draw(st.lists(st.sampled_from(streams), min_size=1, max_size=2, unique=True))
            invocation["inputs"] = [chosen]
            if draw(st.booleans()):
                width = draw(st.integers(1, 3))
                annotation: dict[str, Any] = {"width": width}
                if draw(st.integers(0, 3)) == 0:
                    annotation["broadcast"] = [chosen[0]]
                invocation["annotations"] = {"parallel": annotation}
            if depth < 3 and draw(st.booleans()):
                operator = f"C{len(composites)}"
                composites[operator] = {}
                inside = body(["In"], depth + 1)
                composites[operator] = {"inputs": ["In"], "outputs": [inside[-1]["name"]], "graph": inside}
                invocation["operator"] = operator
            invocations.append(invocation)
            streams = [*streams, name]
        return invocations

    main = body(["Src"], 0)
    return graph({"name": "Src", "operator": "Source"}, *main, composites=composites)
