"""Explanations of a compiled application: one module for each kind of question, from the results of the stages."""

from streams_orchestration.compiler.explain.codes import code_explanation, is_code
from streams_orchestration.compiler.explain.explanation import Explanation, Fact, Section, UnknownSubjectError
from streams_orchestration.compiler.explain.questions import explain

__all__ = ["Explanation", "Fact", "Section", "UnknownSubjectError", "code_explanation", "explain", "is_code"]
