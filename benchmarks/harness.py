"""Ratios of processor times and of memory, measured in one run.

Whatever is compared is run by turns, several times, and the least counts: other work on the machine can only add.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

ROOT = Path(__file__).parents[1]


class Row(NamedTuple):
    """One line of the table."""

    what: str
    value: float
    unit: str
    yardstick: float
    target: float | None = None
    """The most that value / yardstick may be; None for a figure that explains another."""
    at_least: bool = False
    """The target is the least that it may be: more is better."""

    @property
    def ratio(self) -> float:
        return self.value / self.yardstick

    @property
    def wanted(self) -> str:
        """The target, for people."""
        return "" if self.target is None else f"{'>=' if self.at_least else '<='} {self.target:g}"

    @property
    def verdict(self) -> str:
        """The verdict on the target; empty without a target."""
        if self.target is None:
            return ""
        met = self.ratio >= self.target if self.at_least else self.ratio <= self.target
        return "met" if met else "missed"


def seconds(*functions: Callable[[], Any], repeat: int = 5) -> list[float]:
    """Return the least processor seconds of each function; the functions take turns."""
    least = [float("inf")] * len(functions)
    for _ in range(repeat):
        for number, function in enumerate(functions):
            gc.collect()
            begin = time.process_time()
            result = function()
            least[number] = min(least[number], time.process_time() - begin)
            del result
    return least


def process_seconds(*commands: Sequence[str]) -> list[float]:
    """Return the least processor seconds of each command, from its start to its end; the commands take seven turns."""
    least = [float("inf")] * len(commands)
    for _ in range(7):
        for number, command in enumerate(commands):
            begin = _children()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            least[number] = min(least[number], _children() - begin)
    return least


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def answer_of(
    module: str,
    *arguments: str,
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
    quiet: bool = True,
) -> Any:
    """Run a module as a program, and return the JSON on its last line. Exits if the program fails.

    Args:
        module: the module.
        arguments: the arguments of the program.
        python: the Python that runs it.
        environment: variables of the environment, added to the ones of this process.
        quiet: True to show what it writes to standard error only if it fails.
    """
    command, given = [python, "-m", module, *arguments], {**os.environ, **(environment or {})}
    errors = subprocess.PIPE if quiet else None
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT, env=given, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{(done.stderr or '')[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def memory(prepare: Callable[[], Callable[[], Any]]) -> float:
    """Return the megabytes that a function takes at its peak, in a fresh process.

    Args:
        prepare: a function of a module, called in that process, that returns the function to measure. It should take
            little memory itself.
    """
    code = f"from benchmarks.harness import peak; from {prepare.__module__} import {prepare.__name__} as prepare; "
    done = subprocess.run([sys.executable, "-c", code + "peak(prepare())"], check=True, capture_output=True, text=True)
    return float(done.stdout)


def peak(function: Callable[[], Any]) -> None:
    """Print the megabytes that a function takes at its peak."""
    before = psutil.Process().memory_info().rss
    result = function()
    print((_most() - before) / 1e6)
    del result


def _most() -> int:
    """Return the peak memory of this process in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss may be the peak of the process which started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def table(rows: Sequence[Row]) -> str:
    """Return a table of all ratios with their targets."""
    lines = [("", "measured", "yardstick", "ratio", "target", "")]
    for row in rows:
        figures = (_figure(row.value, row.unit), _figure(row.yardstick, row.unit), f"{row.ratio:.3f}")
        lines.append((row.what, *figures, row.wanted, row.verdict))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines
    )


def _figure(value: float, unit: str) -> str:
    digits = f"{value:,.0f}" if value >= 10_000 else f"{value:.4g}"
    return f"{digits} {unit}".rstrip()
