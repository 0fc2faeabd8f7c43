"""The console's graph of an application as one HTML file, which needs neither the console nor a network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.console.detail_panel import Kind, subject
from streams_orchestration.console.graphs import graph_of

STATIC = Path(__file__).parent / "static"
EXPLAINED = 300
"""The largest number of operators of an application whose file also explains each part."""
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; worker-src blob:; style-src 'unsafe-inline'; img-src data:"
)


def draw_html(compilation: Compilation) -> str:
    """Return a page with both views of the graph, which folds, searches and shows details as the console does.

    Details are left out for more than `EXPLAINED` physical operators.

    Raises:
        ImplementationError: the class of an operator can no longer be imported.
    """
    document = {
        "graphs": {view: graph_of(compilation, view).document() for view in ("physical", "logical")},
        "subjects": dict(_subjects(compilation)),
    }
    embedded = json.dumps(document, default=str, separators=(",", ":")).replace("<", "\\u003c")
    title = escape(compilation.logical.application)
    return "\n".join(
        (
            "<!doctype html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<link rel="icon" href="data:,"><style>{_file("console.css")}</style></head>',
            '<body><div id="console"></div>',
            f'<script type="application/json" id="embedded">{embedded}</script>',
            f'<script type="text/plain" id="licences">{_file("THIRD-PARTY.txt")}</script>',
            f'<script type="text/plain" id="layout-engine">{_file("elk-worker.min.js")}</script>',
            f"<script>{_file('console.js')}</script></body></html>\n",
        )
    )


def _file(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _subjects(compilation: Compilation) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kind and name of each part with its panel's content; nothing for more than `EXPLAINED` operators."""
    physical, logical = compilation.physical.operators, compilation.logical.operators
    if len(physical) > EXPLAINED:
        return
    named: list[tuple[Kind, dict[str, None]]] = [
        ("operator", dict.fromkeys(each.name for each in (*physical, *logical))),
        ("stream", dict.fromkeys(stream for each in physical for stream in each.streams)),
        ("pe", dict.fromkeys(str(pe.id) for pe in compilation.fusion.pes)),
        ("region", dict.fromkeys(str(each.index) for each in compilation.regions.expanded)),
    ]
    for kind, names in named:
        for name in names:
            yield f"{kind} {name}", subject(compilation, kind, name, None, None)
