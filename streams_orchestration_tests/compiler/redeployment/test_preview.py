"""The preview of a redeploy, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.compiler.redeployment.preview import NothingToDropError, preview
from streams_orchestration.compiler.redeployment.states import StateFacts
from streams_orchestration_tests.specs import cases, read

SPEC = """
specVersion: 1
application: app
description: one
schemas: {Row: "k string, g int"}
graph:
  - name: Source
    operator: Beacon
    outputs: [{stream: Source, schema: Row}]
    #parallel
    annotations: {consistent: {trigger: periodic, period: 1.0}}
  - name: Counts
    operator: streams_orchestration_tests.runtime.redeployment.keyed_operators:KEYED:Visits
    inputs: [Source]
    outputs: [{stream: Counts, schema: "k string, n bigint"}]
    annotations: {parallel: {width: 2, partitionBy: [{port: in0, attributes: [k]}]}}
    #parameters
    #config
  - {name: Out, operator: FileSink, inputs: [Counts], parameters: {file: out}}
  # more
"""
CASES = cases("redeployments.yaml")


def compiled(edits: dict[str, str]) -> PlannedCompilation:
    text = SPEC
    for old, new in edits.items():
        assert old in text, old
        text = text.replace(old, new)
    compilation = compile_application(read(text.replace("KEYED:", "")))
    assert compilation.deployment.refusal == ""
    return compilation


def previewed(case: dict[str, Any]) -> Redeployment:
    also, edits = case.get("also", {}), case.get("edits", {})
    stored = case.get("stored")
    states = stored if stored is None else {
        name: StateFacts(each["rows"], 100 * each["rows"], {part: tuple(keys) for part, keys in each["keys"].items()})
        for name, each in stored.items()
    }  # fmt: skip
    return preview(compiled(also), compiled(also | edits), states=states, drop_state=case.get("drop", ()))


@pytest.mark.parametrize("case", CASES)
def test_a_preview_has_the_verdict_and_the_actions_of_the_redeploy(case: str):
    wanted = CASES[case]
    if "error" in wanted:
        with pytest.raises(NothingToDropError, match=wanted["error"]):
            previewed(wanted)
        return
    outcome = previewed(wanted)
    assert outcome.verdict == wanted["verdict"], outcome.document()
    assert outcome.acceptable == wanted.get("acceptable", outcome.verdict in ("unchanged", "kept"))
    if "units" in wanted:
        assert {each.unit: each.action for each in outcome.units} == wanted["units"]
    actions = {each.operator: each.action for each in outcome.operators}
    assert actions == dict.fromkeys(actions, "kept") | wanted.get("operators", {})
    reasons = {each.operator: each.text for each in outcome.operators}
    for name, words in wanted.get("reasons", {}).items():
        assert words in reasons[name]
    rows = {each.operator: each.rows for each in outcome.operators}
    for name, count in wanted.get("rows", {}).items():
        assert rows[name] == count
