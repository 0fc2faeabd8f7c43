"""Types of parameters: specs, names of applications, times, addresses. A wrong value is a usage error."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import click

from streams_orchestration.model.names import close_name
from streams_orchestration.model.python_file import file_of


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


class SpecOrName(Spec):
    """The type of a spec, or with `--revert` also of the name of an application."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of the spec; with `--revert`, a text that is not a file is returned as a name."""
        if ctx is not None and ctx.params.get("revert") and not _is_file(file_of(value)):
            return str(value)
        return super().convert(value, param, ctx)


class SpecOrCode(Spec):
    """The type of a spec or a diagnostic code."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a diagnostic code as text, unless a file has this name; else the path of the spec."""
        from streams_orchestration.compiler.explain.codes import is_code

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


def listen_address(value: str) -> tuple[str, int]:
    """Return the host, by default 127.0.0.1, and the port of an address: `PORT`, `HOST:PORT` or `[IPv6]:PORT`.

    Raises:
        BadParameter: the text is not an address.
    """
    host, _, port = value.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not re.fullmatch(r"\d{1,5}", port, re.ASCII) or int(port) > 65535 or (":" in bare and bare == host):
        message = f"{value!r} is not [HOST:]PORT. Write for example 9464, or 0.0.0.0:9464."
        raise click.BadParameter(message)
    return bare or "127.0.0.1", int(port)
