"""Explanations: the cases as data, questions that lead nowhere, and that nothing in an application is unexplained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application, compile_spec
from streams_orchestration.compiler.explain import Explanation, UnknownSubjectError, code_explanation, explain
from streams_orchestration.compiler.explain.decisions import MAX_LISTED_DECISIONS, decisions
from streams_orchestration.compiler.explain.lookup import CompilationIndex
from streams_orchestration.compiler.explain.placement import together_or_apart
from streams_orchestration.compiler.explain.threads import threads_into
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.redeployment.preview import preview
from streams_orchestration.compiler.stage import PARALLEL
from streams_orchestration.model.diagnostics import CODES, Diagnostic
from streams_orchestration_tests.compiler.assignments import assignment
from streams_orchestration_tests.compiler.nested_applications import applications
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.specs import PLAIN, cases, graph

QUESTIONS = [
    pytest.param(case, question, id=f"{name}: {question['what']}")
    for name, case in cases("explanations.yaml").items()
    for question in case["questions"]
]


def compiled(case: dict[str, Any], tmp_path: Path) -> PlannedCompilation:
    path = tmp_path / "spec.yaml"
    head = "specVersion: 1\napplication: test\n" if "operators:" in case["spec"] else PLAIN
    path.write_text(head + case["spec"], encoding="utf-8")
    done = compile_spec(path, Options(**case.get("options", {})))
    if "machines" not in case:
        return done
    return compile_spec(path, Options(**case.get("options", {}), decoupling=assignment(done, case["machines"])))


def said(explanation: Explanation) -> list[str]:
    return [f"{fact.text} [{fact.rules}]" for section in explanation.sections for fact in section.facts]


@pytest.mark.parametrize(("case", "question"), QUESTIONS)
def test_the_answer_says_what_a_case_wants(case: dict[str, Any], question: dict[str, Any], tmp_path: Path):
    explanation = explain(compiled(case, tmp_path), question["what"])
    facts = said(explanation)
    assert [line for line in question["says"] if line not in facts] == [], facts
    if "question" in question:
        assert explanation.question == question["question"]


STATES = """\
operators: {}
schemas: {Row: "k string, g int"}
graph:
  - name: S
    operator: Beacon
    outputs: [{stream: S, schema: Row}]
  - name: X
    operator: OPERATOR
    inputs: [S]
    outputs: [{stream: X, schema: Row}]
    parameters: PARAMETERS
    annotations: {parallel: {width: WIDTH, partitionBy: [{port: in0, attributes: [ATTRIBUTE]}]}}
  - {name: K, operator: FileSink, inputs: [X], parameters: {file: out}}
