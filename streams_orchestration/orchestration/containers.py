"""The refusal to start hosts from a run in a container of its own, because they would end with the container."""

from __future__ import annotations

import dagster as dg

from streams_orchestration.runtime import api

SAME_MACHINE = ("in_process", "multiprocess", "multi_or_in_process_executor")
"""Names of the executors whose steps run on the machine of the run."""
CALLERS_PROCESS = "execute_in_process_executor"
"""Name of the executor of `execute_in_process`, which needs no launcher."""


def require_lasting(context: dg.OpExecutionContext, application: str, home: api.Home) -> None:
    """Refuse to start hosts as children of a run that has a container of its own, since they would end with it.

    If machines are registered, their agents start the hosts, so nothing is refused. Nor is it for Dagster's own
    launchers and executors, whose runs and steps share the machine of the process that launches them.

    Raises:
        Failure: the run, or the step, may have a container of its own, and no machine is registered.
    """
    launcher = type(context.instance.run_launcher)
    executor = context.job_def.executor_def.name
    if executor == CALLERS_PROCESS:
        return
    if not launcher.__module__.startswith("dagster."):
        by = f"run launcher {launcher.__name__}"
    elif executor not in SAME_MACHINE:
        by = f"executor {executor}"
    else:
        return
    if api.read_machines(home):
        return
    message = (
        f"no host of {application} is started: with the {by} this run may have a container of its own, and "
        "hosts that it starts would end with it. Keep `streams agent` running on the machines, or in the containers, "
        "that are to have the hosts (docs/dagster.md#runs-in-containers)."
    )
    raise dg.Failure(description=message, allow_retries=False)
