"""A process that does one task: it runs the code of a spec, and the console ends it when its time is over."""

from __future__ import annotations

import gc
import json
import os
import pickle
import resource
import sys
from contextlib import suppress
from dataclasses import asdict

import polars
import pyarrow

from streams_orchestration.compiler.checking import checking
from streams_orchestration.console.plans.choices import ChoiceError
from streams_orchestration.console.plans.task import Answer, PlanRequest, answer
from streams_orchestration.model.secrets import masked
from streams_orchestration.runtime import api

PRELOADED = (checking, polars, pyarrow)
"""Modules that are imported before a task comes, so that pages do not wait for them."""
PROCESSOR_SECONDS = 90
"""The most seconds of processor time; only this limit ends the worker if the console is killed."""
MEMORY = 4 * 1024**3
"""The most bytes of memory that the process may use."""


def _main() -> None:
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output that a spec prints must not get into the answer
    try:
        task = pickle.load(sys.stdin.buffer)  # noqa: S301  from the process that started this one
    except EOFError:  # the parent never needed this worker
        return
    gc.disable()  # the worker ends before much garbage has gathered
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    with output:
        json.dump(asdict(answered(task)), output, default=str)


def answered(task: PlanRequest) -> Answer:
    """Return the answer to a request. If it fails, return an answer with the error in words."""
    try:
        return answer(task)
    except ChoiceError as error:
        return Answer({"error": str(error)})
    except MemoryError:
        return Answer({"error": f"{task.spec}: the plan takes more than {MEMORY >> 30} GiB. Choose smaller widths."})
    except Exception as error:  # noqa: BLE001  the page shows what the command line would
        return Answer(
            {
                "error": masked(
                    f"{task.spec}: {type(error).__name__}: {error}. `streams compile {task.spec}` shows more."
                )
            }
        )


if __name__ == "__main__":
    api.hide_secrets()
    with suppress(BrokenPipeError):
        _main()
