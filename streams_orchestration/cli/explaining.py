"""`streams explain`: why an operator, a connection, a port is where and as it is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streams_orchestration.cli.failing import APPLICATION
from streams_orchestration.cli.options import compile_options, format_option, output_option, spec_argument, write_output
from streams_orchestration.compiler.options import Options

if TYPE_CHECKING:
    from rich.console import RenderableType

    from streams_orchestration.compiler.explain import Explanation


_HELP = """Say why an application is compiled as it is, with the numbers of the rules that decided.

WHAT is one of these:

\b
  Out[0].A  or  Out.A    an operator: its channel, PE, host, region, threads, lock, ports
  Src Out.A              two operators: why in one PE or apart, how tuples pass between them
  Src..Out.A             the same, as is 'Src -> Out.A' in quotes
  Out.A.0                an input port: what feeds it, why it has a queue, who enters
  PE 1                   a PE: why these operators, why this host
  region 0               a consistent region: starts, members, values
  Out                    a parallel region
  Src                    a stream ('stream Src' when an operator has the same name)
  'Src:0>Out.In'         a splitter
  CDISP0819E             a diagnostic: cause, remedy, where it was raised
"""


@click.command(help=_HELP)
@spec_argument
@click.argument("what", nargs=-1, required=True)
@compile_options
@format_option
@output_option
def explain(spec: Path, what: tuple[str, ...], options: Options, format_: str, output: Path | None) -> int:
    """Answer one question."""
    from streams_orchestration.compiler.explain import UnknownSubjectError

    try:
        explanation = _answer(spec, options, " ".join(what))
    except UnknownSubjectError as error:
        click.secho(f"{spec}: {error}.", fg="red", err=True)
        return APPLICATION
    if format_ == "json":
        write_output(json.dumps(explanation.document(), indent=2, ensure_ascii=False) + "\n", output)
    else:
        from streams_orchestration.cli.terminal import rendered

        write_output(rendered(_text(explanation), colour=output is None and sys.stdout.isatty()), output)
    return 0


def _answer(spec: Path, options: Options, what: str) -> Explanation:
    from streams_orchestration.cli.compiling import check
    from streams_orchestration.compiler.explain import UnknownSubjectError, code_explanation, explain, is_code
    from streams_orchestration.model.diagnostics import CODES, ApplicationError

    code = what.strip().upper()
    if is_code(what) and code not in CODES:
        message = f"there is no diagnostic code {code}"
        raise UnknownSubjectError(message)
    try:
        compilation = check(spec, options, deployable=False)
    except ApplicationError as error:
        if not is_code(what):
            raise
        return code_explanation(code, error.diagnostics)
    return explain(compilation, what)


def _text(explanation: Explanation) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts: list[RenderableType] = [Text(explanation.question, "bold")]
    for section in explanation.sections:
        parts += ["", Text(section.title, "bold cyan")]
        for fact in section.facts:
            line = Text(fact.text)
            if fact.rules:
                noun = "rules" if "," in fact.rules else "rule"
                line.append(f"  [{noun} {fact.rules}]", "dim")
            if fact.location:
                line.append(f"  {fact.location}", "dim")
            parts.append(Padding(line, (0, 0, 0, 2)))
    return Group(*parts)
