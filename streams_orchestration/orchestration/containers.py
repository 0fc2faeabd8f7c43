"""Runs in containers of their own, with which the hosts would end that such runs start."""

from __future__ import annotations

import dagster as dg

SAME_MACHINE = ("in_process", "multiprocess", "multi_or_in_process_executor")
"""Names of the executors whose steps run on the machine of the run."""
CALLERS_PROCESS = "execute_in_process_executor"
"""Name of the executor of `execute_in_process`, which needs no launcher."""


def explain_own_container(context: dg.OpExecutionContext) -> str | None:
    """Return a clause that says why a run, or its step, may have a container of its own; None if it has none.

    With Dagster's own launchers and executors, runs and steps share the machine of the process that launches them.
    """
    launcher = type(context.instance.run_launcher)
    executor = context.job_def.executor_def.name
    if executor == CALLERS_PROCESS:
        return None
    if not launcher.__module__.startswith("dagster."):
        by = f"run launcher {launcher.__name__}"
    elif executor not in SAME_MACHINE:
        by = f"executor {executor}"
    else:
        return None
    return f"with the {by} this run may have a container of its own"
