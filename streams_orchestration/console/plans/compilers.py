"""The compiler for pages: each spec in a process of its own, one at a time, within limits of time and memory."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.documents import load
from streams_orchestration.compiler.options import Options
from streams_orchestration.console.plans.choices import ChoiceError, Choices
from streams_orchestration.console.plans.task import PlanRequest
from streams_orchestration.console.responses import BusyError, UnknownPlanError
from streams_orchestration.runtime import api

COMPILE_TIMEOUT_SECONDS = 60.0
"""The most seconds of a compilation."""
MAX_CACHED_PLANS = 8
"""The most plans that are kept for later requests of pages; the least recently used one is dropped first."""
MAX_WAITING_PAGES = 4
"""The most pages that may wait for their turn."""
_COMMAND = [sys.executable, "-m", "streams_orchestration.console.plans.worker"]


@dataclass(slots=True)
class Compilers:
    """The specs that were named on the command line, and the plans that were compiled from them.

    `compile` is called in the event loop, and waits for its process in a thread.
    """

    home: api.Home
    specs: tuple[Path, ...] = ()
    options: Options | None = None
    """Options of the command line; None if the command line has none."""
    seconds: float = COMPILE_TIMEOUT_SECONDS
    _plans: OrderedDict[str, Compilation] = field(default_factory=OrderedDict[str, Compilation])
    _keeping: threading.Lock = field(default_factory=threading.Lock)
    _made: int = 0
    _waiting: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    spare: subprocess.Popen[bytes] | None = None
    """A process that has loaded the compiler and waits for work, so that a page need not wait; None without one."""
    running: subprocess.Popen[bytes] | None = None
    _closed: bool = False

    def prepare(self) -> None:
        """Start the process of the next compilation, unless it waits already, there are no specs, or all is closed.

        Raises:
            OSError: the process cannot be started.
        """
        if self.spare is None and self.specs and not self._closed:
            self.spare = subprocess.Popen(
                _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )

    async def compile(self, spec: str, choices: object, before: object) -> dict[str, Any]:
        """Compile one of the specs, keep the plan, and return the document for the page.

        Args:
            spec: the spec, as it was named on the command line.
            choices: the page's choices, as `Choices.of` reads them.
            before: the choices to compare with; None for no comparison.

        Raises:
            UnknownPlanError: the console was not started with this spec.
            BusyError: too many pages wait.
            ChoiceError: a choice is not possible, or the compilation took too long, ended early or failed.
            OSError: the process of the compilation cannot be started.
        """
        path = next((each for each in self.specs if str(each) == spec), None)
        if path is None:
            message = f"{spec} was not named where the console was started. `streams console {spec}` shows it."
            raise UnknownPlanError(message)
        compared = None if before is None else Choices.of(before)
        task = PlanRequest(path, self.home.root, self.options, Choices.of(choices), compared)
        with self.waits():
            async with self._turn:
                answer = await asyncio.to_thread(self._done, task)
        document: dict[str, Any] = answer["document"]
        if "error" in document:
            raise ChoiceError(document["error"])
        content = answer["compilation"]
        compilation = None if content is None else await asyncio.to_thread(load, Compilation, content)
        return document | {"spec": spec, "plan": None if compilation is None else self.keep(compilation)}

    def keep(self, compilation: Compilation) -> str:
        """Keep a plan until `MAX_CACHED_PLANS` other plans have been used more recently, and return its number."""
        with self._keeping:
            self._made += 1
            number = str(self._made)
            self._plans[number] = compilation
            while len(self._plans) > MAX_CACHED_PLANS:
                self._plans.popitem(last=False)
        return number

    def plan(self, number: str) -> Compilation:
        """Return the kept plan of this number, and mark it as the most recently used one.

        Raises:
            UnknownPlanError: the plan is no longer kept.
        """
        with self._keeping:
            if number not in self._plans:
                message = "This plan is no longer kept. Compile again."
                raise UnknownPlanError(message)
            self._plans.move_to_end(number)
            return self._plans[number]

    @contextmanager
    def waits(self) -> Generator[None]:
        """Count a page that waits within the block. Raise BusyError if more than `MAX_WAITING_PAGES` pages wait."""
        if self._waiting > MAX_WAITING_PAGES:
            message = "The console is compiling for other pages. Try again in a moment."
            raise BusyError(message)
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    def _done(self, task: PlanRequest) -> dict[str, Any]:
        self.prepare()
        process, self.spare = self.spare, None
        if process is None:
            return {"document": {"error": "The console is being stopped."}}
        self.running = process
        try:
            output, _ = process.communicate(pickle.dumps(task), timeout=self.seconds)
            return json.loads(output)
        except subprocess.TimeoutExpired:
            message = f"{task.spec}: compiling took more than {self.seconds:g} s. Choose smaller widths."
            return {"document": {"error": message}}
        except (json.JSONDecodeError, BrokenPipeError):
            message = (
                f"{task.spec}: the process that compiled it ended early. `streams compile {task.spec}` shows the "
                "reason."
            )
            return {"document": {"error": message}}
        finally:
            self.running = None
            _end(process)
            self.prepare()

    def close(self) -> None:
        """Kill the process that waits for work, and the process that compiles; no other is started."""
        self._closed = True
        if self.running is not None:
            _kill(self.running)
        if self.spare is not None:
            _end(self.spare)
            self.spare = None


def _end(process: subprocess.Popen[bytes]) -> None:
    _kill(process)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all processes in its group, which it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
