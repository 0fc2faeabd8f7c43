"""The canonical text of a tree is read as an equal tree."""

from __future__ import annotations

import pytest
from hypothesis import given

from streams_orchestration.spl.language.definitions import CompilationUnit
from streams_orchestration.spl.language.expressions import expression_of
from streams_orchestration.spl.language.parsing import parse
from streams_orchestration.spl.language.printing import text_of
from streams_orchestration.spl.language.recovery import FaultError
from streams_orchestration.spl.language.tree import Expression
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.spl.generation import EXPRESSIONS, UNITS
from streams_orchestration_tests.spl.programs import WELL_FORMED
from streams_orchestration_tests.spl.unit_texts import text_of_unit


@pytest.mark.slow
@examples(500)
@given(EXPRESSIONS)
def test_the_text_of_an_expression_is_read_as_the_same_expression(expression: Expression):
    assert expression_of(text_of(expression)) == expression


@pytest.mark.slow
@examples(150)
@given(UNITS)
def test_the_text_of_a_file_is_read_as_the_same_file(unit: CompilationUnit):
    parsed = parse(text_of_unit(unit))
    assert parsed.findings == ()
    assert parsed.unit == unit


@pytest.mark.parametrize("name", WELL_FORMED)
def test_the_text_of_a_program_is_read_as_the_same_program(name: str):
    unit = parse(WELL_FORMED[name]).unit
    text = text_of_unit(unit)
    assert parse(text).unit == unit
    assert text_of_unit(parse(text).unit) == text


@pytest.mark.parametrize(("written", "canonical"), [
    ("n%2==1", "n % 2 == 1"),
    ("(n) /* none */ * ( m )", "n * m"),
    ("(a + b) * c - (d - e)", "(a + b) * c - (d - e)"),
    ("((a - b) - c)", "a - b - c"),
    ("a in b && c | d in e", "a in b && c | d in e"),
    ("a & b == c", "a & b == c"),
    ("(a ?: b) ?: c", "(a ?: b) ?: c"),
    ("a ? b : c ? d : e", "a ? b : c ? d : e"),
    ("(a ? b : c) ? d : e", "(a ? b : c) ? d : e"),
    ("- -a - --b", "- -a - --b"),
    ("(int32)x+(T)-y", "(int32) x + (T) -y"),
    ("a=b=c", "a = b = c"),
    ("'say \"a\"\\n\\u0041'u", '"say \\"a\\"\\nA"u'),
    ("'\\ud83d\\ude00'", '"\U0001f600"'),
    ("{a=1,b=[2,3]}", "{a = 1, b = [2, 3]}"),
    ('{"k":1,"l":2}', '{"k" : 1, "l" : 2}'),
    ("s[ : 1 ] + s[i : ] + s[i]", "s[:1] + s[i:] + s[i]"),
    ("a >= b >> c > d", "a >= b >> c > d"),
    ("x! + y?? .+ z++", "x! + y?? .+ z++"),
    ("spl . math :: sin( x ).y", "spl.math::sin(x).y"),
    ("(list<list<int32>>)[]", "(list<list<int32>>) []"),
])  # fmt: skip
def test_a_text_has_one_canonical_form(written: str, canonical: str):
    assert text_of(expression_of(written)) == canonical


@pytest.mark.parametrize(("written", "message"), [
    ("a ? b c", "':' is missing before 'c'"),
    ("n > 1 #", "'#' is not a character of SPL"),
    ('f("a\nb" ;', "'\\)' is missing before ';'"),
    ("a b", "expected an operator, found 'b'"),
])  # fmt: skip
def test_a_text_that_is_not_an_expression_is_refused_at_its_first_fault(written: str, message: str):
    with pytest.raises(FaultError, match=message):
        expression_of(written)


def test_a_keyword_is_the_name_of_an_attribute():
    assert text_of(expression_of("f(In.map)")) == "f(In.map)"
