"""Behaviour that all commands have in common."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from streams_orchestration.cli import main
from streams_orchestration.cli.command import COMPILER_OPTIONS, command
from streams_orchestration.cli.commands import streams
from streams_orchestration.cli.messages import detail, error, note, warning
from streams_orchestration.cli.options import CompilerOption
from streams_orchestration_tests.cli.specs import TINY

Capture = pytest.CaptureFixture[str]


def test_a_misspelt_file_is_told_the_nearest_one_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    monkeypatch.chdir(tmp_path)
    Path("flights.yaml").write_text(TINY)
    assert main(["compile", "flight.yaml"]) == 2
    assert "there is no file 'flight.yaml'; the nearest is flights.yaml." in capsys.readouterr().err
    assert main(["compile", "nowhere/flight.yaml"]) == 2
    assert "'nowhere/flight.yaml' does not exist" in capsys.readouterr().err


def test_the_list_of_commands_has_whole_sentences(capsys: Capture):
    for group in ([], ["savepoint"], ["machines"], ["catalog"]):
        assert main([*group, "--help"]) == 0
        listed = capsys.readouterr().out.partition("\nCommands:\n")[2]
        assert listed
        assert "..." not in listed


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that says something of everything."""

    @command("talk")
    def talk() -> None:
        for say in (detail, note, warning, error):
            say(say.__name__)

    monkeypatch.setitem(streams.commands, "talk", talk)


@pytest.mark.parametrize(
    ("option", "output"),
    [
        (None, ["note", "warning", "error"]),
        ("-q", ["error"]),
        ("--quiet", ["error"]),
        ("-v", ["detail", "note", "warning", "error"]),
        ("--verbose", ["detail", "note", "warning", "error"]),
    ],
)
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.usefixtures("talk")
def test_the_options_of_verbosity_choose_the_messages(
    option: str | None, output: list[str], first: bool, capsys: Capture
):
    options = [option] if option else []
    assert main([*options, "talk"] if first else ["talk", *options]) == 0
    captured = capsys.readouterr()
    assert captured.err.split() == output
    assert captured.out == ""


def test_the_name_of_an_application_in_place_of_its_spec_is_told_the_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "tiny.yaml").write_text(TINY)
    monkeypatch.chdir(tmp_path)
    assert main(["compile", "tiny"]) == 2
    assert "there is no file 'tiny'; the spec may be specs/tiny.yaml" in capsys.readouterr().err
    assert main(["compile", "tinier"]) == 2
    assert "'tinier' does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("name", [each.name for each in streams.commands.values()])
def test_options_of_the_compiler_are_a_section_of_the_help(name: str, capsys: Capture):
    declared = streams.commands[name]
    assert main([name, "--help"]) == 0
    own, _, compiler = capsys.readouterr().out.partition(f"{COMPILER_OPTIONS}:\n")
    options = [each for each in declared.params if isinstance(each, click.Option)]
    assert bool(compiler) == any(isinstance(each, CompilerOption) for each in options)
    for each in options:
        assert each.opts[0] in (compiler if isinstance(each, CompilerOption) else own)
    assert {"--quiet", "--verbose", "--help"} <= set(own.replace(",", " ").split())


SENTENCE = (
    "(Accept|Aim|Allow|Choose|Compare|Compile|Define|Deploy|Draw|Drop|Fuse|Give|Go|Have|Keep|Kill|Let|Listen|"
    r"Measure|Part|Plan|Process|Read|Refresh|Register|Reset|Restore|Search|Send|Serve|Set|Show|Solve|Split|Start|Stop|Use|"
    r"Wait|Write) [^\[]*\.( \[.*)?"
)


def declared_options(command: click.Command, name: str = "streams") -> Iterator[tuple[str, click.Option]]:
    yield from ((name, each) for each in command.params if isinstance(each, click.Option))
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from declared_options(inner, f"{name} {inner.name}")


def test_the_help_of_each_option_is_a_sentence_that_begins_with_a_verb():
    fragments = [
        f"{command} {option.opts[0]}: {option.help}"
        for command, option in declared_options(streams)
        if not re.fullmatch(SENTENCE, option.help or "")
    ]
    assert not fragments


@pytest.mark.usefixtures("talk")
def test_no_color_means_no_styles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    monkeypatch.setattr(click.utils, "should_strip_ansi", lambda *_: False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    spec = tmp_path / "tiny.yaml"
    spec.write_text(TINY)
    commands = (["talk"], ["compile", str(spec)], ["explain", str(spec), "A"])

    def shown() -> list[str]:
        for arguments in commands:
            assert main(arguments) == 0
        captured = capsys.readouterr()
        return [captured.out, captured.err]

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert all("\x1b[" in text for text in shown()), "there is something to leave out"
    monkeypatch.setenv("NO_COLOR", "1")
    assert not any("\x1b" in text for text in shown())
