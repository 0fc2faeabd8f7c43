"""Mistakes of names and types are found at their places, each once; programs without any have no findings."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.model.spl_codes import SPL_CODES
from streams_orchestration.spl.language.expressions import expression_of
from streams_orchestration.spl.language.parsing import parse
from streams_orchestration.spl.types.types import INT32, INT64, Tuple, TupleAttribute
from streams_orchestration.spl.typing.canonical import canonical_function, canonical_text
from streams_orchestration.spl.typing.checking import check_expression
from streams_orchestration.spl.typing.scopes import Actual, Port, Scope, TypeName, port_scope
from streams_orchestration.spl.typing.spans import Source
from streams_orchestration.spl.typing.statements import check_logic
from streams_orchestration.spl.typing.typed import Logic, PortAttribute
from streams_orchestration_tests.spl.applications import MISTAKES
from streams_orchestration_tests.spl.programs import CASES, PROGRAMS, WELL_FORMED
from streams_orchestration_tests.spl.typed_programs import TypedProgram, typed_program

RIGHT = [name for name, text in WELL_FORMED.items() if not name.startswith("wrong_") and "use com." not in text]
"""The programs that one file holds; types of toolkits are not known here."""
TYPING = yaml.safe_load((CASES / "spl_typing.yaml").read_text(encoding="utf-8"))
FAULTS = list(yaml.safe_load_all((CASES / "spl_faults.yaml").read_text(encoding="utf-8")))
LOGIC = """composite Main { graph
stream<int32 n, int64 m, rstring s, list<int32> l, map<rstring, int32> d, optional<int32> o, boolean b> In = Beacon() {}
stream<int32 n> Out = Custom(In) { logic onTuple In : {
%s
} } }"""

GRAPH = """composite Main { graph
stream<int32 n, int64 m, rstring s> In = Beacon() {}
stream<int32 n, boolean b> Other = Beacon() {}
%s
}"""


def program_of(case: dict[str, Any]) -> tuple[TypedProgram, int]:
    if case["in"] == "logic":
        return typed_program(LOGIC % case["text"]), 3
    if case["in"] == "graph":
        return typed_program(GRAPH % case["text"]), 3
    return typed_program(case["text"]), 0


@pytest.mark.parametrize("case", TYPING, ids=lambda each: each["text"][:40])
def test_each_mistake_is_found_at_its_place_and_nothing_else(case: dict[str, Any]):
    program, before = program_of(case)
    found = [f"{each.span.line - before}:{each.span.column} {each.code}" for each in program.mistakes]
    assert sorted(found) == sorted(case["findings"]), [each.message for each in program.mistakes]
    text = " ".join(each.message for each in program.mistakes)
    assert [word for word in case.get("words", ()) if str(word) not in text] == []


def test_every_code_of_a_program_has_a_case():
    raised = {finding.split()[1].rstrip(":") for case in (*TYPING, *FAULTS) for finding in case["findings"]}
    raised |= {finding.split()[1] for case in MISTAKES for finding in case["findings"]}
    raised.add("SO0707")  # test_applications has it, with a smaller limit
    assert SPL_CODES.keys() - raised == set()


@pytest.mark.parametrize("name", RIGHT)
def test_a_program_without_mistakes_is_typed(name: str):
    """The composites of a program are not known here, so neither are their streams."""
    assert [f"{each.span}: {each.message}" for each in typed_program(WELL_FORMED[name]).mistakes] == []


def same_logic(logic: Logic, inputs: tuple[Port, ...], outputs: tuple[Port, ...], scope: Scope) -> Logic:
    """Return the logic that its canonical text is read as."""
    labels = [port.label for port in inputs]
    state = f"state : {{ {canonical_text(logic.state)} }}" if logic.state else ""
    handlers = [f"onTuple {labels[number]} : {canonical_text(body)}" for number, body in logic.on_tuple]
    handlers += [f"onPunct {labels[number]} : {canonical_text(body)}" for number, body in logic.on_mark]
    if logic.process is not None:
        handlers.append(f"onProcess : {canonical_text(logic.process)}")
    parts = " ".join([state, *handlers])
    parsed = parse(f"composite M {{ graph () as A = Custom() {{ logic {parts} }} }}")
    assert parsed.findings == ()
    mistakes = []
    composite: Any = parsed.unit.definitions[0]
    written = composite.graph[0].logic
    again, _ = check_logic(written, scope, Source("", parsed.tokens), mistakes, inputs, outputs)
    assert mistakes == []
    return again


@pytest.mark.parametrize("name", RIGHT)
def test_canonical_text_is_read_as_the_same_typed_tree(name: str):
    program = typed_program(WELL_FORMED[name])
    for logic, inputs, outputs, scope in program.logic:
        if logic.state or logic.on_tuple or logic.on_mark or logic.process:
            assert same_logic(logic, inputs, outputs, scope) == logic
    for function in program.functions:
        text = canonical_function(function)
        again = typed_program("\n".join([*map(canonical_function, program.functions)]))
        assert text in map(canonical_function, again.functions)
        assert function in again.functions
    for expression, scope in program.expressions:
        text = canonical_text(expression)
        assert check_expression(expression_of(text), scope, Source.of(text), []) == expression


# --- random expressions

PORT = Port(
    "In",
    Tuple(tuple(TupleAttribute(name, type_) for name, type_ in (("n", INT32), ("m", INT64)))),
    ("In",),
)
SCOPE = port_scope(Scope(), (PORT,))
_LEAVES = """
    n m In.n true false null 1 2l 3ub 1.5 2.0w 'a' 'b'u [] {} [1,2] [null,3] {'k':1} {1,2} {a=1,b='x'} -1 -2147483648
