"""The snippets of the page of Dagster, and the project that they make."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "dagster.md"
DEFS = "reports/defs/numbers/defs.yaml"


def files() -> dict[str, list[str]]:
    """Return the snippets that begin with the name of their file, by this name."""
    named: dict[str, list[str]] = defaultdict(list)
    for code in re.findall(r"```(?:python|yaml|toml)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        named[code.partition("\n")[0].removeprefix("# ")].append(code)
    return named


def commands(start: str) -> list[list[str]]:
    """Return the commands of the page that begin so."""
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [line.split() for block in blocks for line in block.splitlines() if line.startswith(start)]


def write(project: Path, *names: str) -> None:
    """Write the first snippets of these names into a project."""
    for name in names:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files()[name][0])


def environment(project: Path) -> Mapping[str, str]:
    """Return the environment of the project's commands."""
    (project / "dagster").mkdir(exist_ok=True)
    own = {"STREAMS_HOME": str(project / "home"), "DAGSTER_HOME": str(project / "dagster"), "COLUMNS": "200"}
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | own | {"PATH": programs, "STREAMS_SPECS": str(project / "specs")}


def run(project: Path, *command: str, succeeds: bool = True) -> str:
    """Return what a command of the project says; it must end as is expected."""
    done = subprocess.run(
        command,
        check=False,
        cwd=project,
        env=environment(project),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert (done.returncode == 0) is succeeds, done.stdout
    return done.stdout


@contextmanager
def started(project: Path, command: Sequence[str], log: Path) -> Iterator[None]:
    """Start a command of the project that serves, and end it, with what it has started, afterwards."""
    env = environment(project)
    with (
        log.open("w") as output,
        subprocess.Popen(
            [shutil.which(command[0], path=env["PATH"]) or command[0], *command[1:]],
            cwd=project,
            env=env,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)


def new_project(project: Path) -> Path:
    """Make the project as the page does it."""
    write(project, "pyproject.toml", "reports/definitions.py")
    (project / "reports" / "defs").mkdir()
    (scaffold,) = commands("dg scaffold")
    run(project, *scaffold)
    return project


@contextmanager
def loaded(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.Definitions]:
    """Give the definitions of the project in this process."""
    monkeypatch.syspath_prepend(project)
    monkeypatch.chdir(project)
    monkeypatch.setenv("STREAMS_HOME", str(project / "home"))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    try:
        from reports.definitions import defs  # pyright: ignore[reportMissingImports]

        yield defs()
    finally:
        for name in [each for each in sys.modules if each.partition(".")[0] == "reports"]:
            del sys.modules[name]
