"""Base classes of all commands, which add `-q` and `-v` and divide the help on options into sections."""

from __future__ import annotations

import functools

import click

from streams_orchestration.cli.invocation import Verbosity, current
from streams_orchestration.cli.options import CompilerOption

COMPILER_OPTIONS = "Compiler options"
_UNLIMITED = 1_000
"""Characters that no first sentence has."""


def _set_verbosity(_context: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001  click calls it so
    if value:
        current().verbosity = Verbosity[str(parameter.name).upper()]


_VERBOSITY = (
    click.Option(
        ["-q", "--quiet"],
        is_flag=True,
        expose_value=False,
        callback=_set_verbosity,
        help="Show errors and results only.",
    ),
    click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        expose_value=False,
        callback=_set_verbosity,
        help="Also show where state is kept, how long each step takes, and where unexpected errors come from.",
    ),
)


class Command(click.Command):
    """A command that takes `-q` and `-v`, and lists the options of the compiler in a section of their own."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's parameters, with `-q` and `-v` before `--help`."""
        *own, last = super().get_params(ctx)  # the last one is --help
        return [*own, *_VERBOSITY, last]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note the command's name for its JSON document, then parse the arguments."""
        current().command = ctx.command_path.partition(" ")[2]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help on options, with the options of the compiler in a separate section."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": [], COMPILER_OPTIONS: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections[COMPILER_OPTIONS if isinstance(parameter, CompilerOption) else "Options"].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class CommandGroup(Command, click.Group):
    """A group that lists its commands in the order in which they were declared."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click calls it so
        """Return the names of the commands, in the order of declaration."""
        return list(self.commands)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help on options, then the list of commands."""
        Command.format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click calls it so
        """Write the commands with the whole first sentence of each one's help, over as many lines as it takes."""
        records = [(name, each.get_short_help_str(limit=_UNLIMITED)) for name, each in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(records)


command = functools.partial(click.command, cls=Command)
