"""Parameters of several commands: the spec, the options of the compiler, the names of applications."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from streams_orchestration.cli.parameter_types import Spec, SpecOrCode, SpecOrName
from streams_orchestration.cli.shell_completion import complete_application, complete_savepoint, complete_spec
from streams_orchestration.compiler.option_types import ASSIGNMENT, CHOICES, PE_CAPACITY, PES, WIDTH, FiniteRange
from streams_orchestration.compiler.options import GivenOptions, Options
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.names import APPLICATION_NAME, APPLICATION_RULE
from streams_orchestration.model.spl_options import SplOptions, spl_options

if TYPE_CHECKING:
    from streams_orchestration.model.assignment import Assignment
    from streams_orchestration.model.profile import Profile

Declared = TypeVar("Declared", bound=Callable[..., Any])

spec_argument = click.argument("spec", type=Spec(), shell_complete=complete_spec)
spec_or_name_argument = click.argument("spec", type=SpecOrName(), shell_complete=complete_spec)
spec_or_code_argument = click.argument("spec", type=SpecOrCode(), shell_complete=complete_spec)
revert_option = click.option(
    "--revert",
    is_flag=True,
    is_eager=True,
    help="Restore the previous plan. During the trial of the last redeploy its state is restored as well; later the "
    "current state is kept. SPEC may be the application's name.",
)
application_argument = click.argument("application", metavar="APP", shell_complete=complete_application)
fresh_option = click.option("--fresh", is_flag=True, help="Drop the state and results of earlier runs and start over.")
format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Write text to read, or one JSON document and nothing else, to standard output.",
)
document_option = click.option(
    "--format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    expose_value=False,
    help="Write text to read, or one JSON document and nothing else, to standard output.",
)
"""The option `--format` of commands that write their result with `answer`, which reads the choice itself."""
output_option = click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file instead of standard output.",
)


drop_state_option = click.option(
    "--drop-state",
    multiple=True,
    metavar="NAME",
    help="Allow the state of this operator to be lost; may be repeated.",
)
from_option = click.option(
    "--from",
    "savepoint",
    metavar="SAVEPOINT",
    shell_complete=complete_savepoint,
    help="Start from this savepoint: its name, or the directory to which it was exported.",
)


class CompilerOption(click.Option):
    """An option of the compiler; the help of a command lists all such options in a section of their own."""


class _Name(click.types.StringParamType):
    name = "NAME"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not APPLICATION_NAME.fullmatch(value):
            self.fail(f"{value!r} is not a name: {APPLICATION_RULE}.", param, ctx)
        return value


class _Document(click.Path):
    """The type of a file that is read while the command line is parsed, so that its errors are usage errors."""

    def __init__(self, read: Callable[[Path], object]) -> None:
        """Create the type; `read` raises ApplicationError for a file that is not such a document."""
        super().__init__(exists=True, dir_okay=False, readable=True, path_type=Path)
        self._read = read

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = cast(Path, super().convert(value, param, ctx))
        try:
            return self._read(path)
        except ApplicationError as error:
            self.fail("\n".join(map(str, error.diagnostics)), param, ctx)


def _assignment(path: Path) -> Assignment:
    from streams_orchestration.model.assignment_document import read_assignment

    return read_assignment(path)


def _profile(path: Path) -> Profile:
    from streams_orchestration.model.profile_document import read_profile

    return read_profile(path)


def within_option(help: str) -> Callable[[Declared], Declared]:
    """Return the option `--within` with this help: the seconds that a step may take, by default 120."""
    return click.option(
        "--within",
        type=FiniteRange(min=0, min_open=True),
        default=120.0,
        show_default=True,
        metavar="SECONDS",
        help=help,
    )


compiler_option = functools.partial(click.option, cls=CompilerOption)
width_option = compiler_option(
    "--width",
    "widths",
    type=WIDTH,
    metavar="PATTERN=N",
    multiple=True,
    help="Set the width of the parallel regions whose logical name matches the pattern (* allowed). It overrides every "
    "other width.",
)
decoupling_option = compiler_option(
    "--decoupling",
    type=_Document(_assignment),
    metavar="FILE",
    help="Split PEs by this decision of `streams decouple`, so that the parts can run on other machines.",
)
name_option = compiler_option(
    "--name",
    type=_Name(),
    metavar="NAME",
    help="Deploy under this name instead of the one in the spec: a clone, with state and results of its own.",
)
_OPTIONS = (
    name_option,
    compiler_option(
        "--set",
        "submission",
        type=ASSIGNMENT,
        metavar="NAME=VALUE",
        multiple=True,
        help="Give a submission-time value; may be repeated.",
    ),
    width_option,
    compiler_option(
        "--fusion",
        type=CHOICES["fusion"],
        default=Options().fusion,
        show_default=True,
        help="Choose how operators are fused into PEs: `legacy` fuses only operators with a common colocation tag; "
        "`manual` makes --pes PEs, one by default; `automatic` makes one PE for each named host, host of a pool and "
        "default host, or, with a profile of operators, as few PEs as --pe-capacity permits.",
    ),
    compiler_option("--pes", type=PES, metavar="N", help="Aim at this many PEs under manual or automatic fusion."),
    compiler_option(
        "--pe-capacity",
        type=PE_CAPACITY,
        default=Options().pe_capacity,
        show_default=True,
        metavar="PROCESSORS",
        help="Let a PE keep at most this many processors busy when automatic fusion uses a profile of operators.",
    ),
    compiler_option(
        "--channel-fusion",
        type=CHOICES["channel_fusion"],
        default=Options().channel_fusion,
        show_default=True,
        help="Choose which operators of parallel channels may share a PE: with `noChannelInfluence` any; with "
        "`channelIsolation` only members of one channel; with `channelExlocation` members of one channel, and "
        "operators outside of the region.",
    ),
    compiler_option(
        "--threading", type=CHOICES["threading"], help="Use this threading model where no annotation names one."
    ),
    compiler_option(
        "--profile",
        "profiles",
        type=_Document(_profile),
        metavar="FILE",
        multiple=True,
        help="Fuse by the rates and costs that `streams profile` measured. Of several profiles, the largest "
        "values count.",
    ),
    decoupling_option,
    compiler_option(
        "--faithful", is_flag=True, help="Plan exactly as IBM Streams does, without this product's improvements."
    ),
)
_SPL_OPTIONS = (
    compiler_option(
        "--main",
        metavar="NS::NAME",
        help="Compile this composite of an SPL file. [default: its only main composite, or Main]",
    ),
    compiler_option(
        "--toolkit",
        "toolkits",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        multiple=True,
        help="Search this toolkit for definitions of SPL, before the toolkits of STREAMS_SPLPATH; may be repeated.",
    ),
    compiler_option(
        "--define",
        type=ASSIGNMENT,
        metavar="NAME=VALUE",
        multiple=True,
        help="Give a value for getCompileTimeValue of SPL; may be repeated.",
    ),
    compiler_option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Read relative files of an SPL application from here. [default: data in its toolkit, or the toolkit]",
    ),
)
_PLAIN = ("fusion", "pes", "pe_capacity", "channel_fusion", "threading", "decoupling", "faithful")
"""Options that the compiler takes unchanged."""


def _combined(profiles: tuple[Profile, ...]) -> Profile | None:
    if not profiles:
        return None
    from streams_orchestration.model.profile import combined

    try:
        return combined(profiles)
    except ValueError as error:
        message = f"{error}."
        raise click.BadParameter(message, click.get_current_context(), param_hint="'--profile'") from error


def _is_asked_for(parameter: str) -> bool:
    """Return True if the user gave the option, so that its value is not the default."""
    source = click.get_current_context().get_parameter_source(parameter)
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def compile_options(command: Declared) -> Declared:
    """Decorate a command with the options of the compiler, which it gets as one argument `options`.

    The options for SPL are set as `spl_options` instead. Profiles that do not fit together are a usage error.
    """
    return _with_options(command, lambda given: {"options": given.options})


def kept_compile_options(command: Declared) -> Declared:
    """Decorate a command as `compile_options` does, with an argument `given` that tells which options the user gave."""
    return _with_options(command, lambda given: {"given": given})


def _with_options(command: Declared, argument: Callable[[GivenOptions], dict[str, Any]]) -> Declared:
    @functools.wraps(command)
    def with_options(
        *,
        name: str | None,
        submission: Iterable[tuple[str, str]],
        widths: Iterable[tuple[str, int]],
        profiles: tuple[Profile, ...],
        main: str | None,
        toolkits: Iterable[Path],
        define: Iterable[tuple[str, str]],
        data: Path | None,
        **others: Any,
    ) -> Any:
        spl_options.set(SplOptions(main, tuple(toolkits), dict(define), data))
        plain = {field: others.pop(field) for field in _PLAIN}
        options = Options(
            name=name, submission=dict(submission), widths=tuple(widths), profile=_combined(profiles), **plain
        )
        asked = {"profile": "profiles"} | {field: field for field in _PLAIN}
        given = GivenOptions(
            options, frozenset(field for field, parameter in asked.items() if _is_asked_for(parameter))
        )
        return command(**argument(given), **others)

    decorated: Any = with_options
    for option in reversed((*_OPTIONS, *_SPL_OPTIONS)):
        decorated = option(decorated)
    return decorated
