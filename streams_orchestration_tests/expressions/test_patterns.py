"""Regular expressions are those of Java as far as Python has them; others are refused in our words."""

from __future__ import annotations

import pytest

from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.functions.patterns import compiled


def test_a_class_of_characters_is_taken_as_it_is_written():
    assert compiled("[(?<n>]").fullmatch("P") is None
    assert compiled("[(?<n>]").fullmatch("<") is not None


@pytest.mark.parametrize(("pattern", "fault"), [
    ("(", "( is not closed, at character 1"),
    ("[a", "[ is not closed, at character 1"),
    ("a)", ") closes nothing, at character 2"),
    ("*a", "nothing is before the quantifier, at character 1"),
    ("a{2,1}", "the least number of repetitions is greater than the most"),
    ("(?<n>a)", "the group has an unknown kind"),
    ("a{99999999999}", "a number of repetitions is too large"),
    ("(" * 9999 + ")" * 9999, "it is nested too deeply"),
], ids=lambda text: text[:20])  # fmt: skip
def test_a_wrong_regular_expression_is_refused_with_its_fault(pattern: str, fault: str):
    with pytest.raises(EvaluationError) as error:
        compiled(pattern)
    assert fault in str(error.value)
