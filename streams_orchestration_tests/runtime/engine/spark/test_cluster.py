"""The parts of a session on a cluster, and the files that travel to its executors; nothing here runs Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streams_orchestration.compiler.pe_program import Task
from streams_orchestration.runtime.engine.spark.cluster import PYTHON, cluster_settings, ship
from streams_orchestration.runtime.engine.spark.frames.query import require_local
from streams_orchestration.runtime.engine.spark.jvm import submit_arguments
from streams_orchestration.runtime.engine.spark.owners import Worker
from streams_orchestration.runtime.engine.spark.query import ScratchQuery, reason
from streams_orchestration.runtime.engine.spark.session_settings import AUTHENTICATE, session_settings
from streams_orchestration.runtime.engine.spark.stages import AGAIN
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.programs.batches import TaskResult
from streams_orchestration.runtime.queries.scratch import Launched, Scratch
from streams_orchestration.runtime.settings.settings import OURS, EngineSettings, SettingError, Settings
from streams_orchestration.runtime.tasks.task_results import answered, give_answer, take_answers

pytestmark = pytest.mark.slow

MASTER = "spark://north:7077"


SECRET = "spark.authenticate.secret planted"


def settings(directory: Path, text: str = "", master: str = MASTER) -> EngineSettings:
    conf = directory / "spark.conf"
    conf.write_text(f"{text}\n{SECRET}")
    return EngineSettings("1g", master, str(conf))


def made(directory: Path, text: str = "") -> dict[str, str]:
    local = session_settings("app-0", directory, memory="1g")
    return cluster_settings(local, settings(directory, text), [directory / "python"], directory / "workers")


def test_nothing_listens_beyond_this_machine_unless_named(tmp_path: Path):
    assert {made(tmp_path)[f"spark.driver.{name}"] for name in ("host", "bindAddress")} == {"127.0.0.1"}


def test_an_address_that_is_named_is_where_executors_reach_the_driver(tmp_path: Path):
    there = made(tmp_path, "spark.driver.host 10.0.0.7")
    assert there["spark.driver.bindAddress"] == there["spark.executorEnv.STREAMS_DRIVER"] == "10.0.0.7"


def test_the_driver_binds_to_another_address_if_that_is_named_too(tmp_path: Path):
    there = made(tmp_path, "spark.driver.host=driver.example\nspark.driver.bindAddress=0.0.0.0")
    assert (there["spark.driver.host"], there["spark.driver.bindAddress"]) == ("driver.example", "0.0.0.0")


def test_properties_that_the_runtime_needs_cannot_be_changed(tmp_path: Path):
    there = made(tmp_path, "spark.executor.memory 2g\nspark.files /etc/one")
    assert there["spark.master"] == MASTER
    assert (there["spark.task.maxFailures"], there["spark.speculation"]) == ("1", "false")
    assert there["spark.executor.memory"] == "2g"
    assert there["spark.files"] == f"{tmp_path / 'python'},/etc/one"


def test_a_secret_is_on_no_command_line(tmp_path: Path):
    text = "spark.files /etc/one"
    arguments = submit_arguments(made(tmp_path, text), settings(tmp_path, text))
    assert "planted" not in " ".join(arguments)
    assert arguments[:2] == ["--properties-file", str(tmp_path / "spark.conf")]
    assert f"spark.files={tmp_path / 'python'},/etc/one" in arguments
    assert f"spark.master={MASTER}" in arguments


@pytest.mark.parametrize("name", OURS)
def test_a_property_that_the_runtime_sets_is_refused_in_the_file(tmp_path: Path, name: str):
    with pytest.raises(SettingError, match=f":2: a file without {name}"):
        settings(tmp_path, f"# mine\n{name} 4\n").properties()


@pytest.mark.parametrize("line", ["spark.executor.memory", "executor.memory 2g", "--conf spark.executor.memory=2g"])
def test_a_line_that_is_no_property_is_named(tmp_path: Path, line: str):
    with pytest.raises(SettingError, match=r"spark\.conf:1: `spark\.NAME VALUE`"):
        settings(tmp_path, line).properties()


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("", {}),
        ("\n  # spark.a b\n", {}),
        ("spark.a b", {"spark.a": "b"}),
        ("spark.a=b=c", {"spark.a": "b=c"}),
        ("  spark.a : b c  ", {"spark.a": "b c"}),
        ("spark.a\tb\nspark.a c", {"spark.a": "c"}),
    ],
)
def test_properties_are_read_as_spark_reads_them(tmp_path: Path, text: str, properties: dict[str, str]):
    assert settings(tmp_path, text).properties() == properties | {"spark.authenticate.secret": "planted"}


@pytest.mark.parametrize("conf", ["", "spark.authenticate true", "spark.executor.memory 2g"])
@pytest.mark.parametrize("master", [MASTER, f"gpu={MASTER}", f"local gpu={MASTER}"])
def test_a_standalone_cluster_without_a_secret_is_refused(
    tmp_path: Path, conf: str, master: str, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "spark.conf").write_text(conf)
    monkeypatch.setenv("STREAMS_MASTER", master)
    monkeypatch.setenv("STREAMS_SPARK_CONF", str(tmp_path / "spark.conf") if conf else "")
    with pytest.raises(SettingError, match=r"STREAMS_SPARK_CONF=.*spark\.authenticate\.secret.*spark://north:7077"):
        Settings.from_environment()


@pytest.mark.parametrize(
    ("master", "text", "authenticated"),
    [
        (MASTER, SECRET, "true"),
        (MASTER, "spark.authenticate false", "false"),
        ("yarn", "", "true"),
        ("k8s://https://k:443", "", "true"),
    ],
)
def test_the_driver_asks_executors_for_a_secret_unless_that_is_ruled_out(
    tmp_path: Path, master: str, text: str, authenticated: str
):
    conf = tmp_path / "spark.conf"
    conf.write_text(text)
    engine = EngineSettings("1g", master, str(conf))
    made = cluster_settings(session_settings("app-0", tmp_path, memory="1g"), engine, [], tmp_path / "workers")
    assert made[AUTHENTICATE] == authenticated


@pytest.mark.parametrize(
    ("master", "tags", "wanted"),
    [
        ("local", (), "local"),
        (MASTER, ("gpu",), MASTER),
        ("gpu=yarn", (), "local"),
        ("gpu=yarn", ("ssd", "gpu"), "yarn"),
        (f"{MASTER} gpu=k8s://https://k:443", ("gpu",), "k8s://https://k:443"),
        (f"gpu=local {MASTER}", ("gpu",), "local"),
        (f"gpu=local {MASTER}", (), MASTER),
    ],
)
def test_each_host_has_the_master_of_its_pool(master: str, tags: tuple[str, ...], wanted: str):
    assert Settings(master=master).engine(tags).master == wanted


def test_executors_run_this_product(tmp_path: Path):
    directory = tmp_path / "shipped"
    script, archive = ship(directory, None)
    assert script == directory / PYTHON
    code = "import streams_orchestration.runtime.tasks.execution as e, sys; print(e.__file__, sys.argv[1])"
    run = [str(script), "-c", code, "a b"]
    output = subprocess.run(run, cwd=directory, check=True, capture_output=True, text=True).stdout
    module, argument = output.split(maxsplit=1)
    assert module.rstrip("c") == f"{archive}/streams_orchestration/runtime/tasks/execution.py", "as bytecode or source"
    assert argument == "a b\n"


def test_executors_have_the_python_that_is_named(tmp_path: Path):
    ship(tmp_path, sys.executable.replace("python", "py thon"))
    assert "'" in (tmp_path / "python").read_text()


def test_a_task_that_has_answered_is_known(tmp_path: Path):
    task = Task(1, 2, 0, (), (), ())
    assert not answered(str(tmp_path), 7, task)
    give_answer(str(tmp_path), 7, TaskResult(1, 2))
    assert [answered(str(tmp_path), batch, task) for batch in (6, 7, 8)] == [False, True, False]


def test_answers_are_those_of_the_batch_and_gone_afterwards(tmp_path: Path):
    tasks = [Task(0, 0, 0, (), (), ()), Task(1, 0, 1, (), (), ()), Task(1, 1, 2, (), (), ())]
    for batch, level, partition in ((7, 0, 0), (7, 1, 1), (70, 1, 0)):
        give_answer(str(tmp_path), batch, TaskResult(level, partition, rows_in=batch))
    taken = [(each.level, each.partition, each.rows_in) for each in take_answers(str(tmp_path), 7, tasks)]
    assert taken == [(0, 0, 7), (1, 1, 7)]
    assert [path.name for path in tmp_path.iterdir()] == ["70-1-0.json"]


def test_queries_of_sparks_own_are_refused(tmp_path: Path):
    program: Any = SimpleNamespace(tasks=[SimpleNamespace(home=3)], operators={3: SimpleNamespace(name="Joined")})
    require_local(program, elsewhere=False)
    with pytest.raises(OperatorError, match=r"Joined.*here=local"):
        require_local(program, elsewhere=True)


class Waiting(ScratchQuery):
    @property
    def active(self) -> bool:
        return True


@pytest.mark.parametrize("apart", [False, True])
def test_on_a_cluster_a_task_without_an_answer_is_no_hang(tmp_path: Path, apart: bool):
    scratch = Scratch.create(tmp_path / "scratch", Launched(*[None] * 2, apart=apart))  # type: ignore[list-item]
    Worker(lambda request: request).run(scratch.owner(0, 0), None)
    scratch.mark_planned(1)
    start: Any = SimpleNamespace(generation=1, make_scratch=lambda **_: scratch)
    assert Waiting(start, apart=apart).busy() == ([] if apart else [os.getpid()])


@pytest.mark.parametrize(
    "text",
    [
        "Lost task 0.0 in stage 3.0 (TID 9): ExecutorLostFailure (executor 1 exited unrelated to the running tasks)",
        "Job aborted: FetchFailed(null, shuffleId=4, mapIndex=-1)",
        f"StreamsRuntimeError: {AGAIN}",
    ],
)
def test_a_lost_executor_is_named_as_such(text: str):
    assert "executor of the Spark cluster" in reason(text)


def test_an_executor_that_does_not_share_the_state_directory_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("STREAMS_WORKERS", str(tmp_path / "python-0" / "workers"))
    monkeypatch.setenv("STREAMS_DRIVER", "127.0.0.1")
    monkeypatch.setenv("STREAMS_MACHINE", "north")
    with pytest.raises(StreamsRuntimeError, match=rf"north .* no {tmp_path}/python-0: .*Mount it") as refused:
        Worker(str).announce()
    text = f"Caused by: PythonException\n{StreamsRuntimeError.__module__}.StreamsRuntimeError: {refused.value}\n  at x"
    assert str(refused.value) in reason(text), "status shows it whole"
    (tmp_path / "python-0").mkdir()
    Worker(str).announce()
    assert list((tmp_path / "python-0" / "workers").iterdir())
