from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.cli.entry import main
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.documents import load
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.console.plans.choices import ChoiceError, Choices
from streams_orchestration.console.plans.task import Answer, PlanRequest, answer
from streams_orchestration_tests.console.plans.specs import SPEC, write_spec

WIDER: dict[str, Any] = {"width": {"P": "3"}}


def answered(
    spec: Path, choices: object = None, before: object = None, options: Options | None = None, home: Path | None = None
) -> Answer:
    compared = None if before is None else Choices.of(before)
    return answer(PlanRequest(spec, home or spec.parent / "home", options, Choices.of(choices or {}), compared))


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    return write_spec(tmp_path)


def test_every_stage_says_what_it_decided_and_by_which_rules(spec: Path):
    answer = answered(spec)
    stages = {each["name"]: each for each in answer.document["stages"]}
    assert list(stages) == list(BY_NAME)
    for name in stages.keys() - {"logical_graph", "consistent_region_map", "event_time_map"}:
        facts = [fact for each in stages[name]["decisions"] for fact in each["facts"]]
        assert any(fact["rules"] for fact in facts), name
    assert answer.compilation is not None
    assert load(Compilation, answer.compilation).logical.application == "planned"


def test_a_change_is_compared_with_the_plan_before_in_the_words_of_diff(spec: Path, capsys: pytest.CaptureFixture[str]):
    document = answered(spec, WIDER, {}).document
    assert main(["diff", str(spec), "--to", "P=3"]) == 0
    table = " ".join(capsys.readouterr().out.split())
    comparison = document["comparison"]
    assert comparison["changes"] == [("width", "P", "2 -> 3")]
    for text in (*comparison["sentences"], *(" ".join(filter(None, row)) for row in comparison["rows"])):
        assert " ".join(text.split()) in table
    figures = {each["name"]: each for each in document["stages"][1]["figures"]}
    assert (figures["operators"]["before"], figures["operators"]["value"]) == (4, 5)


@pytest.mark.parametrize(
    ("choices", "changes"),
    [
        ({"options": {"fusion": "legacy"}}, [("option", "--fusion", "automatic -> legacy")]),
        ({"options": {"pes": "2", "fusion": "manual"}},
         [("option", "--fusion", "automatic -> manual"), ("option", "--pes", "none -> 2")]),
        ({"set": {"width": "4"}}, [("value", "width", "as declared -> 4"), ("width", "P", "2 -> 4")]),
        ({"faithful": True}, [("option", "--faithful", "false -> true")]),
    ],
)  # fmt: skip
def test_changed_options_are_named_in_the_comparison(
    spec: Path, choices: object, changes: Sequence[tuple[str, str, str]]
):
    assert answered(spec, choices, {}).document["comparison"]["changes"] == changes


def test_nothing_is_compared_where_nothing_was_changed(spec: Path):
    assert "comparison" not in answered(spec, WIDER, WIDER).document


@pytest.mark.parametrize(
    ("choices", "flags"),
    [
        ({"width": {"P": "0"}}, ["--width", "P=0"]),
        ({"width": {"P": "9" * 100}}, ["--width", f"P={'9' * 100}"]),
        ({"options": {"fusion": "none"}}, ["--fusion", "none"]),
        ({"options": {"pes": "0"}}, ["--pes", "0"]),
        ({"options": {"pe_capacity": "nan"}}, ["--pe-capacity", "nan"]),
        ({"set": {"wid th": "1"}}, ["--set", "wid th=1"]),
    ],
)
def test_a_value_is_refused_in_the_words_of_the_command_line(
    spec: Path, capsys: pytest.CaptureFixture[str], choices: object, flags: list[str]
):
    with pytest.raises(ChoiceError) as refused:
        answered(spec, choices)
    assert main(["compile", str(spec), *flags]) == 2
    assert str(refused.value) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("choices", "flags"),
    [
        ({"set": {"width": "many"}}, ["--set", "width=many"]),
        ({"set": {"widht": "1"}}, ["--set", "widht=1"]),
        ({"width": {"Q": "2"}}, ["--width", "Q=2"]),
    ],
)
def test_an_error_of_the_spec_has_its_place_and_remedy(
    spec: Path, capsys: pytest.CaptureFixture[str], choices: object, flags: list[str]
):
    document = answered(spec, choices).document
    assert main(["compile", str(spec), *flags]) == 1
    printed = capsys.readouterr().err
    (finding,) = document["diagnostics"]
    assert finding["text"] in printed
    assert finding["remedy"] in printed
    assert "stages" not in document
    assert [each["name"] for each in document["controls"]["set"]] == ["width", "where"]


def test_a_spec_that_cannot_be_read_has_its_line(tmp_path: Path):
    (finding,) = answered(write_spec(tmp_path, "graph: [\n")).document["diagnostics"]
    assert "planned.yaml:" in finding["text"]


@pytest.mark.parametrize("text", ["/etc/passwd", "package://antigravity/x", ""])
def test_a_text_is_set_where_the_console_is_started(spec: Path, text: str):
    with pytest.raises(ChoiceError, match=r"where is a text.*--set where=VALUE"):
        answered(spec, {"set": {"where": text}})
    started = Options(submission={"where": "there"})
    values = {each["name"]: each for each in answered(spec, {}, options=started).document["controls"]["set"]}
    assert (values["where"]["value"], values["where"]["fixed"]) == ("there", True)


@pytest.mark.parametrize(
    "document",
    [[], "x", {"profile": "/etc/passwd"}, {"width": []}, {"width": {"P": 3}}, {"set": {"x": "1" * 1000}},
     {"options": {"decoupling": "file"}}, {"options": {"profile": "file"}}, {"faithful": "yes"},
     {"set": {f"v{number}": "1" for number in range(1000)}}],
)  # fmt: skip
def test_choices_are_texts_for_what_may_be_chosen(document: object):
    with pytest.raises(ChoiceError):
        Choices.of(document)


def test_secrets_among_the_values_are_hidden(tmp_path: Path):
    spec = write_spec(tmp_path, SPEC.replace("where:", "password:").replace("${where}", "${password}"))
    assert "planted" not in str(
        answered(spec, {}, options=Options(submission={"password": "planted"})).document["controls"]
    )
