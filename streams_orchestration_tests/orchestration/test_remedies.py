"""Remedies of messages in Dagster: those that name an option of the command line name a setting of a run instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

import streams_orchestration
from streams_orchestration.orchestration.remedies import OPTIONS, in_dagster
from streams_orchestration.runtime.errors.errors import NotDeployableError, NothingFailedError
from streams_orchestration_tests.orchestration.conftest import Runtime

MESSAGES = {
    "use `streams reset app --unit region-0 --force`.": "use the job `app__reset` with `unit: region-0` and "
    "`force: true`.\n(`unit` and `force` are in the run config of the job `app__reset`: claim)",
    "drop it with --fresh": "drop it with `fresh: true`\n"
    "(`fresh` is in the run config of the job `app__redeploy`: app__deployment, write_wanted_state)",
    "lose it with --drop-state Even": "lose it with `drop_state` Even\n"
    "(`drop_state` is in the run config of the job `app__redeploy`: app__deployment, write_wanted_state)",
    "take it back with `streams redeploy app --revert`": "take it back with the job `app__deploy` with `revert: true`\n"
    "(`revert` is in the run config of the job `app__deploy`: app__deployment, write_wanted_state)",
    "`streams redeploy SPEC` does; `streams redeploy SPEC --dry-run` shows": "the job `app__redeploy` does; "
    "the check `redeploy_keeps_state` shows",
    "leave --available-now out": "leave `app__available` out",
    "stop it: `streams cancel app`": "stop it: the job `app__cancel`",
    "nothing names an option": "nothing names an option",
}
ELSEWHERE = {
    "available-now",
    "dry-run",
    "fusion",
    "glob",
    "pes",
    "port",
    "profile",
    "results",
    "decoupling",
    "threading",
    "within",
}
"""Options of other programs and of help texts, and those that are jobs, checks, or of commands that no run calls."""
PACKAGE = Path(streams_orchestration.__file__).parent
SEARCHED = ("model", "compiler", "operators", "runtime", "orchestration")


@pytest.mark.parametrize("text", MESSAGES)
def test_a_remedy_names_the_job_and_its_run_config(text: str):
    assert in_dagster(text, "app") == MESSAGES[text]


def texts() -> Iterator[str]:
    """Yield the literals that have words before an option, without docstrings."""
    for path in (each for part in SEARCHED for each in (PACKAGE / part).rglob("*.py")):
        nodes = [*ast.walk(ast.parse(path.read_text()))]
        docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            text = node.value if isinstance(node, ast.Constant) and node not in docstrings else None
            if isinstance(text, str) and re.search(r"\w.* `?--[a-z]", text):
                yield text


@pytest.mark.slow
def test_every_option_that_a_message_names_has_a_counterpart():
    named = {flag for text in texts() for flag in re.findall(r"--([a-z]+(?:-[a-z]+)*)", text)}
    assert named - OPTIONS.keys() - ELSEWHERE == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("job", "error", "remedy"),
    [
        ("demo__redeploy", NotDeployableError("out: files are left; drop them with --fresh"), "`fresh: true`"),
        ("demo__reset", NothingFailedError("demo", ("region-0",)), "with `unit`: region-0"),
    ],
)
def test_a_run_fails_with_the_remedy_and_its_cause_has_the_words_of_the_command(
    defs: dg.Definitions, runtime: Runtime, job: str, error: Exception, remedy: str
):
    runtime.error = error
    with dg.DagsterInstance.ephemeral() as instance, pytest.raises(dg.Failure) as failed:
        defs.resolve_job_def(job).execute_in_process(instance=instance)
    assert remedy in (failed.value.description or "")
    assert "--" not in (failed.value.description or "")
    assert failed.value.__cause__ is error
