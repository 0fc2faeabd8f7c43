"""Large applications: the whole compile, plan document included, against networkx merely building such a graph.

The graph of networkx has the same operators and connections with one attribute each. Its operators are their names,
as in the plan, or only numbers, which is quicker to build.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx

from benchmarks.harness import Row, memory, seconds
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.plan import plan_text
from streams_orchestration.model.application import Application
from streams_orchestration.model.collector import uncollected
from streams_orchestration.model.loading import application_from_mapping

WIDTH, LENGTH = 126, 39
"""Channels of either half of a block, and operators of a channel."""
OTHERS = {
    "20 PEs": Options(fusion="manual", pes=20),
    "legacy fusion": Options(fusion="legacy"),
    "isolated channels": Options(channel_fusion="channelIsolation"),
    "dedicated threads": Options(threading="dedicated"),
}
"""Options that make more work than the default."""


def application(blocks: int) -> Application:
    """Return an application of some blocks, each with 9,828 operators and 39,562 connections.

    A block is two parallel regions with a shuffle between them; operators of a channel read up to three before them.
    """
    graph: list[dict[str, Any]] = []
    for number in range(LENGTH):
        before = [f"N{other}" for other in range(max(number - 3 + number % 2, 0), number)]
        graph.append({"name": f"N{number}", "operator": "Work", "inputs": [before or ["In"]]})
    parallel = {"parallel": {"width": WIDTH}}
    halves = [
        {"name": "A", "operator": "Channel", "inputs": ["In"], "annotations": parallel},
        {"name": "B", "operator": "Channel", "inputs": ["A"], "annotations": parallel},
    ]
    mutable = [{"mutable": True}]
    return application_from_mapping(
        {
            "specVersion": 1,
            "application": "large",
            "operators": {
                "Source": {"inputs": []},
                "Work": {"inputs": mutable, "outputs": mutable},
                "Sink": {"outputs": []},
            },
            "composites": {
                "Channel": {"inputs": ["In"], "outputs": [f"N{LENGTH - 1}"], "graph": graph},
                "Block": {"inputs": ["In"], "outputs": ["B"], "graph": halves},
            },
            "graph": [
                {"name": "Src", "operator": "Source"},
                {
                    "name": "Out",
                    "operator": "Block",
                    "inputs": ["Src"],
                    "annotations": {"parallel": {"width": blocks}},
                },
                {"name": "Snk", "operator": "Sink", "inputs": ["Out"]},
            ],
        }
    )


def whole(blocks: int, options: Options | None = None) -> Callable[[], PlannedCompilation]:
    """Return a function that compiles an application and writes the plan, as the command does."""
    given = application(blocks)

    def compile_() -> PlannedCompilation:
        with uncollected(), Path(os.devnull).open("w", encoding="utf-8") as file:
            compilation = compile_application(given, options)
            file.writelines(plan_text(compilation))
        return compilation

    return compile_


def merely_built(*, by_name: bool) -> Callable[[], nx.DiGraph]:
    """Return a function that builds the physical graph in networkx, in the order of the plan."""
    physical = compile_application(application(10)).physical
    keys: list[Any] = [operator.name if by_name else operator.index for operator in physical.operators]
    edges = [(keys[each.source], keys[each.target], each.target_port) for each in physical.connections]

    def build() -> nx.DiGraph:
        graph = nx.DiGraph()
        for number, key in enumerate(keys):
            graph.add_node(key, logical=number)
        for source, target, port in edges:
            graph.add_edge(source, target, port=port)
        return graph

    return build


def compiling_memory() -> Callable[[], Any]:
    """Return the compile whose memory is measured."""
    return whole(10)


def building_memory() -> Callable[[], Any]:
    """Return a function, for `memory`, that builds a ring with as many nodes and edges.

    A compile before it, in the same process, would leave free memory for it to use.
    """

    def build() -> nx.DiGraph:
        graph = nx.DiGraph()
        for node in range(98_282):
            graph.add_node(node, name="")
            for step in (1, 2, 3, 4):
                graph.add_edge(node, (node + step) % 98_282, port=0)
        return graph

    return build


def rows(*, quick: bool = False) -> list[Row]:
    """Return the time and memory at 100,000 operators, and the growth from 10,000 to 1,000,000."""
    named, numbered = merely_built(by_name=True), merely_built(by_name=False)
    others = [whole(10, options) for options in OTHERS.values()]
    compiled, by_name, by_number, *otherwise = seconds(whole(10), named, numbered, *others, repeat=4)
    (small,) = seconds(whole(1), repeat=6)
    (large,) = seconds(whole(100), repeat=1)
    return [
        Row("compile 98,282 operators, 395,640 connections / networkx, by name", compiled, "s", by_name, 3.0),
        Row("the same / networkx, by number", compiled, "s", by_number, 3.0),
        *(
            Row(f"the same with {what} / networkx, by name", each, "s", by_name, 3.0)
            for what, each in zip(OTHERS, otherwise, strict=True)
        ),
        Row("its memory / networkx, by number", memory(compiling_memory), "MB", memory(building_memory), 3.0),
        Row("compile 982,802 operators / 100 times 9,830", large, "s", small * 982802 / 9830, 1.2),
    ]
