"""`streams check`: find everything that keeps applications from running, before anything runs."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import click

from streams_orchestration.cli.failures import APPLICATION
from streams_orchestration.cli.invocation import answer, current
from streams_orchestration.cli.messages import error as show_error
from streams_orchestration.cli.messages import note, report_diagnostics
from streams_orchestration.cli.output import write
from streams_orchestration.cli.preparing import compile_to_run
from streams_orchestration.compiler.checking.deployable import Deployable, deployable
from streams_orchestration.compiler.checking.left_out import queries_of
from streams_orchestration.compiler.compiling import broken_conditions
from streams_orchestration.compiler.options import GivenOptions, Options
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.model.brief import plural, short_list
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic, errors_of
from streams_orchestration.runtime import api

Finding = dict[str, Any]
"""The part of the command's JSON document that is about one spec."""


def check(specs: tuple[Path, ...], options: Options, *, queries: bool) -> int:
    """Check whether applications can run, and report all errors; return the exit status, 1 if one cannot run.

    Several specs are checked in processes of their own.

    Raises:
        UsageError: options of the compiler are given for several specs.
        SettingError: a setting in the environment cannot be used.
    """
    specs = tuple(dict.fromkeys(specs))
    if options != Options() and len(specs) != 1:
        message = "compiler options apply to a single spec. Name one spec, or leave the options out."
        raise click.UsageError(message, click.get_current_context())
    api.Settings.from_environment()
    findings: list[Finding] = []
    for finding in (
        [_check_here(specs[0], options, queries=queries)]
        if len(specs) == 1
        else _check_each_apart(specs, queries=queries)
    ):
        findings.append(finding)
        _report(finding)
    if len(findings) == 1:
        current().application = findings[0]["application"]
    failed = [each["spec"] for each in findings if not each["passed"]]
    besides = any(each["error"] is not None for each in findings)
    return answer(
        lambda: {"specs": findings},
        status=APPLICATION if failed else 0,
        error=f"cannot run: {', '.join(failed)}" if failed else None,
        kind="runtime" if besides else "application",
    )


def _check_here(spec: Path, options: Options, *, queries: bool) -> Finding:
    """Check one application and return its finding, which has the errors of the spec too, without showing it."""
    read = read_application(spec)
    name = read.name
    diagnostics: tuple[Diagnostic, ...] = ()
    asked: tuple[str, ...] = ()
    problem: str | None = None
    try:
        wanted = deployable(compile_to_run(read, GivenOptions(options)))
        name, diagnostics = wanted.name, wanted.compilation.diagnostics
        problem = broken_conditions(wanted.compilation)
        asked = queries_of(wanted.compilation.logical)
        if asked and queries:
            _ask_spark(wanted)
    except ApplicationError as error:
        diagnostics = (*diagnostics, *error.diagnostics)
    except api.StreamsRuntimeError as error:
        problem = str(error)
    return _document(spec, name, diagnostics, asked, problem, analysed=bool(asked) and queries and problem is None)


def _ask_spark(wanted: Deployable) -> None:
    """Let Spark analyse the queries of an application."""
    # loads the catalog and its tables, which nothing else needs here

    note(f"{wanted.name}: Spark analyses the queries ...")
    api.add_query_columns(wanted)


def _check_each_apart(specs: Iterable[Path], *, queries: bool) -> Iterator[Finding]:
    """Check several applications, each in a process of its own, since their modules may have the same names.

    With `queries` they are checked one at a time, else as many at once as there are processors. The order is kept.
    """
    most = 1 if queries else os.cpu_count() or 1
    with ThreadPoolExecutor(most) as pool:
        yield from pool.map(partial(_check_apart, queries=queries), specs)


def _check_apart(spec: Path, *, queries: bool) -> Finding:
    command = [sys.executable, "-m", "streams_orchestration", "check", str(spec), "--format", "json", "--quiet"]
    ended = subprocess.run(
        [*command, *(["--queries"] if queries else [])], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    try:
        (finding,) = json.loads(ended.stdout)["specs"]
    except (ValueError, KeyError):
        lines = ended.stderr.decode(errors="replace").strip().splitlines()
        problem = f"the process that checked it ended with status {ended.returncode}: {lines[-1] if lines else ''}"
        return _document(spec, None, (), (), problem, analysed=False)
    return finding


def _document(
    spec: Path,
    application: str | None,
    diagnostics: Iterable[Diagnostic],
    queries: Iterable[str],
    problem: str | None,
    *,
    analysed: bool,
) -> Finding:
    diagnostics = tuple(diagnostics)
    return {
        "spec": str(spec),
        "application": application,
        "passed": problem is None and not errors_of(diagnostics),
        "queries": {"operators": list(queries), "analysed": analysed},
        "diagnostics": [each.document() | {"remedy": each.remedy} for each in diagnostics],
        "error": problem,
    }


def _report(finding: Finding) -> None:
    """Show the diagnostics and the error of one application, or else that it can run, and which check was left out."""
    spec, told = finding["spec"], [dict(each) for each in finding["diagnostics"]]
    for each in told:
        del each["remedy"]
    diagnostics = [Diagnostic(**each) for each in told]
    report_diagnostics(diagnostics)
    if finding["error"] is not None:
        show_error(f"{spec}: {finding['error']}")
    if not finding["passed"]:
        if wrong := errors_of(diagnostics):
            show_error(f"{spec}: {plural(len(wrong), 'error')}")
        return
    queries = finding["queries"]["operators"]
    left_out = bool(queries) and not finding["queries"]["analysed"]
    if not current().json:
        condition = f" if Spark accepts the queries of {short_list(queries)}" if left_out else ""
        write(f"{spec}: {finding['application']} can run{condition}")
    if left_out:
        note(f"Spark has not analysed them. `streams check {shlex.quote(spec)} --queries` does that.")