"""
_OPERATORS = "+ - * / % & | ^ && || == != < <= << >> in ?: .+ .=="
_TYPES = "int32 int64 float64 rstring optional<int32> list<int32> boolean enum{a,b} uint8"
LEAVES = st.sampled_from(_LEAVES.split())


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators, types = st.sampled_from(_OPERATORS.split()), st.sampled_from(_TYPES.split())
    return st.one_of(
        st.tuples(inner, operators, inner).map(lambda each: f"({' '.join(each)})"),
        st.tuples(types, inner).map(lambda each: f"(({each[0]}) {each[1]})"),
        st.tuples(st.sampled_from(["-", "!", "~"]), inner).map(lambda each: f"({each[0]} {each[1]})"),
        st.tuples(inner, inner, inner).map(lambda each: f"({each[0]} ? {each[1]} : {each[2]})"),
        st.tuples(inner, st.sampled_from(["!", "??", "[0]", "[1:]", ".a"])).map(lambda each: f"({each[0]}){each[1]}"),
        st.tuples(st.sampled_from(["size", "length", "abs", "has", "max", "insert"]), inner, inner).map(
            lambda each: f"{each[0]}({each[1]}, {each[2]})"
        ),
        st.lists(inner, max_size=2).map(lambda each: f"[{', '.join(each)}]"),
    )


@given(st.recursive(LEAVES, larger, max_leaves=8))
def test_a_random_expression_has_one_meaning(text: str):
    """A tree without mistakes is read from its canonical text again; one with mistakes raises nothing."""
    mistakes = []
    typed = check_expression(expression_of(text), SCOPE, Source.of(text), mistakes)
    if not mistakes and str(typed.type) not in ("unknown", "list<unknown>", "list<list<unknown>>"):
        canonical = canonical_text(typed)
        again = check_expression(expression_of(canonical), SCOPE, Source.of(canonical), mistakes)
        assert not mistakes
        assert again == typed
        assert canonical_text(again) == canonical


@given(st.sampled_from(sorted(PROGRAMS)), st.data())
def test_a_damaged_program_raises_nothing(name: str, data: st.DataObject):
    source = Source.of(PROGRAMS[name])
    offsets = source.tokens.offsets
    at = data.draw(st.integers(0, len(offsets) - 2))
    other = data.draw(st.sampled_from([";", "(", "1", "n", "mutable", "Src", "{", "=", "'x'", "int32"]))
    typed_program(PROGRAMS[name][: offsets[at]] + other + PROGRAMS[name][offsets[at + 1] :])


def test_an_expression_that_is_too_deep_for_the_stack_is_a_mistake():
    text = "n + " * 150 + "n"
    written, mistakes, limit = expression_of(text), [], sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 200)
    try:
        check_expression(written, SCOPE, Source.of(text), mistakes)
    finally:
        sys.setrecursionlimit(limit)
    assert [each.code for each in mistakes] == ["SO0701"]


# --- actuals


def actual(text: str, scope: Scope, mode: str = "expression") -> Actual:
    return Actual(mode, (expression_of(text),), Source.of(text), scope)


def test_an_actual_is_one_unit_with_the_names_of_its_caller():
    caller = port_scope(Scope(), (Port("Src", PORT.type),))
    inside = port_scope(Scope(names={"$k": actual("n + 1", caller), "$a": actual("m", caller, "attribute")}), (PORT,))
    mistakes = []
    typed = check_expression(expression_of("$k * 2"), inside, Source.of("$k * 2"), mistakes)
    assert canonical_text(typed) == "(In.n + 1) * 2"
    attribute = check_expression(expression_of("$a"), inside, Source.of("$a"), mistakes)
    assert isinstance(attribute, PortAttribute)
    assert (attribute.port, attribute.name, mistakes) == ("In", "m", [])


def test_functions_and_types_are_actuals_too():
    caller = Scope(names={"T": TypeName(INT64)})
    names = {"$f": actual("abs", caller, "function"), "$T": actual("T", caller, "type")}
    mistakes = []
    typed = check_expression(expression_of("$f(($T) 5)"), Scope(names=dict(names)), Source.of("$f(($T) 5)"), mistakes)
    assert (canonical_text(typed), mistakes) == ("abs(5l)", [])


def test_an_actual_that_has_no_meaning_is_found_where_it_is_written():
    inside = Scope(names={"$k": actual("n + 1", Scope())})
    mistakes = []
    check_expression(expression_of("1 + $k"), inside, Source.of("1 + $k"), mistakes)
    assert [(each.code, each.span.column, each.span.source.tokens.text) for each in mistakes] == [
        ("CDISP0053E", 1, "n + 1")
    ]


def test_actuals_that_stand_for_one_another_end():
    scope = Scope()
    scope.names["$k"] = actual("$k + 1", scope)
    mistakes = []
    check_expression(expression_of("$k"), scope, Source.of("$k"), mistakes)
    assert [each.code for each in mistakes] == ["SO0701"]
