"""An error in a decoupling problem is reported with its line, its operator and the nearest right name."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.compiler.decoupling import solve
from streams_orchestration.model.decoupling_document import read_problem
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic

HEAD = "params: {ser_per_item: 1, deser_per_item: 1}\nops:\n"


def wrong(tmp_path: Path, text: str, machines: int | None = None) -> tuple[Diagnostic, ...]:
    path = tmp_path / "problem.yaml"
    path.write_text(text)
    with pytest.raises(ApplicationError) as failure:
        solve(read_problem(path, machines))
    return failure.value.diagnostics


@pytest.mark.parametrize(
    ("operator", "code", "words"),
    [
        ("{id: src, kind: source}", "SO0601", "there are two operators src"),
        ("{id: '7', kind: source}", "SO0601", "a number and a text, which are one name in the answer"),
        ("{id: a, kind: source, cpux: 3}", "SO0007", "there is no key cpux; the nearest is cpu"),
        ("{id: a, kind: source, cpu: -3}", "SO0401", "greater than or equal to 0"),
        ("{id: a, kind: source, card: .nan}", "SO0401", "finite"),
        ("{id: a, kind: source, cpu: true}", "SO0009", "a number is expected, not true"),
        ("{id: a, kind: source, pin: true}", "SO0009", "a number is expected, not true"),
        ("{id: a, kind: source, cpu: 1.0e+308}", "SO0401", "a number of at most 1e+90 is expected"),
        ("{id: a, kind: sauce}", "SO0010", "'sauce' is not one of"),
        ("{id: 1.5, kind: source}", "SO0009", "a text or an integer is expected"),
        ("{kind: source}", "SO0008", "the key id is missing"),
        ("{id: a, kind: op}", "SO0603", "only a source or a net_recv may have none"),
        ("{id: a, kind: source, parents: [src]}", "SO0603", "which has no parents"),
        ("{id: a, kind: op, parents: [scr]}", "SO0602", "the nearest is src"),
        ("{id: a, kind: op, parents: ['7']}", "SO0602", "the nearest is the number 7"),
        ("{id: a, kind: op, parents: [snk]}", "SO0603", "a sink has no output"),
        ("{id: a, kind: tee, parents: [src, 7]}", "SO0603", "one parent, not 2"),
        ("{id: a, kind: sink, parents: [src], recv_cpu: 1}", "SO0603", "only a net_recv or a net_self receives"),
        ("{id: a, kind: sink, parents: [src], pin: 2}", "SO0604", "the last is 1"),
    ],
)
def test_a_wrong_operator(operator: str, code: str, words: str, tmp_path: Path):
    others = "- {id: src, kind: source}\n- {id: 7, kind: source}\n- {id: snk, kind: sink, parents: [src]}\n"
    (actual,) = wrong(tmp_path, f"{HEAD}{others}- {operator}\n")
    assert (actual.code, actual.location) == (code, f"{tmp_path / 'problem.yaml'}:6")
    assert words in actual.message


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ("{ser_per_item: 1}", "SO0008", "deser_per_item is missing"),
        ("{ser_per_item: 1, deser_per_item: 1, k: 0}", "SO0401", "greater than or equal to 1"),
        ("{ser_per_item: 1, deser_per_item: 1, tee: haed}", "SO0010", "not one of"),
        ("{ser_per_item: 1, deser_per_item: 1, serPerItem: 1}", "SO0007", "the nearest is ser_per_item"),
        ("{ser_per_item: 1, deser_per_item: 1, machine_budget: 0}", "SO0401", "greater than or equal to 1"),
    ],
)
def test_wrong_parameters_are_reported_with_their_line(params: str, code: str, words: str, tmp_path: Path):
    (actual,) = wrong(tmp_path, f"params: {params}\nops: [{{id: a, kind: source}}]\n")
    assert (actual.code, actual.location) == (code, f"{tmp_path / 'problem.yaml'}:1")
    assert words in actual.message


def test_a_problem_without_operators(tmp_path: Path):
    assert [each.code for each in wrong(tmp_path, "params: {ser_per_item: 1, deser_per_item: 1}\nops: []")] == [
        "SO0009"
    ]
    assert [each.code for each in wrong(tmp_path, "[1, 2]")] == ["SO0009"]


def test_all_mistakes_are_told_at_once(tmp_path: Path):
    text = f"{HEAD}- {{id: a, kind: source, cpu: -1}}\n- {{id: b, kind: sink, paren: [a]}}\n"
    assert [each.code for each in wrong(tmp_path, text)] == ["SO0401", "SO0007"]


def test_fewer_machines_than_a_pin_needs(tmp_path: Path):
    text = "params: {k: 4, ser_per_item: 1, deser_per_item: 1}\nops:\n- {id: a, kind: source, pin: 3}\n"
    (actual,) = wrong(tmp_path, text, machines=2)
    assert "a is pinned to machine 3; the last is 1" in actual.message


def test_pins_that_contradict_each_other_name_what_joins_them(tmp_path: Path):
    lines = (
        *("- {id: s, kind: source, card: 1}", "- {id: a, kind: op, parents: [s], card: 1, pin: 0}"),
        *("- {id: t, kind: source, card: 1}", "- {id: b, kind: op, parents: [a, t], card: 1, tick: x}"),
        *("- {id: c, kind: sink, parents: [b], tick: x, pin: 1}", "- {id: d, kind: sink, parents: [t], pin: 0}"),
    )
    text = HEAD + "\n".join(lines).replace("pin: 0}", "ser: false, pin: 0}", 1)
    (actual,) = wrong(tmp_path, text)
    assert actual.code == "SO0607"
    assert "a is pinned to 0 and c to 1" in actual.message
    assert "the output of a stays: its output cannot be serialised" in actual.message
    assert "both are in tick x" in actual.message


def test_keys_of_a_worked_case_may_stand_beside(tmp_path: Path):
    path = tmp_path / "problem.yaml"
    path.write_text(f"name: n\nwhy: w\nexpect: {{loads: [1, 2]}}\nexec_at: {{a: 0}}\n{HEAD}- {{id: a, kind: source}}\n")
    assert read_problem(path).name == "n"
