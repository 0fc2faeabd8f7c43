"""Expressions have the values of Streams, as a cast to rstring shows them, or fail the tuple."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.loops.ports import Environment, PortProgram
from streams_orchestration.spl.programs.outcome import PortOutput
from streams_orchestration.spl.programs.run import Run
from streams_orchestration_tests.spl.typed_programs import typed_program

FILE = Path(__file__).parents[1] / "cases/spl_values.yaml"
GROUPS: dict[str, list[list[str]]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
DEFINITIONS = "\n".join(text for (text,) in GROUPS.pop("definitions"))
CASES = [case for cases in GROUPS.values() for case in cases]
FAILS = "fails: "


def value_of(statements: str, expression: str) -> str:
    """Return the text of an expression behind statements."""
    body = f"{statements} submit({{value = (rstring)({expression})}}, Out);"
    program = typed_program(
        f"{DEFINITIONS} composite Main {{ graph stream<int32 go> Go = Beacon() {{ }}\n"
        f"stream<rstring value> Out = Custom(Go) {{ logic onTuple Go : {{ {body} }} }} }}"
    )
    assert program.mistakes == []
    ((logic, inputs, outputs, _),) = [each for each in program.logic if each[0].on_tuple]
    tuples = [each.type for each in outputs]
    environment = Environment([("Go", each.type) for each in inputs], tuples, logic.state, program.functions)
    run = PortProgram(environment, Run(), 0, dict(logic.on_tuple)[0])
    output = PortOutput(tuples[0])
    run({}, {each: [1] for each in run.attributes}, 1, [output])
    ((value,),) = [list(each.values()) for each in output.tuples()]
    return value


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case)[:60])
def test_an_expression_has_the_value_that_streams_gives(
    case: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    statements, expression, expected = ["", *case][-3:]
    if expected.startswith(FAILS):
        with pytest.raises(RunError) as raised:
            value_of(statements, expression)
        assert expected.removeprefix(FAILS) in str(raised.value)
    else:
        assert value_of(statements, expression) == expected
