"""The surroundings of the programs of one operator: names, channel, submission-time values, printing."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol

from streams_orchestration.model.containers import scalar_text
from streams_orchestration.spl.programs.run import PortLinks, RandomNumbers, Run, generator_of


class ProgramEnvironment(Protocol):
    """The facts of an operator's context that its programs may use."""

    name: str
    time_zone: str
    channel: int
    max_channels: int
    local_channel: int
    local_max_channels: int
    pe: int
    application: str
    resets: int
    base: Path
    logger: logging.Logger
    links: PortLinks | None
    generators: list[RandomNumbers]


_CONTEXT: ContextVar[ProgramEnvironment | None] = ContextVar("context of the operator that is set up", default=None)


@contextlib.contextmanager
def setting_up(context: ProgramEnvironment) -> Iterator[None]:
    """Make an operator's context available to expressions parsed within the block: name, channel, PE and so on."""
    token = _CONTEXT.set(context)
    try:
        yield
    finally:
        _CONTEXT.reset(token)


def run_of_expression(constants: Mapping[str, Any]) -> Run:
    """Return the surroundings of an expression: from the operator in `setting_up`, or defaults in a check."""
    context = _CONTEXT.get()
    if context is None:
        return Run(constants=_texts(constants))
    return run_of(context, constants)


def run_of(context: ProgramEnvironment, constants: Mapping[str, Any]) -> Run:
    """Return the surroundings of an operator's programs.

    Programs print and log by the context's logger. The first call adds the programs' random generator to the context.
    """
    output = PrintedLines(context)
    if not context.generators:
        context.generators.append(generator_of(context.name))
    return Run(
        operator=context.name,
        application=context.application,
        zone=context.time_zone,
        channel=context.channel,
        max_channels=context.max_channels,
        local_channel=context.local_channel,
        local_max_channels=context.local_max_channels,
        pe=context.pe,
        relaunches=context.resets,
        constants=_texts(constants),
        data_directory=str(context.base),
        application_directory=str(context.base),
        links=context.links,
        generator=context.generators[0],
        print=output.print,
        log=output.log,
        end_line=output.end,
    )


class PrintedLines:
    """The lines and messages that programs print and log."""

    def __init__(self, context: ProgramEnvironment) -> None:
        self._logger = context.logger
        self._line = ""

    def print(self, text: str) -> None:
        """Print the complete lines of a text, and keep an incomplete last line until its end is printed."""
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._logger.info("%s", line, extra={"printed": True})

    def end(self) -> None:
        """Print an incomplete last line."""
        if self._line:
            self.print("\n")

    def log(self, level: str, text: str) -> None:
        """Log a message as an error, a warning, or for any other level as information."""
        levels = {"error": self._logger.error, "warn": self._logger.warning}
        levels.get(level, self._logger.info)("%s", text)


def _texts(constants: Mapping[str, Any]) -> dict[str, str]:
    return {name: scalar_text(value) for name, value in constants.items()}
