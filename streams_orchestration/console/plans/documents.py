"""Documents for the compile view, made from one compilation or from the comparison of two."""

from __future__ import annotations

from typing import Any

from streams_orchestration.compiler.compilation import Compilation, Progress
from streams_orchestration.compiler.explain.decisions import decisions
from streams_orchestration.compiler.explain.explanation import Explanation
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.redeployment.comparison import (
    OUTCOME_COLUMNS,
    Comparison,
    outcome_rows,
    pause,
    plain_rows,
    restart_rows,
    width_rows,
)
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.compiler.stage import Stage
from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.console.plans.choices import changed_options
from streams_orchestration.model.diagnostics import Diagnostic

Document = dict[str, Any]


def stages_document(compilation: Compilation, before: Compilation | None = None) -> list[Document]:
    """Return a document for each stage: its figures, the earlier plan's figures if they differ, and its decisions.

    A stage without a result in the compilation is left out.
    """
    decided, done = decisions(compilation), compilation.progress
    earlier = None if before is None else before.progress
    return [
        {
            "name": stage.name,
            "description": stage.description,
            "reads": list(stage.inputs),
            "figures": _figures(stage, done, earlier),
            "decisions": Explanation(stage.name, decided[stage.name]).document()["sections"],
        }
        for stage in STAGES
        if done.get(stage.result) is not None
    ]


def _figures(stage: Stage, done: Progress, before: Progress | None) -> list[Document]:
    old = stage.summary(before) if before is not None and before.get(stage.result) is not None else {}
    return [
        {
            "name": name.replace("_", " "),
            "value": value,
            "before": old[name] if name in old and old[name] != value else None,
        }
        for name, value in stage.summary(done).items()
        if isinstance(value, int | str)
    ]


def diagnostics_document(diagnostics: tuple[Diagnostic, ...]) -> list[Document]:
    """Return the diagnostics as the command line prints them: place, code and message, then the remedy."""
    return [{"severity": each.severity, "text": str(each), "remedy": each.remedy} for each in diagnostics]


def comparison_document(comparison: Comparison, before: Options, now: Options) -> Document:
    """Return the comparison of two plans as a document, in the words of `streams diff`."""
    change, outcome = comparison.change, comparison.outcome
    document: Document = {"changes": [*changed_options(before, now), *width_rows(change)]}
    if outcome is None:
        sentences = [comparison.refusal or comparison.restarts]
        return document | {
            "columns": None,
            "rows": plain_rows(comparison),
            "restarts": restart_rows(change),
            "sentences": sentences,
            "verdict": None,
        }
    document |= redeploy_document(outcome)
    return document | {
        "sentences": [*document["sentences"], comparison.refusal] if change.reason else document["sentences"]
    }


def redeploy_document(outcome: Redeployment) -> Document:
    """Return the outcome of a redeploy as a document, in the words of `streams redeploy --dry-run`."""
    return {
        "columns": OUTCOME_COLUMNS,
        "rows": outcome_rows(outcome),
        "restarts": [],
        "sentences": [each for each in (outcome.sentence, pause(outcome)) if each],
        "verdict": outcome.verdict,
    }
