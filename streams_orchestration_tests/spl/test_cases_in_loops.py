"""The logic of the cases' Customs, run as generated loops, gives the tuples that the cases expect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from streams_orchestration.spl.language import definitions
from streams_orchestration.spl.language.parsing import parse
from streams_orchestration.spl.programs.loops.ports import Environment, PortProgram
from streams_orchestration.spl.programs.outcome import PortOutput
from streams_orchestration.spl.programs.run import Run
from streams_orchestration.spl.types.types import INT32, RSTRING, Tuple, TupleAttribute
from streams_orchestration.spl.typing.checking import type_of
from streams_orchestration.spl.typing.scopes import FunctionName, Port, Scope
from streams_orchestration.spl.typing.spans import Mistake, Source
from streams_orchestration.spl.typing.statements import check_function, check_logic, signature_of

CASES = Path(__file__).parents[1] / "cases/spl"
NAMES = ["strings", "integers", "casts", "lists", "maps_sets", "control", "functions", "tuples", "optionals", "enums"]
LINE = Tuple((TupleAttribute("n", INT32), TupleAttribute("what", RSTRING), TupleAttribute("value", RSTRING)))
GO = Tuple((TupleAttribute("go", INT32),))


def compiled(name: str) -> PortProgram:
    """Return the program of the Custom of a case."""
    parsed = parse((CASES / name / "Main.spl").read_text(encoding="utf-8"))
    source, scope, mistakes = Source("Main.spl", parsed.tokens), Scope(), list[Mistake]()
    functions = list[definitions.Function]()
    for each in parsed.unit.definitions:
        if isinstance(each, definitions.Function):
            functions.append(each)
        elif not isinstance(each, definitions.Composite):
            scope.declare_type(each.name.name, type_of(each.type, scope, source, mistakes))
    signatures = [signature_of(each, "", scope, source, mistakes) for each in functions]
    for each in functions:
        same = tuple(one for one in signatures if one.name == each.name.name)
        scope.names[each.name.name] = FunctionName(same)
    bodies = [
        check_function(each, scope, source, mistakes, signature)
        for each, signature in zip(functions, signatures, strict=True)
    ]
    (composite,) = (each for each in parsed.unit.definitions if isinstance(each, definitions.Composite))
    (custom,) = (each for each in composite.graph if str(each.operator) == "Custom")
    logic, _ = check_logic(custom.logic, scope, source, mistakes, [Port("Go", GO)], [Port("Lines", LINE)])
    assert not mistakes
    environment = Environment([("Go", GO)], [LINE], logic.state, bodies)
    return PortProgram(environment, Run(), 0, dict(logic.on_tuple)[0])


@pytest.mark.parametrize("name", NAMES)
def test_the_logic_of_a_case_gives_what_it_expects(name: str):
    output = PortOutput(LINE)
    program = compiled(name)
    program({}, {each: [1] for each in program.attributes}, 1, [output])
    expected: dict[str, Any] = yaml.safe_load((CASES / name / "expected.yaml").read_text(encoding="utf-8"))
    assert [list(each.values()) for each in output.tuples()] == expected["results"]["Out"]["rows"]
