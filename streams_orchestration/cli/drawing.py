"""`streams graph` and `streams lineage`: an application as a drawing, and the lineage of its parts."""

from __future__ import annotations

import os
from pathlib import Path

import click

from streams_orchestration.cli.compiling import as_it_runs, compile_and_report
from streams_orchestration.cli.invocation import current, write_json, write_output
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.drawing.drawing import draw_svg, draw_text
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.model.python_file import file_of, specs_in
from streams_orchestration.orchestration.lineage import lineage_document, render_lineage
from streams_orchestration.runtime import api

_OTHER_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf")


def graph(spec: Path, options: Options, format_: str | None, output: Path | None) -> None:
    """Draw operators, channels, PEs, regions, queues and copies.

    Without a format, an output that ends in .svg or .html has that format, and any other is text.

    Raises:
        BadParameter: no format is given, and the ending of the output is another kind of picture; or the output cannot
            be written.
        ApplicationError: the application has errors.
        ImplementationError: the format is HTML, and the class of an operator cannot be imported.
    """
    ending = output.suffix if output is not None and format_ is None else ""
    if ending in _OTHER_PICTURES:
        message = f"{output}: a picture is SVG or HTML. Name a file that ends in .svg or .html."
        raise click.BadParameter(message, click.get_current_context(), param_hint="'--output'")
    compilation = as_it_runs(compile_and_report(read_application(spec), options))
    by_name = {".svg": "svg", ".html": "html"}.get(ending, "text")
    if (form := format_ or by_name) == "html":
        from streams_orchestration.console.exporting import draw_html

        write_output(draw_html(compilation), output)
    else:
        write_output((draw_svg if form == "svg" else draw_text)(compilation.progress), output)


def lineage(application: str, part: str, options: Options, format_: str, output: Path | None) -> None:
    """Show everything upstream and downstream of one part of an application.

    Raises:
        UnknownNodeError: no part or several parts have the name.
        NotDeployedError: no application and no spec have this name.
        ApplicationError: the spec has errors.
        OtherVersionError: another version of the product deployed the plan.
        ImplementationError: the class of an operator cannot be imported.
        BadParameter: the output cannot be written.
    """
    whole = api.build_lineage_graph(_compilation(application, options))
    current().application = whole.graph["application"]
    if format_ == "json":
        write_json(current().document(lineage_document(whole, part), 0), output)
    else:
        write_output(render_lineage(whole, part), output)


def _compilation(application: str, options: Options) -> Compilation:
    """Return the compilation of a spec's path, or of a name: the deployed application, or else a spec under `specs`."""
    if file_of(application).is_file():
        return as_it_runs(compile_and_report(read_application(application), options))
    try:
        return api.read_compilation(api.open_catalog(api.Home.default(), application), application)
    except api.NotDeployedError:
        for spec in specs_in(Path(os.environ.get("STREAMS_SPECS", "specs"))):
            candidate = read_application(spec)
            if candidate.application is not None and candidate.name == application:
                return compile_and_report(candidate, options)
        raise
