"""The routes of tuples decide if a state can be divided: regions around composites, joins and sources."""

from __future__ import annotations

import pytest

from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.redeployment.preview import preview
from streams_orchestration_tests.specs import read

HEAD = """
specVersion: 1
application: app
schemas: {Row: "k string, g int, t timestamp"}
composites:
  Inside:
    inputs: [In]
    outputs: [D]
    graph:
      - {name: F, operator: Filter, inputs: [In], parameters: {filter: "g > 1"}}
      - {name: D, operator: DeDuplicate, inputs: [F], parameters: {key: [k, g]}}
  Around:
    inputs: [In]
    outputs: [I]
    graph:
      - {name: I, operator: Inside, inputs: [In], outputs: [I], annotations: {parallel: {width: 2, INNER}}}
graph:
  - name: S
    operator: Beacon
    outputs: [{stream: S, schema: Row}]
    annotations: {consistent: {trigger: periodic, period: 1.0}}
"""
OUT = "  - {name: Out, operator: FileSink, inputs: [X], parameters: {file: out}}\n"
K, G = (f"partitionBy: [{{port: In, attributes: [{name}]}}]" for name in ("k", "g"))
COMPOSITE = """
  - {name: X, operator: Inside, inputs: [S], outputs: [X], annotations: {parallel: {width: 2, %s}}}
"""
NESTED = """
  - {name: X, operator: Around, inputs: [S], outputs: [X], annotations: {parallel: {width: 3, %s}}}
"""
JOIN = """
  - name: X
    operator: Join
    inputs: [S, S]
    outputs: [{stream: X, schema: "lhs_k string, rhs_g int"}]
    parameters: {window: "WINDOW", timeAttribute: t, equalityLHS: [k], equalityRHS: [k]}
    annotations:
      parallel: {width: 2, partitionBy: [{port: in0, attributes: [k]}, {port: in1, attributes: [k]}]}
"""
BROADCAST = JOIN.replace(", {port: in1, attributes: [k]}]", "], broadcast: [in1]")
TIME = {"WINDOW": "sliding, time(2)"}
AGGREGATE = """
  - name: X
    operator: Aggregate
    inputs: [S]
    outputs: [{stream: X, schema: "k string, n bigint"}]
    parameters: {window: "WINDOW", PARTITION groupBy: [k], output: {n: Count()}}
    annotations: {parallel: {width: 2, partitionBy: [{port: in0, attributes: [k]}]}}
"""
BY_KEY = {"WINDOW": "tumbling, count(3), partitioned", "PARTITION": "partitionBy: [k],"}
OWN = """
  - name: P
    operator: Beacon
    outputs: [{stream: P, schema: Row}]
    parameters: {output: {k: "'${getChannel()}'"}}
    annotations: {parallel: {width: 2}, consistent: {trigger: periodic, period: 1.0}}
  - {name: X, operator: Filter, inputs: [[P, S]], parameters: {filter: "g > 1"}}
"""

INNER_LESS = {f"X[{i}].I[{n}].D": "resharded" for i in range(3) for n in (i, 2 * i + 1)}
"""The channels of a nested region by their new numbers, and those that are gone by their old ones."""

CASES: dict[str, tuple[str, dict[str, str], tuple[str, str], dict[str, str], str]] = {
    "behind a filter in a composite": (
        COMPOSITE % K, {}, ("width: 2, part", "width: 3, part"),
        {"X[0].D": "resharded", "X[1].D": "resharded", "X[2].D": "resharded", "X[2].F": "added"}, "2 to 3",
    ),
    "a part of the key": (COMPOSITE % G, {}, ("width: 2, part", "width: 1, part"),
                          {"X[0].D": "resharded", "X[1].D": "resharded", "X[1].F": "dropped"}, "2 to 1"),
    "an outer region": (
        NESTED % K, {"INNER": G}, ("width: 3", "width: 1"),
        {f"X[{i}].I[{2 * i + j}].D": "resharded" for i in range(3) for j in range(2)}
        | {f"X[{i}].I[{2 * i + j}].F": "dropped" for i in (1, 2) for j in range(2)}, "6 to 2",
    ),
    "an inner region": (
        NESTED % K, {"INNER": G}, ("width: 2, part", "width: 1, part"),
        INNER_LESS, "6 to 3",
    ),
    "a round robin around keys that stay": (
        NESTED % "replicateHostTags: []", {"INNER": G}, ("width: 2, part", "width: 1, part"),
        INNER_LESS, "6 to 3",
    ),
    "a round robin that changes around keys": (
        NESTED % "replicateHostTags: []", {"INNER": G}, ("width: 3", "width: 4"),
        {f"X[{i}].I[{2 * i + j}].D": "refused" for i in range(4) for j in range(2)}, "X is split round robin",
    ),
    "a join by time": (JOIN, TIME, ("width: 2", "width: 3"), {f"X[{i}]": "resharded" for i in range(3)}, "2 to 3"),
    "a join by count": (JOIN, {"WINDOW": "sliding, count(2)", "timeAttribute: t, ": ""}, ("width: 2", "width: 3"),
                        {f"X[{i}]": "refused" for i in range(3)}, "windows that count the tuples of one channel"),
    "a join with what all get": (BROADCAST, TIME, ("width: 2", "width: 3"),
                                 {f"X[{i}]": "refused" for i in range(3)}, "input port 1 gets all tuples"),
    "windows of partitions": (AGGREGATE, BY_KEY, ("width: 2", "width: 3"),
                              {f"X[{i}]": "resharded" for i in range(3)}, "2 to 3"),
    "windows that marks close": (AGGREGATE, {"WINDOW": "tumbling, punct()", "PARTITION": ""}, ("width: 2", "width: 3"),
                                 {f"X[{i}]": "resharded" for i in range(3)}, "2 to 3"),
    "one window": (AGGREGATE, {"WINDOW": "tumbling, count(3)", "PARTITION": ""}, ("width: 2", "width: 3"),
                   {f"X[{i}]": "refused" for i in range(3)}, "one window over all tuples of a channel"),
    "sources whose parameters name their channel": (OWN, {}, ("width: 2", "width: 3"), {"P[2]": "added"}, ""),
    "one of them less": (OWN, {}, ("width: 2", "width: 1"), {"P[0]": "refused", "P[1]": "refused"},
                         "no new channel continues from the offset of P[1]"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_states_are_kept_divided_or_refused_when_a_width_changes(case: str):
    body, parts, change, expected, words = CASES[case]
    text = HEAD + body + OUT
    for name, value in ({"INNER": K} | parts).items():
        text = text.replace(name, value)
    assert change[0] in text
    old, new = (compile_application(read(each)) for each in (text, text.replace(*change)))
    outcome = preview(old, new)
    actions = {each.operator: each.action for each in outcome.operators if each.action not in ("kept", "moved")}
    stateless = {name: action for name, action in actions.items() if name.endswith("F") and name not in expected}
    assert actions == expected | stateless
    assert all(action in ("added", "dropped") for action in stateless.values())
    reasons = [each.reason for each in outcome.operators if each.action in ("resharded", "refused")]
    assert all(words in reason for reason in reasons)
    groups = [(len(move.sources), len(move.targets)) for move in outcome.moves if move.before is not None]
    if "refused" not in actions.values() and reasons:
        assert sum(sources for sources, _ in groups) + sum(targets for _, targets in groups) >= 2 * len(groups) > 0
