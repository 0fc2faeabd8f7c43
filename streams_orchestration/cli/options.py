"""Parameters of several commands: the spec, the options of the compiler, the names of applications."""

from __future__ import annotations

import datetime as dt
import functools
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from streams_orchestration.cli.loading import load
from streams_orchestration.cli.shell_completion import complete_application, complete_savepoint, complete_spec
from streams_orchestration.compiler.option_types import ASSIGNMENT, CHOICES, PE_CAPACITY, PES, WIDTH, FiniteRange
from streams_orchestration.compiler.options import GivenOptions, Options
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.names import APPLICATION_NAME, APPLICATION_RULE, close_name
from streams_orchestration.model.python_file import file_of
from streams_orchestration.model.spl_options import SplOptions, spl_options

Declared = TypeVar("Declared", bound=Callable[..., Any])


class Spec(click.Path):
    """The type of a spec: the path of a YAML or Python file; a Python file may be followed by an application's name."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, readable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of the spec; the error for a missing file suggests one under `specs`, or beside it."""
        likely = Path("specs") / f"{value}.yaml"
        if not _is_file(file_of(value)) and _is_file(likely):
            self.fail(f"there is no file {str(value)!r}; the spec may be {likely}.", param, ctx)
        if near := _near(file_of(value)):
            self.fail(f"there is no file {str(value)!r}; the nearest is {near}.", param, ctx)
        super().convert(str(file_of(value)), param, ctx)
        return Path(value)


spec_argument = click.argument(
    "spec",
    type=Spec(),
    shell_complete=complete_spec,
)


class _SpecOrName(Spec):
    """The type of a spec, or with `--revert` also of the name of an application."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of the spec; with `--revert`, a text that is not a file is returned as a name."""
        if ctx is not None and ctx.params.get("revert") and not _is_file(file_of(value)):
            return str(value)
        return super().convert(value, param, ctx)


class _SpecOrCode(Spec):
    """The type of a spec or a diagnostic code."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a diagnostic code as text, unless a file has this name; else the path of the spec."""
        is_code = load("streams_orchestration.compiler.explain.codes:is_code")
        return str(value) if is_code(str(value)) and not _is_file(Path(value)) else super().convert(value, param, ctx)


class SpecOrApplication(Spec):
    """The type of a spec or the name of a deployed application."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return an application's name as text, unless a file has this name; else the path of the spec."""
        if Path(value).name == value and value.isidentifier() and not _is_file(Path(value)):
            return str(value)
        return super().convert(value, param, ctx)


def _near(path: Path) -> Path | None:
    """Return the file of a similar name beside a path of a spec that does not exist; None if there is none."""
    try:
        stems = [] if path.exists() else [each.stem for each in path.parent.iterdir() if each.suffix == path.suffix]
    except OSError:  # there is no such directory, or it cannot be read, or the text is too long
        return None
    near = close_name(path.stem, stems)
    return None if near is None else path.with_stem(near)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the text is too long to name a file
        return False


spec_or_name_argument = click.argument(
    "spec",
    type=_SpecOrName(),
    shell_complete=complete_spec,
)
spec_or_code_argument = click.argument("spec", type=_SpecOrCode(), shell_complete=complete_spec)
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


class _Name(click.ParamType):
    name = "NAME"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not APPLICATION_NAME.fullmatch(value):
            self.fail(f"{value!r} is not a name: {APPLICATION_RULE}.", param, ctx)
        return value


class Moment(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """A point in time: unix seconds, or as ISO 8601 writes it, in UTC unless it names a zone."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the time in unix seconds; any other text is a usage error."""
        try:
            return float(value)
        except ValueError:
            pass
        try:
            at = dt.datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a time; write 2026-11-28T03:00:00 or unix seconds.", param, ctx)
        return (at if at.tzinfo else at.replace(tzinfo=dt.UTC)).timestamp()


class ListenAddress(click.ParamType):
    """The type of an address to listen on: `PORT`, `HOST:PORT` or `[IPv6]:PORT`."""

    name = "[HOST:]PORT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Return the host, by default 127.0.0.1, and the port; any other text is a usage error."""
        host, _, port = value.rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if not re.fullmatch(r"\d{1,5}", port, re.ASCII) or int(port) > 65535 or (":" in bare and bare == host):
            self.fail(f"{value!r} is not [HOST:]PORT. Write for example 9464, or 0.0.0.0:9464.", param, ctx)
        return bare or "127.0.0.1", int(port)


class _Document(click.Path):
    """The type of a file that is read while the command line is parsed, so that its errors are usage errors."""

    def __init__(self, reader: str) -> None:
        """Create the type; `reader` names the function that reads a path, in the form that `load` expects."""
        super().__init__(exists=True, dir_okay=False, readable=True, path_type=Path)
        self._reader = reader

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = cast(Path, super().convert(value, param, ctx))
        try:
            return load(self._reader)(path)
        except ApplicationError as error:
            self.fail("\n".join(map(str, error.diagnostics)), param, ctx)


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
    type=_Document("streams_orchestration.model.assignment_document:read_assignment"),
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
        type=_Document("streams_orchestration.model.profile_document:read_profile"),
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


def _combined(profiles: Iterable[Any]) -> Any:
    profiles = tuple(profiles)
    if not profiles:
        return None
    try:
        return load("streams_orchestration.model.profile:combined")(profiles)
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
        profiles: Iterable[Any],
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
