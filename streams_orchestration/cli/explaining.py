"""`streams explain`: give the reasons for the compiler's decision on an operator, a connection or another part."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from streams_orchestration.cli.compiling import as_it_runs, compile_with_checked_parameters
from streams_orchestration.cli.invocation import write_json
from streams_orchestration.cli.terminal import write_table
from streams_orchestration.compiler.explain import (
    Explanation,
    UnknownSubjectError,
    code_explanation,
    explain,
    is_code,
)
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.operators.loading.import_path import ImplementationError
from streams_orchestration.runtime import api


def explain_part(spec: Path | str, what: tuple[str, ...], options: Options, format_: str, output: Path | None) -> None:
    """Explain a part of an application, or a diagnostic code.

    Args:
        spec: the spec of the application, or a diagnostic code alone.
        what: the words that name the part.
        options: the compiler's options.
        format_: `table` or `json`.
        output: the file to write to; None for standard output.

    Raises:
        UsageError: no part is named, or the output cannot be written.
        ApplicationError: the application has errors, and the part is not a diagnostic code.
        StreamsRuntimeError: the application has no part of that name, or the class of an operator can no longer be
            imported.
    """
    if isinstance(spec, Path) and not what:
        message = (
            f"Name the part of {spec} to explain: an operator, a PE or a region; `streams explain -h` lists all kinds."
        )
        raise click.UsageError(message, click.get_current_context())
    try:
        explanation = code_explanation(spec) if isinstance(spec, str) else _answer(spec, options, " ".join(what))
    except (UnknownSubjectError, ImplementationError) as error:
        message = f"{spec}: {error}."
        raise api.StreamsRuntimeError(message) from error
    if format_ == "json":
        write_json(explanation.document(), output)
    else:
        write_table(_text(explanation), output)


def _answer(spec: Path, options: Options, what: str) -> Explanation:
    try:
        compilation = compile_with_checked_parameters(read_application(spec), options)
    except ApplicationError as error:
        if not is_code(what):
            raise
        return code_explanation(what, error.diagnostics)
    return explain(as_it_runs(compilation), what)


def _text(explanation: Explanation) -> RenderableType:
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
