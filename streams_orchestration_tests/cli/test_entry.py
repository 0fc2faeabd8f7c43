from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import click
import pytest

from streams_orchestration.cli import command as classes
from streams_orchestration.cli import entry, main
from streams_orchestration.cli.invocation import current
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic
from streams_orchestration.operators.loading.import_path import ImplementationError
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError

Capture = pytest.CaptureFixture[str]
COMMANDS = ["compile", "run", "deploy", "redeploy", "cancel", "reset", "status", "logs", "graph", "lineage", "ui"]


def failing_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def fail() -> None:
        raise error

    monkeypatch.setitem(entry.streams.commands, "fail", fail)


def test_help_lists_all_commands(capsys: Capture):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert [
        line.split()[0] for line in out.splitlines() if line.startswith("  ") and line.split()[0] in COMMANDS
    ] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_in_a_line_each(command: str, capsys: Capture):
    assert main([command, "--help"]) == 0
    assert f"Usage: streams {command}" in capsys.readouterr().out


def test_no_command_shows_help_and_is_a_wrong_command_line(capsys: Capture):
    assert main([]) == 2
    assert "Usage: streams" in capsys.readouterr().err


def test_an_unknown_command_is_one_line(capsys: Capture):
    assert main(["compil"]) == 2
    assert "No such command 'compil'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [StreamsRuntimeError, ImplementationError])
def test_errors_that_a_user_can_mend_are_their_message_alone(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    failing_with(kind("x: no. Do y."), monkeypatch)
    assert main(["fail"]) == 1
    assert capsys.readouterr().err == "x: no. Do y.\n"


def test_diagnostics_are_shown_with_their_remedy(monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    diagnostic = Diagnostic.of("SO0003", "the file is empty", location="a.yaml:1")
    failing_with(ApplicationError([diagnostic]), monkeypatch)
    assert main(["fail"]) == 1
    assert capsys.readouterr().err == f"a.yaml:1: error SO0003: the file is empty\n    {diagnostic.remedy}\n"


def test_other_errors_have_no_traceback_unless_asked_for(monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    failing_with(ValueError("odd"), monkeypatch)
    monkeypatch.delenv("STREAMS_TRACEBACK", raising=False)
    assert main(["fail"]) == 1
    err = capsys.readouterr().err
    assert "ValueError: odd" in err
    assert "`-v` shows where it comes from" in err
    assert "Traceback (" not in err
    monkeypatch.setenv("STREAMS_TRACEBACK", "1")
    assert main(["fail"]) == 1
    assert "Traceback (" in capsys.readouterr().err


def test_an_interrupt_has_its_own_status(monkeypatch: pytest.MonkeyPatch):
    failing_with(KeyboardInterrupt(), monkeypatch)
    assert main(["fail"]) == 130


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("redeploy", "`streams redeploy SPEC --dry-run` shows what still differs."),
        ("deploy", "`streams status app` shows how far it is."),
    ],
)
def test_an_interrupt_says_where_its_effect_is_seen(
    name: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    @classes.command(name)
    def interrupted() -> None:
        current().application = "app"
        raise KeyboardInterrupt

    monkeypatch.setitem(entry.streams.commands, name, interrupted)
    assert main([name]) == 130
    assert said in capsys.readouterr().err


PROGRAM = """
import atexit, os, sys, threading, types
from streams_orchestration.cli import main

leave = os._exit
os._exit = lambda status: print("left at once", flush=True) or leave(status)
files = sys.modules["pyarrow.fs"] = types.ModuleType("pyarrow.fs")
files.ensure_s3_finalized = lambda: print("finalized", flush=True)
atexit.register(files.ensure_s3_finalized)  # as the module does it when a command loads it
if "{thread}":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
sys.argv[1:] = ["{command}"]
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("thread", ["runs on", ""])
@pytest.mark.parametrize(
    ("command", "status", "said"),
    [("--version", 0, importlib.metadata.version("streams-orchestration")), ("compil", 2, "No such command")],
)
def test_a_process_ends_with_its_status_and_leaves_at_once_if_a_thread_runs_on(
    thread: str, command: str, status: int, said: str
):
    program = PROGRAM.format(thread=thread, command=command)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert said in done.stdout + done.stderr
    assert ("left at once" in done.stdout) is bool(thread)
    assert ("finalized" in done.stdout) is not bool(thread), "the thread may be in Arrow's client of S3"
