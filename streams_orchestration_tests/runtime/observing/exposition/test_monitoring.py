"""Alerts and the dashboard: they use metrics that there are, and alerts fire when they should."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from streams_orchestration.runtime.observing.exposition.families import all_families

ROOT = Path(__file__).parents[4]
ALERTS, DASHBOARD = ROOT / "docs" / "monitoring" / "alerts.yaml", ROOT / "docs" / "monitoring" / "dashboard.json"
COURSES = ROOT / "streams_orchestration_tests" / "cases" / "alerts.yaml"


def used(document: object) -> Iterator[str]:
    """Names of metrics in the expressions of a document."""
    if isinstance(document, dict):
        for key, inner in document.items():
            if key in ("expr", "query") and isinstance(inner, str):
                yield from re.findall(r"\bstreams_\w+", inner)
            else:
                yield from used(inner)
    elif isinstance(document, list):
        for inner in document:
            yield from used(inner)


@pytest.mark.parametrize("path", [ALERTS, DASHBOARD], ids=lambda path: path.name)
def test_metrics_that_are_used_exist(path: Path):
    names = set(used(yaml.safe_load(path.read_text())))
    assert len(names) > 10
    assert names <= {family.name for family in all_families()}


def test_panels_stand_beside_each_other():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    places = [tuple(panel["gridPos"][key] for key in ("x", "y", "w", "h")) for panel in panels]
    cells = Counter((x + dx, y + dy) for x, y, w, h in places for dx in range(w) for dy in range(h))
    assert max(cells.values()) == 1
    assert max(x for x, _ in cells) == 23
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_every_alert_is_in_the_page_and_has_a_course():
    rules = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
    names = [rule["alert"] for rule in rules]
    listed = re.findall(r"^\| `(Streams\w+)` \|", (ROOT / "docs" / "metrics.md").read_text(), re.MULTILINE)
    courses = [each for test in yaml.safe_load(COURSES.read_text())["tests"] for each in test["alert_rule_test"]]
    assert listed == names
    assert {each["alertname"] for each in courses if each["exp_alerts"]} == set(names)
    assert {each["alertname"] for each in courses if not each["exp_alerts"]} == set(names)
    assert all(rule["annotations"].keys() == {"summary", "description"} for rule in rules)


@pytest.mark.slow
def test_promtool_takes_the_alerts_and_they_fire_when_they_should(tool: Path, tmp_path: Path):
    done = subprocess.run([tool, "check", "rules", str(ALERTS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rules = yaml.safe_load(ALERTS.read_text())
    for rule in rules["groups"][0]["rules"]:
        del rule["annotations"]
    (tmp_path / "alerts-under-test.yaml").write_text(yaml.safe_dump(rules))
    (tmp_path / COURSES.name).write_text(COURSES.read_text())
    command = [tool, "test", "rules", COURSES.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
