"""A full spec compiles; edited anyhow, it compiles or is refused, without a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.model.spec_texts import FULL

LINES = [str(line) for line in FULL.splitlines()]
PIECES = [
    "null",
    "[]",
    "{}",
    "5",
    "-1",
    "x",
    "''",
    "[a, b]",
    "{a: b}",
    "true",
    "1e9",
    "${width}",
    "*a",
    "&a",
    "!!int x",
]
PIECES += [
    ":",
    "- ",
    "  ",
    "]",
    "}",
    '"',
    "byChannel()",
    "${getChannel()}",
    "Src",
    "Out",
    "Comp1",
    "parallel",
    "\t",
    "é",
]


@st.composite
def edited(draw: st.DrawFn) -> str:
    """Return the full spec with some lines and words dropped, doubled, moved or replaced."""
    lines: list[str] = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        line = draw(st.integers(0, len(lines) - 1))
        match draw(st.integers(0, 5)):
            case 0:
                del lines[line]
            case 1:
                lines.insert(line, lines[draw(st.integers(0, len(lines) - 1))])
            case 2:
                lines[line] = draw(st.sampled_from(["", " ", "   "])) + lines[line]
            case 3:
                head, colon, _ = lines[line].partition(":")
                lines[line] = head + colon + " " + draw(st.sampled_from(PIECES))
            case 4:
                words = lines[line].split(" ")
                words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from(PIECES))
                lines[line] = " ".join(words)
            case _:
                place = draw(st.integers(0, len(lines[line])))
                lines[line] = lines[line][:place] + draw(st.characters()) + lines[line][place + 1 :]
        if not lines:
            break
    return "\n".join(lines)


@examples(300)
@given(edited())
def test_edited_specs_compile_or_are_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "edited.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        compilation = compile_spec(path)
    except ApplicationError as error:
        diagnostics = error.diagnostics
        assert any(each.severity == "error" for each in diagnostics)
    else:
        diagnostics = compilation.diagnostics
        assert all(each.severity == "warning" for each in diagnostics)


def test_the_full_spec_compiles(tmp_path: Path) -> None:
    path = tmp_path / "full.yaml"
    path.write_text(FULL)
    actual = compile_spec(path).diagnostics
    assert [each.code for each in actual] == ["SO0111"]
