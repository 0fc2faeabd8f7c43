"""Options of an earlier compilation with which a changed spec can still be compiled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import GivenOptions, Options
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.compiler.redeployment.kept_options import FittedOptions, fit, options_of
from streams_orchestration_tests.compiler.assignments import assignment

SPEC = """
specVersion: 1
application: app
submission: {n: {type: int32, default: 2}}
schemas: {Row: "k string"}
graph:
  - {name: S, operator: Beacon, outputs: [{stream: S, schema: Row}], parameters: {iterations: "${n}"}}
  - {name: P, operator: Filter, inputs: [S], parameters: {filter: "k != ''"}, annotations: {parallel: {width: 2}}}
  - {name: Out, operator: FileSink, inputs: [P], parameters: {file: out}}
"""
KEPT = Options(submission={"n": "3"}, widths=(("P", 2), ("*", 5)), threading="manual")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "app.yaml"
    path.write_text(SPEC)
    return path


CASES: dict[str, tuple[dict[str, str], dict[str, Any], tuple[str, ...]]] = {
    "nothing has changed": ({}, {}, ()),
    "the region has another name": (
        {"name: P,": "name: Q,", "[P]": "[Q]"}, {"widths": (("*", 5),)},
        ("the width 2 of P is ignored", "Q keeps its deployed width 5"),
    ),
    "no region is there": (
        {"annotations: {parallel: {width: 2}}": "config: {}"}, {"widths": ()},
        ("the width 2 of P is ignored", "the width 5 of * is ignored"),
    ),
    "a value is not declared": (
        {"submission: {n: {type: int32, default: 2}}": "", "${n}": "2"}, {"submission": {}},
        ("the value of n is ignored",),
    ),
    "the spec has another width": ({"width: 2": "width: 3"}, {}, ("P keeps its deployed width 2",)),
    "the spec has errors": ({"operator: Filter": "operator: Filtr", "name: P,": "name: Q,"}, {}, ()),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_kept_option_that_does_not_fit_the_changed_spec_is_left_out(spec: Path, case: str):
    edits, changes, words = CASES[case]
    text = spec.read_text()
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    spec.write_text(text)
    fitted = fit(read_application(spec), KEPT)
    assert fitted.options == replace(KEPT, **changes)
    assert len(fitted.remarks) == len(words)
    assert all(each.startswith(word) for each, word in zip(fitted.remarks, words, strict=True))


def test_a_decision_is_kept_for_what_it_was_made_for_only(spec: Path):
    kept = Options(decoupling=assignment(compile_spec(spec), {"Out": 1}))
    assert fit(read_application(spec), kept) == FittedOptions(kept)
    fitted = fit(read_application(spec), kept, lambda options: options.with_widths([("P", 3)]))
    wider = fitted.options
    assert wider == Options(widths=(("P", 3),))
    assert ["decoupling decision" in each for each in fitted.remarks] == [True]
    decided = replace(wider, decoupling=assignment(compile_spec(spec, wider), {"Out": 1}))
    assert fit(read_application(spec), kept, lambda _: decided) == FittedOptions(decided)


def test_a_newly_requested_option_is_not_left_out(spec: Path):
    fitted = fit(read_application(spec), Options(), lambda kept: kept.with_widths([("Q", 3)]))
    assert (fitted.options.widths, fitted.remarks) == ((("Q", 3),), ())


def test_a_width_that_is_wanted_now_needs_no_remark(spec: Path):
    spec.write_text(SPEC.replace("width: 2", "width: 3"))
    read = read_application(spec)
    assert fit(read, KEPT).remarks == (
        "P keeps its deployed width 2 instead of 3, its width in the spec; "
        "`streams redeploy` with --width P=3 changes it",
    )
    for width in (2, 3):
        assert fit(read, KEPT, lambda kept, width=width: kept.with_widths([("P", width)])).remarks == ()


@pytest.mark.parametrize(
    ("before", "widths", "after"),
    [
        ("name: P, uid: p,", (("P", 3),), "name: Q, uid: p,"),
        ("name: P,", (("P", 3),), "name: Q, uid: P,"),
        ("name: P, uid: p,", (("P*", 3), ("*", 5)), "name: Q, uid: p,"),
        ("name: P, uid: p,", (("p", 3),), "name: Q, uid: p,"),
    ],
)
def test_a_width_follows_the_uid_of_its_region(
    spec: Path, before: str, widths: tuple[tuple[str, int], ...], after: str
):
    spec.write_text(SPEC.replace("name: P,", before))
    kept = options_of(compile_spec(spec, Options(widths=widths)))
    spec.write_text(SPEC.replace("name: P,", after).replace("[P]", "[Q]"))
    options = fit(read_application(spec), kept).options
    assert [each.width for each in compile_spec(spec, options).logical.regions] == [3]
    again = fit(read_application(spec), kept, lambda options: options.with_widths([("Q", 4)])).options
    assert [each.width for each in compile_spec(spec, again).logical.regions] == [4]
    assert [each for each in again.widths if "*" not in each[0]] == [("Q", 4)], "no former one is kept beside it"


def test_options_that_are_given_come_over_those_that_are_kept():
    given = GivenOptions(Options(submission={"m": "1"}, widths=(("P", 4),), fusion="legacy"), frozenset({"fusion"}))
    assert given.over(KEPT) == Options(
        submission={"n": "3", "m": "1"}, widths=(("P", 4), ("*", 5)), fusion="legacy", threading="manual"
    )
    assert GivenOptions().over(KEPT) == KEPT


def test_a_width_takes_the_place_of_the_one_of_its_pattern():
    assert KEPT.with_widths([("P", 3)]).widths == (("P", 3), ("*", 5))
    assert KEPT.with_widths([]).widths == KEPT.widths
