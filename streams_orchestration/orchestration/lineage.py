"""The answers of `streams lineage`: a node of the lineage with all nodes upstream and downstream."""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import networkx as nx

from streams_orchestration.compiler.column_lineage import Influences, Origins
from streams_orchestration.compiler.column_uses import ColumnUse
from streams_orchestration.runtime import api


class UnknownNodeError(api.StreamsRuntimeError):
    """No node of the lineage has this name, or more than one has."""


def find(graph: nx.DiGraph[str], name: str) -> str:
    """Return the node that a name refers to: a path, the part after its first slash, a PE's number, or an operator.

    The name of an operator refers to the PE that contains the operator.

    Raises:
        UnknownNodeError: no node or several nodes have the name; the message lists similar or possible names.
    """
    if name in graph:
        return name
    candidates = [node for node in graph if node.partition("/")[2] == name]
    candidates = candidates or [node for node in graph if node == f"pes/pe_{name}"]
    candidates = candidates or [node for node, facts in graph.nodes(data=True) if name in facts.get("operators", ())]
    if len(candidates) == 1:
        return candidates[0]
    application = graph.graph["application"]
    if candidates:
        message = f"{application}: {name} may be {' or '.join(candidates)}. Give one of these names."
        raise UnknownNodeError(message)
    spellings = {spelling: node for node in graph for spelling in (node.lower(), node.lower().partition("/")[2])}
    for node, facts in graph.nodes(data=True):
        for operator in facts.get("operators", ()):
            spellings.setdefault(operator.lower(), node)
    near = dict.fromkeys(spellings[match] for match in get_close_matches(name.lower(), spellings, n=3, cutoff=0.5))
    there = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(sorted(graph))}."
    message = f"{application}: nothing in its lineage is called {name}. {there}"
    raise UnknownNodeError(message)


def render_lineage(graph: nx.DiGraph[str], name: str) -> str:
    """Return everything upstream and everything downstream of a node as two trees, and the origins of its columns.

    A node that is met again is shown without its branches and marked `(above)`. An edge between two stages is left out
    if a longer path connects them.

    Raises:
        UnknownNodeError: no node or several nodes have the name.
    """
    node = find(graph, name)
    graph = _without_shortcuts(graph)
    lines = [f"{graph.graph['application']}: {_title(graph, node)}"]
    for heading, neighbours in (("comes from", graph.pred), ("leads to", graph.succ)):
        if neighbours[node]:
            lines += ["", heading]
            lines += _branches(graph, neighbours, node, "", {node})
    if columns := graph.nodes[node].get("columns"):
        lines += ["", "columns", *_columns(columns)]
    if influences := graph.nodes[node].get("influences"):
        lines += ["", "all columns depend on", *_influences(influences)]
    return "\n".join(lines) + "\n"


def lineage_document(graph: nx.DiGraph[str], name: str) -> dict[str, Any]:
    """Return one node, with all nodes upstream and downstream, as JSON; nodes and edges are sorted by name.

    `columns` of a node maps each column to its origins, a list of `node`, `column` and `transformations`. `influences`
    is a list of the same form for all columns together. `wholeRows` lists the columns that functions over whole rows
    make; it is left out if there are none.

    Raises:
        UnknownNodeError: no node or several nodes have the name.
    """
    node = find(graph, name)
    before = sorted(nx.ancestors(graph, node))
    after = sorted(nx.descendants(graph, node))
    part = graph.subgraph({node, *before, *after})
    return {
        "node": node,
        "comesFrom": before,
        "leadsTo": after,
        "nodes": [{"name": each, **_document(part.nodes[each])} for each in sorted(part)],
        "edges": [{"from": source, "to": target} for source, target in sorted(part.edges)],
    }


def whole_row_columns(facts: Mapping[str, Any]) -> list[str]:
    """Return the columns of a node that functions over whole rows make, so that any column may be their origin."""
    columns: Origins = facts.get("columns") or {}
    return [column for column, origin in columns.items() if origin.whole_rows]


def _document(facts: Mapping[str, Any]) -> dict[str, Any]:
    if "columns" not in facts:
        return dict(facts)
    columns: Origins = facts["columns"]
    document = {column: _listed(origin.columns) for column, origin in columns.items()}
    whole = whole_row_columns(facts)
    influences = _listed(facts["influences"])
    return {**facts, "columns": document, "influences": influences} | ({"wholeRows": whole} if whole else {})


def _listed(uses: Influences) -> list[dict[str, Any]]:
    """Return the origins as JSON, with the types of transformation that OpenLineage's column lineage facet has."""
    return [
        {"node": node, "column": column, "transformations": [_transformation(each) for each in sorted(ways)]}
        for (node, column), ways in sorted(uses.items())
    ]


def _transformation(use: ColumnUse) -> dict[str, str]:
    return {"type": use.type} | ({"subtype": use.subtype} if use.subtype else {})


def _columns(columns: Origins) -> list[str]:
    """Return a line for each column whose origins are known."""
    width = max(map(len, columns))
    lines: list[str] = []
    for column, origin in columns.items():
        names = ", ".join(f"{node}.{name}" for node, name in sorted(origin.columns))
        lines.append(f"{column:<{width}}  from {names}{', by a function over whole rows' * origin.whole_rows}")
    return lines


def _influences(influences: Influences) -> list[str]:
    """Return a line for each column that influences all columns, with the kind of influence: filter, join, sort ..."""
    names = {f"{node}.{column}": ways for (node, column), ways in sorted(influences.items())}
    width = max(map(len, names))
    return [f"{name:<{width}}  {', '.join(sorted(each.subtype for each in ways))}" for name, ways in names.items()]


def _without_shortcuts(graph: nx.DiGraph[str]) -> nx.DiGraph[str]:
    compiled = graph.subgraph(
        n for n, facts in graph.nodes(data=True) if facts["kind"] in ("spec", "stage", "deployment")
    )
    reduced = graph.copy()
    if nx.is_directed_acyclic_graph(compiled):
        reduced.remove_edges_from(set(compiled.edges) - set(nx.transitive_reduction(compiled).edges))
    return reduced


def _branches(graph: nx.DiGraph[str], neighbours: Any, node: str, indent: str, seen: set[str]) -> list[str]:
    lines: list[str] = []
    # Streams into a PE are shown before the deployment that launched it.
    following = sorted(neighbours[node], key=lambda other: other == "deployment")
    for number, other in enumerate(following):
        last = number == len(following) - 1
        above = other in seen and bool(neighbours[other])
        title = f"{other} (above)" if above else _title(graph, other)
        lines.append(f"{indent}{'└── ' if last else '├── '}{title}")
        if other not in seen:
            seen.add(other)
            lines += _branches(graph, neighbours, other, indent + ("    " if last else "│   "), seen)
    return lines


def _title(graph: nx.DiGraph[str], node: str) -> str:
    facts = graph.nodes[node]
    remark = ", ".join(facts["operators"]) if facts["kind"] == "pe" else facts.get("location")
    return f"{node}  ({remark})" if remark else node
