"""`streams graph` and `streams lineage`: an application as a picture, and what comes from what."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streams_orchestration.cli.options import (
    application_argument,
    compile_options,
    output_option,
    spec_argument,
    write_output,
)
from streams_orchestration.compiler.options import Options

if TYPE_CHECKING:
    from streams_orchestration.compiler.compilation import Compilation


@click.command()
@spec_argument
@compile_options
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "svg"]),
    help="Default: svg if the file of --output ends in .svg, else text.",
)
@output_option
def graph(spec: Path, options: Options, format_: str | None, output: Path | None) -> None:
    """Draw operators, channels, PEs, regions, queues and copies."""
    from streams_orchestration.cli.compiling import compiled
    from streams_orchestration.compiler.drawing.drawing import draw_svg, draw_text

    compilation = compiled(spec, options)
    by_name = "svg" if output is not None and output.suffix == ".svg" else "text"
    draw = draw_svg if (format_ or by_name) == "svg" else draw_text
    write_output(draw(compilation), output)


@click.command()
@application_argument
@click.argument("name", default="spec")
@compile_options
@output_option
def lineage(application: str, name: str, options: Options, output: Path | None) -> None:
    """Show what NAME comes from and what comes from it.

    APP is an application that is deployed, or one under specs, or the path of a spec. NAME is a source, PE, stream,
    sink, operator or stage of the compilation; the spec itself when left out. The options are for what is not deployed.
    """
    from streams_orchestration.orchestration.lineage import lineage_graph, render_lineage

    write_output(render_lineage(lineage_graph(_compilation(application, options)), name), output)


def _compilation(application: str, options: Options) -> Compilation:
    """An application by the path of its spec, as it is deployed, or by its name in a spec."""
    from streams_orchestration.cli.compiling import compiled
    from streams_orchestration.model.loading import read_application
    from streams_orchestration.runtime.errors import NotDeployedError
    from streams_orchestration.runtime.observing.reading import deployed_compilation
    from streams_orchestration.runtime.storage.home import Home

    if Path(application).is_file():
        return compiled(Path(application), options)
    try:
        return deployed_compilation(Home.default(), application)
    except NotDeployedError:
        for spec in sorted(Path(os.environ.get("STREAMS_SPECS", "specs")).glob("*.yaml")):
            found, _ = read_application(spec)
            if found is not None and found.application == application:
                return compiled(spec, options)
        raise