"""
REFUSED = {
    "positions in a channel": ("DeDuplicate", "{key: k, count: 5}", "k"),
    "keys without what it is split by": ("DeDuplicate", "{key: k}", "g"),
    "windows that are not partitioned": (
        "Aggregate", "{window: 'tumbling, count(5)', output: {k: Max(k), g: Max(g)}}", "k"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_state_that_cannot_be_kept_is_explained_in_the_words_of_a_preview(case: str, tmp_path: Path):
    operator, parameters, attribute = REFUSED[case]

    def wide(width: int) -> PlannedCompilation:
        words = {"OPERATOR": operator, "PARAMETERS": parameters, "ATTRIBUTE": attribute, "WIDTH": str(width)}
        text = STATES
        for word, value in words.items():
            text = text.replace(word, value)
        return compiled({"spec": text}, tmp_path)

    (refused, *_) = [each for each in preview(wide(2), wide(3)).operators if each.action == "refused"]
    assert f"if the width of X changes, its state cannot be kept: {refused.text} []" in said(explain(wide(2), "X"))


def test_a_fact_names_the_line_of_the_config(tmp_path: Path):
    case = cases("explanations.yaml")["apart"]
    explanation = explain(compiled(case, tmp_path), "S A")
    isolated = explanation.sections[0].facts[0]
    line = next(n for n, text in enumerate((tmp_path / "spec.yaml").read_text().splitlines(), 1) if "Isolation" in text)
    assert isolated.location == f"{tmp_path / 'spec.yaml'}:{line}"


PLAN = compile_application(
    graph(
        {"name": "Src", "operator": "Source"},
        {"name": "Work", "operator": "Work", "inputs": ["Src"], "annotations": {"parallel": {"width": 2}}},
        {"name": "Snk", "operator": "Sink", "inputs": ["Work"]},
    )
)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("Srk", "the application has nothing called Srk; the nearest is Src"),
        ("stream Work[0].Outt", "the application has no stream called Work[0].Outt; the nearest is Work[0]"),
        ("Src Snkk", "the application has nothing called Snkk; the nearest is Snk"),
        ("Work[2]", "the application has nothing called Work[2]; the nearest is Work[1]"),
        ("PE 1", "there is no PE 1; the last is 0"),
        ("region 0", "there is no consistent region 0; the application has none"),
        ("Snk.1", "Snk has no input port 1; it has 1"),
        ("SO9999", "there is no diagnostic code SO9999"),
        ("CDISP0819", "there is no diagnostic code CDISP0819; the nearest is CDISP0819E"),
    ],
)
def test_a_name_that_is_not_there(what: str, message: str):
    with pytest.raises(UnknownSubjectError) as error:
        explain(PLAN, what)
    assert str(error.value).startswith(message)


def test_the_forms_of_a_pair_are_one():
    answers = [explain(PLAN, what) for what in ("Src Work", "Src -> Work", "Src->Work", "Src..Work", " Src  Work ")]
    assert answers == [answers[0]] * len(answers)


def test_a_pair_of_logical_names_is_about_connected_replicas():
    assert explain(PLAN, "Work Snk").question == "Operators Work[0] and Snk"
    assert explain(PLAN, "Work Work").question == "Operators Work[0] and Work[1]"


def test_a_document_lists_rules_one_by_one():
    document = explain(PLAN, "Work[1].0").document()
    facts = [fact for section in document["sections"] for fact in section["facts"]]
    assert any(fact["rules"] == ["75", "77"] for fact in facts)


def test_a_stage_with_very_many_decisions_says_that_not_all_are_listed():
    source = {"name": "S", "operator": "Source"}
    wide = [
        {"name": f"W{number}", "operator": "Work", "inputs": ["S"], "annotations": {"parallel": {"width": 1}}}
        for number in range(2 * MAX_LISTED_DECISIONS)
    ]
    listed = decisions(compile_application(graph(source, *wide)))[PARALLEL]
    assert len(listed) == MAX_LISTED_DECISIONS + 1
    assert [fact.text for fact in listed[-1].facts] == [
        f"only {MAX_LISTED_DECISIONS} different decisions are listed, and there are others"
    ]


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained_with_where_it_was_raised(code: str):
    diagnostic = Diagnostic.of(code, "here", operator="Op", location="spec:3")
    sections = {section.title: section.facts for section in code_explanation(code, [diagnostic]).sections}
    assert sections["Cause"][0].text == CODES[code].cause
    assert sections["Remedy"][0].text == CODES[code].remedy
    assert (sections["In this application"][0].text, sections["In this application"][0].location) == (
        "Op: here",
        "spec:3",
    )


@examples(40)
@given(application=applications(), data=st.data())
def test_nothing_is_unexplained(application: Any, data: st.DataObject):
    options = Options(
        fusion=data.draw(st.sampled_from(["legacy", "manual", "automatic"])),
        pes=3,
        threading=data.draw(st.sampled_from(["manual", "automatic", "dynamic", "dedicated", None])),
        channel_fusion=data.draw(st.sampled_from(["noChannelInfluence", "channelIsolation", "channelExlocation"])),
    )
    plan = compile_application(application, options)
    lookup = CompilationIndex(plan)
    operators = plan.physical.operators
    for operator in operators[:20]:
        # the threads that an explanation lists are those that the thread plan counts
        assert len(threads_into(lookup, operator.index)) == plan.threads.operators[operator.index].threads
        assert all(section.facts for section in explain(plan, operator.name).sections)
        for port in range(len(plan.logical.operators[operator.logical].inputs)):
            assert explain(plan, f"{operator.name}.{port}").sections
    for each in plan.fusion.pes:
        assert all(section.facts for section in explain(plan, f"pe {each.id}").sections)
    for name in (*lookup.splitters, *(f"stream {name}" for name in lookup.streams)):
        assert explain(plan, name).sections
    for region in plan.logical.regions:
        assert explain(plan, f"region {region.name}").sections
    for first in operators[:8]:
        for second in operators[:8]:
            if first is not second:
                assert list(together_or_apart(lookup, first.index, second.index))
                assert explain(plan, f"{first.name} {second.name}").sections
