"""Finds command lines of `streams` in texts, and says what is wrong with them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click

from streams_orchestration.cli.commands import streams

_SPAN = re.compile(r"`([^`]+)`", re.DOTALL)
_LINE = re.compile(r"^\s*(?:\$ |[A-Z_]+=\S+ )*(streams [^|#&>\n]*)", re.MULTILINE)
_BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def _context(command: click.Command, parent: click.Context | None = None) -> click.Context:
    """Return the context of a command, with the names of the product's option for help."""
    return click.Context(command, info_name=command.name, parent=parent, help_option_names=["-h", "--help"])


def options_of(command: click.Command) -> set[str]:
    """Return all options of a command and of those in it."""
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    own = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    parameters = command.get_params(_context(command))
    own |= {name for each in parameters for name in each.opts}
    return own.union(*map(options_of, inner))


OPTIONS = options_of(streams)


def wrong_with(line: str) -> str | None:
    """Return the fault of a command line; None for one that click takes, whatever its values are."""
    _, *words = (each for each in shlex.split(re.sub(r"…|\.\.\.|[][]| > .*", "", line)) if each)
    command: click.Command = streams
    context = _context(command)
    while isinstance(command, click.Group):
        if not words:
            return None
        name, *words = words
        if name.startswith("-"):
            return None if name in options_of(command) else f"there is no option {name}"
        inner = command.get_command(context, name)
        if inner is None:
            return f"there is no command {name}"
        command, context = (
            inner,
            _context(inner, context),
        )
    try:
        _, left, _ = command.make_parser(context).parse_args(list(words))
    except click.BadOptionUsage:
        return None  # an option is named, without a value for it
    except click.UsageError as error:
        return error.format_message()
    return f"it takes no {' '.join(left)}" if left else None


def in_code(text: str) -> Iterator[str]:
    """Command lines in the blocks of code and the code spans of a page."""
    for block in _BLOCK.findall(text):
        yield from _LINE.findall(block)
    for span in _SPAN.findall(_BLOCK.sub("", text)):
        if span.startswith("streams "):
            yield " ".join(span.split())


def bare_options(text: str) -> Iterator[str]:
    """Options in code spans that begin with one."""
    for span in _SPAN.findall(_BLOCK.sub("", text)):
        if span.startswith("--"):
            yield from _OPTION.findall(span)
