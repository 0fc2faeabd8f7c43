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
import yaml

PAGE = Path(__file__).parents[2] / "docs" / "dagster.md"
DEFS = "reports/defs/numbers/defs.yaml"
SCAFFOLDED = pytest.mark.xdist_group("dagster page")
"""The mark of tests that use the fixture `scaffolded`: they are in one worker, which makes the project once."""

COPIES = """\
specVersion: 1
application: copies
graph:
  - name: Numbers
    operator: FileSource
    parameters: {file: FILE, format: csv}
    outputs: [{stream: Numbers, schema: "n bigint"}]
  - {name: Copies, operator: FileSink, inputs: [Numbers], parameters: {file: copies, format: csv}}
"""
FINITE = "{iterations: 100, output: {n: IterationCount()}}"
ENDLESS = "{iterations: 36000, period: 0.1, output: {n: IterationCount()}}"


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


def copied(scaffolded: Path, project: Path) -> Path:
    """Copy a project without the state of its commands, and return the copy."""
    return shutil.copytree(scaffolded, project, ignore=shutil.ignore_patterns("home", "dagster"))


def two_applications(scaffolded: Path, project: Path, copies: str) -> Path:
    """Make a project with two applications in state directories of their own; the scaffolded one ends soon.

    Args:
        scaffolded: the project as `new_project` makes it.
        project: a directory that does not exist.
        copies: the spec of the application `copies`, in which FILE is a file of three numbers.
    """
    copied(scaffolded, project)
    (project / "dagster").mkdir()
    write(project, "reports/defs/results.py", "reports/defs/after_epochs.py")
    spec = project / DEFS.replace("defs.yaml", "application.yaml")
    assert ENDLESS in spec.read_text()
    spec.write_text(spec.read_text().replace(ENDLESS, FINITE))
    (project / "numbers.csv").write_text("n\n1\n2\n3\n")
    second = project / "reports" / "defs" / "copies"
    second.mkdir()
    (second / "application.yaml").write_text(copies.replace("FILE", str(project / "numbers.csv")))
    written = yaml.safe_load((project / DEFS).read_text())
    written["attributes"] |= {"home": str(project / "other"), "resource_key": "other"}
    (second / "defs.yaml").write_text(yaml.safe_dump(written))
    (project / "reports" / "defs" / "executor.py").write_text(
        "import dagster as dg\n\ndefs = dg.Definitions(executor=dg.in_process_executor)\n"
    )
    return project
