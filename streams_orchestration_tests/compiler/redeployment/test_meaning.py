"""A state means the same where the expressions that it was made by have the same canonical texts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import Compilation, PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.documents import dump, load
from streams_orchestration.compiler.redeployment.preview import preview
from streams_orchestration.compiler.redeployment.states import StateFacts
from streams_orchestration_tests.specs import read

SPEC = """
specVersion: 1
application: app
schemas: {Row: "k string, n int"}
graph:
  - {name: Source, operator: Beacon, outputs: [{stream: Source, schema: Row}], parameters: {iterations: 9}}
  - {name: First, operator: DeDuplicate, inputs: [Source], parameters: {key: KEY}}
  - name: Sums
    operator: Aggregate
    inputs: [First]
    outputs: [{stream: Sums, schema: "s double"}]
    parameters: {window: "tumbling, count(10)", output: {s: MEASURE}}
  - {name: Out, operator: FileSink, inputs: [Sums], parameters: {file: out}}
"""
STATES = {name: StateFacts(3, 300) for name in ("First", "Sums")}


def compiled(
    key: str = "[k, n>15]", measure: str = '"Average(n + 1)"', row: str = "n int", zone: str = ""
) -> PlannedCompilation:
    """Return an application as it is deployed: with what was noted of its expressions."""
    text = SPEC.replace("KEY", key).replace("MEASURE", measure).replace("n int", row)
    text = text.replace("s double", "s timestamp") if "Max(" in measure else text
    text = text.replace("application: app", f"application: app\ntimeZone: {zone}") if zone else text
    return deployable(compile_application(read(text))).compilation


def lost(before: PlannedCompilation, after: PlannedCompilation) -> dict[str, str]:
    """Return the operators whose state would be lost, with the reasons."""
    outcome = preview(before, after, states=STATES)
    return {each.operator: each.reason for each in outcome.operators if each.action == "refused" or each.lossy}


@pytest.mark.parametrize("key", ["[k, n > 15]", "[(K), (n > 15)]", "['`k`', '((N)>(15)) -- late']"])
def test_another_way_of_writing_keeps_the_state(key: str):
    assert lost(compiled(), compiled(key, '"Average( (n+1) )"')) == {}


@pytest.mark.parametrize("key", ["[k, n > 16]", "[k, n >= 15]", "[k, n > 15L]", "[n > 15, k]", "[k]"])
def test_another_meaning_loses_the_state(key: str):
    assert "another value of the parameter key" in lost(compiled(), compiled(key))["First"]


def test_output_functions_are_compared_likewise():
    assert list(lost(compiled(), compiled(measure='"Average(n + 2)"'))) == ["Sums"]
    assert list(lost(compiled(), compiled(measure='"Sum(n + 1.0e0)"'))) == ["Sums"]


def test_a_wider_attribute_is_no_other_meaning():
    assert lost(compiled(), compiled("[k, n > 15]", '"Average((n + 1))"', row="n bigint")) == {}


@pytest.mark.parametrize(
    ("key", "measure", "loses"),
    [
        ("[k, n > 15]", '"Average(n + 1)"', []),
        ("from_unixtime(n)", '"Average(n + 1)"', ["First"]),
        ("\"k > '2024-01-01'\"", '"Max(CAST(k AS TIMESTAMP))"', ["Sums"]),
        ("\"CAST(k AS TIMESTAMP) > TIMESTAMP '2024-01-01 00:00:00Z'\"", '"Sum(hour(timestamp_seconds(n)))"',
         ["First", "Sums"]),
        ("\"timestamp_seconds(n) > '2024-01-01 00:00:00Z'\"", '"Average(unix_seconds(timestamp_seconds(n)))"', []),
        ("\"timestamp_seconds(n) > '2024-01-01 00:00:00'\"",
         '"Average(hour(TIMESTAMP_NTZ \'2024-01-01\'))"', ["First"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("old", "new"), [("", "Europe/Berlin"), ("Asia/Kolkata", "UTC"), ("", "UTC")])
def test_another_time_zone_loses_what_depends_on_it(key: str, measure: str, loses: list[str], old: str, new: str):
    before, after = (compiled(key, measure, zone=each) for each in (old, new))
    found = lost(before, after)
    assert list(found) == (loses if new != "UTC" or old else [])
    for reason in found.values():
        assert f"was made in the time zone {old or 'UTC'}, which would be {new}" in reason


def test_another_time_zone_names_all_operators_whose_expressions_have_other_values():
    text = SPEC.replace("KEY", "[k]").replace("MEASURE", '"Average(n)"')
    text += """
  - name: Hours
    operator: Functor
    inputs: [First]
    parameters: {output: {n: hour(timestamp_seconds(n))}}
    outputs: [{stream: Hours, schema: "n int"}]
  - {name: Kept, operator: FileSink, inputs: [Hours], parameters: {file: hours}}
  - name: Others
    operator: Import
    parameters: {subscription: "a == 1", filter: "day > TIMESTAMP '2024-01-01'"}
    outputs: [{stream: Others, schema: "day timestamp"}]
  - {name: Aside, operator: FileSink, inputs: [Others], parameters: {file: others}}
