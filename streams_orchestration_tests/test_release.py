"""A release: what is in its wheel, that this works without Spark and Dagster, and where it is tested."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = PROJECT["version"]
PYTHONS = ["3.11", "3.12", "3.13"]
STATIC = "streams_orchestration/console/static"
LEFT_OUT = ("dagster", "dagster-webserver", "pyspark")
"""The largest requirements, which the commands below must do without."""
HIDDEN = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")
"""Variables of this process that are not passed on; without bytecode each command would compile all that it imports."""
UNREACHABLE = ("Failed to fetch", "network was disabled", "not found in the package registry")

pytestmark = pytest.mark.xdist_group("release")  # the tests build one wheel

SPEC = """
specVersion: 1
application: readings
schemas: {Reading: "sensor string, value double"}
graph:
  - {name: Src, operator: Beacon, outputs: [{stream: Src, schema: Reading}], parameters: {output: {sensor: "'a'"}}}
  - {name: Some, operator: Filter, inputs: [Src], parameters: {filter: value > 0 AND sensor = 'a'}}
  - {name: Out, operator: FileSink, inputs: [Some], parameters: {file: out}}
"""


def run(*command: str | Path, directory: Path) -> subprocess.CompletedProcess[str]:
    own = {"STREAMS_HOME": str(directory / "home"), "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}
    if index := os.environ.get("PIP_INDEX_URL"):
        own["UV_DEFAULT_INDEX"] = index
    kept = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    return subprocess.run(
        [str(word) for word in command], cwd=directory, env=own | kept, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the source distribution, and with the wheel that was built from it."""
    directory = tmp_path_factory.mktemp("dist")
    options = ("--no-build-isolation", "--offline", "--python", sys.executable)
    done = run(UV, "build", *options, "--out-dir", directory, ROOT, directory=directory)
    assert done.returncode == 0, done.stderr
    return directory


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    assert found.name == f"streams_orchestration-{VERSION}-py3-none-any.whl"
    return found


@pytest.mark.slow
def test_the_wheel_holds_the_package_with_its_licence_and_the_built_page_and_no_tests(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    about = f"streams_orchestration-{VERSION}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"streams_orchestration", about}
    static = {f"streams_orchestration/console/static/{path.name}" for path in (ROOT / STATIC).iterdir()}
    wanted = {"py.typed", "orchestration/dagster.yaml", "runtime/catalog/migrations/versions/revision_0_1_0.py"}
    assert static | {f"streams_orchestration/{name}" for name in wanted} | {f"{about}/licenses/LICENSE"} <= names
    others = ("*/node_modules/*", "*/console/page/*", "*.pyc", "*/test_*")
    assert [name for name in names if any(fnmatch(name, other) for other in others)] == []


@pytest.mark.slow
def test_the_source_distribution_holds_what_the_tests_need(built: Path):
    (found,) = built.glob("*.tar.gz")
    with tarfile.open(found) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"LICENSE", "CHANGELOG.md", "Makefile", "requirements.lock", ".ci/setup", "benchmarks/__main__.py"}
    assert wanted <= names
    assert {"docs", "specs", "typings", "streams_orchestration_tests"} <= {name.partition("/")[0] for name in names}
    assert [name for name in names if ".venv" in name or "__pycache__" in name or "node_modules" in name] == []


def test_the_public_ci_runs_what_a_merge_needs_on_every_python_that_a_release_supports():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    job = workflow["jobs"]["test"]
    prefix = "Programming Language :: Python :: 3."
    assert [f"3.{each.removeprefix(prefix)}" for each in PROJECT["classifiers"] if each.startswith(prefix)] == PYTHONS
    assert job["strategy"]["matrix"]["python"] == PYTHONS
    assert ".ci/run" in [step.get("run") for step in job["steps"]]
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert [each for each in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", each)] == []


def test_the_weekly_ci_runs_targets_of_the_makefile():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "deep.yml").read_text(encoding="utf-8"))
    runs = [step["run"].split() for step in workflow["jobs"]["test"]["steps"] if "run" in step]
    wanted = {target for words in runs if words[0] == "make" for target in words[1:]}
    assert wanted == {"audit", "servers", "deep"}
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert wanted <= set(targets)


def interpreters(version: str) -> Iterator[Path]:
    """Find executables of a version of Python on the path, and among those of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser()
    directories = [*map(Path, os.environ["PATH"].split(os.pathsep)), *sorted(pyenv.glob(f"versions/{version}.*/bin"))]
    yield from (path for each in directories if (path := each / f"python{version}").is_file())


@pytest.mark.parametrize(
    "version",
    [
        # the others have their own jobs in the public CI
        pytest.param(each, marks=pytest.mark.slow if each == PYTHONS[-1] else pytest.mark.deep)
        for each in PYTHONS
    ],
)
def test_the_installed_wheel_compiles_explains_draws_and_checks_without_spark_and_dagster(
    wheel: Path, tmp_path: Path, version: str
):
    found = (path for path in interpreters(version) if run(path, "-c", "", directory=tmp_path).returncode == 0)
    python = next(found, None)
    if python is None:
        pytest.skip(f"there is no Python {version}")
    environment = tmp_path / "environment"
    done = run(UV, "venv", "--python", python, environment, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "left_out.txt").write_text("\n".join(LEFT_OUT))
    install = (UV, "pip", "install", "--python", environment, "--excludes", "left_out.txt")
    done = run(*install, "--constraints", ROOT / "requirements.lock", wheel, directory=tmp_path)
    if done.returncode and any(sign in done.stderr for sign in UNREACHABLE):
        pytest.skip(f"packages for Python {version}: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr

    (tmp_path / "readings.yaml").write_text(SPEC)
    said = {}
    for command in ("--version", "compile", "explain Some", "graph", "check"):
        name, *subject = command.split()
        words = [name] if name.startswith("-") else [name, "readings.yaml", *subject]
        done = run(environment / "bin" / "streams", *words, directory=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
        said[name] = done.stdout + done.stderr
    assert said["--version"].strip() == VERSION
    assert "3 operators" in said["compile"]
    assert "operator 1 of the application" in said["explain"]
    assert "PE 0, host 0" in said["graph"]
    assert "readings can run" in said["check"]
