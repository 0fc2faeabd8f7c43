"""Runs in processes of their own, each a fork of one that has everything loaded and compiled.

A process makes some runs only: it keeps all threads of the processes that were killed. A fault of the product is
installed in the fork, so that what the runs are compared with is that of the product as it is.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

import psutil

from streams_orchestration_tests.chaos.undisturbed import Outcome
from streams_orchestration_tests.simulation import cases
from streams_orchestration_tests.simulation.choices import Choices
from streams_orchestration_tests.simulation.fault_kinds import USUAL
from streams_orchestration_tests.simulation.mutants import MUTANTS
from streams_orchestration_tests.simulation.runs import MEMORY, Case, Verdict, prefix_of, run

RUNS = 20
"""Most runs of one process."""
PROCESSOR_SECONDS = 300.0
"""Seconds of processor time after which a run counts as one that does not end."""
POLL_SECONDS = 5.0
CLOCK_FACTOR = 12
"""Times that a run may take its seconds by the clock, on a machine that does other work."""
WARM = Case(seed=0, faults=20, shape="chain", machines=3, kinds=USUAL)
"""A run that uses Polars nowhere, whose threads a fork would wait for in vain."""
Wanted = Case | tuple[Case, Choices]
"""A case, perhaps with choices that are not those of its seed."""


def simulated(
    wanted: Sequence[Wanted], mutant: str | None = None, *, tell: bool = False, seconds: float = PROCESSOR_SECONDS
) -> Iterator[Verdict]:
    """Yield the verdicts of runs, one after the other.

    Args:
        wanted: the runs.
        mutant: the fault of the product that is installed; None for none.
        tell: print the traces.
        seconds: seconds of processor time after which a run counts as one that does not end.
    """
    for begin in range(0, len(wanted), RUNS):
        piece = [(each, None) if isinstance(each, Case) else each for each in wanted[begin : begin + RUNS]]
        for case, _ in piece:
            prepare(case.shape, case.variant)

        def work(send: Callable[[Any], None], piece: Sequence[tuple[Case, Choices | None]] = piece) -> None:
            with MUTANTS[mutant].installed() if mutant else contextlib.nullcontext():
                for case, choices in piece:
                    send(run(case, choices, tell=tell))

        verdicts = _received(work, seconds)
        for case, _ in piece:
            verdict = next(verdicts, None)
            if not isinstance(verdict, Verdict):
                yield Verdict(case, wrong=[f"its process has ended: {verdict}"])
                break
            yield verdict


def warm() -> None:
    """Load and compile here what each of many forks would load and compile for itself."""
    prepare(WARM.shape, WARM.variant)
    assert not run(WARM).wrong
    importlib.import_module("polars")


def prepare(shape: str, variant: int) -> None:
    """Compile a shape, and find out what it leaves when nothing happens to it, unless that is known."""
    cases.plans(shape, variant)
    if (shape, variant) not in cases.KNOWN:
        (outcome,) = _received(lambda send: send(cases.undisturbed(shape, variant)), PROCESSOR_SECONDS)
        assert isinstance(outcome, Outcome), outcome
        cases.KNOWN[shape, variant] = outcome


def _received(work: Callable[[Callable[[Any], None]], None], seconds: float) -> Iterator[Any]:
    """Yield what a fork sends; then the reason, if it has not ended by itself.

    Args:
        work: called in the fork with a function that sends.
        seconds: most seconds of processor time from one to the next.
    """
    ours, theirs = multiprocessing.Pipe(duplex=False)
    pid = os.fork()
    if not pid:
        _work(work, theirs)
    theirs.close()
    try:
        while True:
            if not _comes(ours, pid, seconds):
                yield f"nothing came in {seconds:g} s of processor time"
                return
            try:
                done, value = ours.recv()
            except EOFError:
                yield "it was killed"
                return
            if done:
                if value:
                    yield value
                return
            yield value
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
        os.waitpid(pid, 0)
        for left in MEMORY.glob(f"{prefix_of(pid)}*"):  # left by a run that was ended
            shutil.rmtree(left, ignore_errors=True)
        ours.close()


def _comes(pipe: Connection, pid: int, seconds: float) -> bool:
    """Wait until a fork sends something; return False if it has worked for some seconds instead, or stands still."""
    process = psutil.Process(pid)
    began, until = sum(process.cpu_times()[:2]), time.monotonic() + CLOCK_FACTOR * seconds
    while not pipe.poll(POLL_SECONDS):
        if sum(process.cpu_times()[:2]) - began > seconds or time.monotonic() > until:
            return False
    return True


def _work(work: Callable[[Callable[[Any], None]], None], pipe: Connection) -> None:
    """Work in a fork, and end it without freeing greenlets that were put aside, which would run then."""
    status = ""
    try:
        work(lambda value: pipe.send((False, value)))
    except BaseException as error:  # noqa: BLE001  it is told to the one that waits
        import traceback

        status = "".join(traceback.format_exception(error))[-3000:]
    with contextlib.suppress(Exception):
        pipe.send((True, status))
    os._exit(0)