"""
    zoned = (text, text.replace("application: app", "application: app\ntimeZone: Europe/Berlin"))
    before, after = (deployable(compile_application(read(each))).compilation for each in zoned)
    outcome = preview(before, after, states=STATES)
    assert outcome.document()["timeZone"] == {
        "before": "UTC", "after": "Europe/Berlin", "operators": ["Hours", "Others"],
    }  # fmt: skip
    assert outcome.sentence == (
        "All state is kept. The time zone was UTC and becomes Europe/Berlin: "
        "expressions of Hours, Others have other values after the redeploy."
    )
    assert "timeZone" not in preview(before, before, states=STATES).document()


def test_a_text_that_a_later_version_reads_otherwise_is_another_meaning():
    old = compiled()
    operators = tuple(
        replace(each, expressions=tuple((p, t, c.replace("> 15", "> 15L")) for p, t, c in each.expressions))
        for each in old.logical.operators
    )
    assert list(lost(replace(old, logical=replace(old.logical, operators=operators)), compiled())) == ["First"]


def test_a_deployed_compilation_has_the_canonical_texts_of_expressions():
    compilation = load(Compilation, dump(compiled(), Compilation))
    first = next(each for each in compilation.logical.operators if each.name == "First")
    assert first.expressions == (("key", "k", "k"), ("key", "n>15", "n > 15"))
    assert first.parameters == {"key": ["k", "n>15"]}
    sums = next(each for each in compilation.logical.operators if each.name == "Sums")
    assert ("output.s", "Average(n + 1)", "Average(n + 1)") in sums.expressions


QUERY = """
specVersion: 1
application: app
graph:
  - name: Source
    operator: Beacon
    outputs: [{stream: Source, schema: "k string, at timestamp"}]
    annotations: {consistent: {trigger: periodic, period: 1.0}}
  - name: Counts
    operator: Sql
    inputs: [Source]
    outputs: [{stream: Counts, schema: "k string, n bigint"}]
    parameters: {query: "SELECT k, count(*) AS n FROM Source GROUP BY k", outputMode: update}
  - {name: Out, operator: FileSink, inputs: [Counts], parameters: {file: out}}
"""


@pytest.mark.parametrize(
    ("old", "new"), [("", "Europe/Berlin"), ("Europe/Berlin", ""), ("Europe/Berlin", "Asia/Kolkata"), ("", "UTC")]
)
def test_another_time_zone_loses_the_state_of_a_query_of_sparks(old: str, new: str):
    zones = (f"application: app\ntimeZone: {zone}" if zone else "application: app" for zone in (old, new))
    before, after = (deployable(compile_application(read(QUERY.replace("application: app", each)))) for each in zones)
    found = preview(before.compilation, after.compilation, states={"Counts": StateFacts(3, 300)}).operators
    lossy = {each.operator: each.reason for each in found if each.action == "refused" or each.lossy}
    if new == "UTC":
        assert lossy == {}
        return
    assert list(lossy) == ["Counts"]
    zone = f"in the time zone {old or 'UTC'}, which would be {new or 'UTC'}"
    assert f"is Spark's, and was made {zone}" in lossy["Counts"]
