"""Texts of users and of data reach a terminal, a pipe or a file without control characters."""

from __future__ import annotations

import ast
import json
from io import StringIO
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

import streams_orchestration.cli
from streams_orchestration.cli.display import Display
from streams_orchestration.cli.entry import main
from streams_orchestration.cli.invocation import begun, write_json
from streams_orchestration.cli.logs import follow_logs, here
from streams_orchestration.cli.messages import error
from streams_orchestration.cli.terminal import SafeConsole, messages, rendered, results
from streams_orchestration.model.printable import printable

ESCAPE = "\x1b]0;owned\x07\x9b2J\x7f"
SHOWN = "\\u001b]0;owned\\u0007\\u009b2J\\u007f"

SPEC = f"""
specVersion: 1
application: tiny
description: "{json.dumps(ESCAPE)[1:-1]}"
operators:
  Source: {{inputs: []}}
  Sink: {{outputs: []}}
graph:
  - {{name: Src, operator: Source, parameters: {{a: "{json.dumps(ESCAPE)[1:-1]}"}}}}
  - {{name: Snk, operator: Sink, inputs: [Src]}}
"""


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (ESCAPE, SHOWN),
        ("a\tb\nc\r\nd\r", "a\tb\nc\nd"),
        ("over\rwritten", "over\\u000dwritten"),
        ("\u202egnp", "\\u202egnp"),
        ("\u200f1\u061c2\u2028error", "\\u200f1\\u061c2\\u2028error"),
        ("\ud800", "\\ud800"),
        ("Grüße • 漢字 🙂", "Grüße • 漢字 🙂"),
    ],
)
def test_control_characters_are_shown(text: str, seen: str):
    assert printable(text) == printable(seen) == seen


def is_clean(text: str) -> bool:
    return not any(each in text for each in "\x1b\x07\x9b\x7f")


@pytest.mark.parametrize("command", ["compile", "graph", "explain", "lineage", "check"])
def test_no_command_writes_a_control_character_of_a_spec(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str
):
    (tmp_path / "tiny.yaml").write_text(SPEC)
    main([command, str(tmp_path / "tiny.yaml")])
    out, err = capfd.readouterr()
    assert out + err
    assert is_clean(out)
    assert is_clean(err)


def test_a_document_has_the_same_values_without_control_characters(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    with begun([]):
        write_json({"reason": ESCAPE}, None)
        write_json({"reason": ESCAPE}, tmp_path / "file")
    for text in (capfd.readouterr().out, (tmp_path / "file").read_text()):
        assert is_clean(text)
        assert json.loads(text) == {"reason": ESCAPE}


def test_tables_and_messages_show_control_characters(capfd: pytest.CaptureFixture[str]):
    cells = (ESCAPE, Text(ESCAPE, style="bold"), Text.assemble(("x", "red"), ESCAPE))
    tables = [Table("a", "b") for _ in cells]
    for table, cell in zip(tables, cells, strict=True):
        table.add_row("x", cell)
    with begun([]):
        for table in tables:
            results().print(table)
        results().print(ESCAPE, markup=False)
        messages().print(Text(ESCAPE))
        error(ESCAPE)
    out, err = capfd.readouterr()
    assert is_clean(out)
    assert out.count("\\u009b") == 2  # styled texts in tables may be cut off, as any other
    assert err.count("\\u009b") == 2
    assert is_clean(err)
    assert "\x9b" not in rendered(tables[0], colour=True)


@pytest.mark.parametrize("text", ["[link=http://else.where]x[/link]", "[/]", "[red]x", ":warning:"])
def test_a_text_is_shown_as_it_is_and_never_taken_for_markup(capfd: pytest.CaptureFixture[str], text: str):
    table = Table("a", title=text)
    table.add_row(text)
    with begun([]):
        results().print(table, text)
    assert capfd.readouterr().out.count(text) == 3
    assert rendered(table, colour=True, width=60).count(text) == 2
    display = Display(SafeConsole(file=StringIO(), force_terminal=True))
    with display:
        display.show_waiting(text)


def test_a_name_with_line_ends_begins_no_line_of_its_own(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    forged = "error SO0001: all is well"
    name = json.dumps(f"Src\n{forged}")
    (tmp_path / "tiny.yaml").write_text(SPEC.replace("name: Src", f"name: {name}"))
    main(["check", str(tmp_path / "tiny.yaml")])
    lines = capfd.readouterr().err.splitlines()
    assert any(forged in line for line in lines)
    assert not any(line.startswith(forged) for line in lines)


def test_lines_of_logs_are_shown_without_control_characters(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    (tmp_path / "pe-0.log").write_text(f"{ESCAPE}\n")
    with pytest.raises(StopIteration):
        follow_logs([here(tmp_path, ["pe-0"])], iter([None]).__next__)
    assert set(capfd.readouterr().out.splitlines()) == {SHOWN}


def test_the_command_line_writes_in_one_place_only():
    root = Path(streams_orchestration.cli.__file__).parent
    wanted = {"output.py", "terminal.py"}
    found = {
        f"{path.relative_to(root)}:{node.lineno}"
        for path in root.rglob("*.py")
        if path.name not in wanted
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func)
        in {
            "click.echo",
            "click.secho",
            "print",
            "echo",
            "secho",
            "Console",
            "traceback.print_exception",
            "sys.stdout.write",
            "sys.stderr.write",
            "logging.basicConfig",
        }
    }
    assert found == set()
