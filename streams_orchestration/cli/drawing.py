"""`streams graph` and `streams lineage`: an application as a picture, and what comes from what."""

from __future__ import annotations

from pathlib import Path

import click

from streams_orchestration.cli.options import compile_options, output_option, spec_argument, write_output
from streams_orchestration.compiler.graph import Options


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
    from streams_orchestration.compiler.drawing import draw_svg, draw_text

    compilation = compiled(spec, options)
    by_name = "svg" if output is not None and output.suffix == ".svg" else "text"
    draw = draw_svg if (format_ or by_name) == "svg" else draw_text
    write_output(draw(compilation), output)


@click.command()
@spec_argument
@click.argument("name", default="spec")
@compile_options
@output_option
def lineage(spec: Path, name: str, options: Options, output: Path | None) -> None:
    """Show what NAME comes from and what comes from it.

    NAME is a source, PE, stream, sink, operator or stage of the compilation; the spec itself when left out.
    """
    from streams_orchestration.cli.compiling import compiled
    from streams_orchestration.orchestration.lineage import lineage_graph, render_lineage

    write_output(render_lineage(lineage_graph(compiled(spec, options)), name), output)
