from __future__ import annotations

import json
import re

import pytest

from streams_orchestration.cli import main
from streams_orchestration.console.exporting import draw_html
from streams_orchestration_tests.console.deployed import large

SCRIPT = re.compile(r"<script(?: type=\"[a-z/]+\" id=\"([a-z-]+)\")?>(.*?)</script>", re.DOTALL)
HOSTILE = """
specVersion: 1
application: hostile
operators:
  Source: {inputs: []}
  Sink: {outputs: []}
graph:
  - {name: Src, operator: Source, parameters: {text: "</script><script>alert(1)</script><!--", password: planted}}
  - {name: Snk, operator: Sink, inputs: [Src]}
"""


def scripts(page: str) -> dict[str, str]:
    return dict(SCRIPT.findall(page))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    tmp_path = tmp_path_factory.mktemp("page")
    spec, output = tmp_path / "hostile.yaml", tmp_path / "graph.html"
    spec.write_text(HOSTILE)
    assert main(["graph", str(spec), "--output", str(output)]) == 0
    return output.read_text()


def test_everything_is_in_the_file(page: str):
    assert set(scripts(page)) == {"embedded", "licences", "layout-engine", ""}
    assert "Eclipse Public License" in scripts(page)["licences"]
    body = re.sub(SCRIPT, "", page)
    assert re.findall(r'(?:src|href)="([^"]+)"', body) == ["data:,"]


def test_an_exported_page_holds_the_spec_as_data_and_no_secrets(page: str):
    assert len(SCRIPT.findall(page)) == page.count("<script") - sum(
        text.count("<script") for text in scripts(page).values()
    )
    document = json.loads(scripts(page)["embedded"])
    subject = document["subjects"]["operator Src"]
    assert subject["parameters"]["text"].startswith("</script>")
    assert "planted" not in page
    assert [section["title"] for section in subject["explanation"]["sections"]]


def test_a_large_application_is_drawn_without_reasons():
    document = json.loads(scripts(draw_html(large(4, 90)))["embedded"])
    assert len(document["graphs"]["physical"]["operators"]) == 365
    assert document["subjects"] == {}
