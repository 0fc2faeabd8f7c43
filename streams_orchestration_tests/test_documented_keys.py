"""Pages name parameters, keys of a spec and variables that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams_orchestration.model.loading import validate_document
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.standard import NAMED_FILES, STANDARD

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
VARIABLE = re.compile(r"\bSTREAMS_[A-Z_]*[A-Z]\b")


def parameters_of(kind: str) -> set[str]:
    names = [STANDARD[kind]] * (kind in STANDARD) + [NAMED_FILES] * (kind == "FileSource")
    classes = [import_operator(name).Parameters for name in names]
    return {field.alias or name for each in classes for name, field in each.model_fields.items()}


def mappings(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from mappings(each)


def document_of(block: Any) -> dict[str, Any] | None:
    """Return a spec with what a block shows of one; None for a block of something else."""
    head = {"specVersion": 1, "application": "shown"}
    if isinstance(block, dict) and "graph" in block:
        return head | block
    if isinstance(block, list) and all(isinstance(each, dict) and "operator" in each for each in block):
        return head | {"graph": block}
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_have_keys_and_parameters_that_there_are(page: Path):
    blocks = [yaml.safe_load(re.sub(r"…|\.\.\.", "x", text)) for text in BLOCK.findall(page.read_text("utf-8"))]
    invocations = [each for block in blocks for each in mappings(block) if each.get("operator") in STANDARD]
    wrong = {
        each["operator"]: set(each["parameters"]) - parameters_of(each["operator"])
        for each in invocations
        if isinstance(each.get("parameters"), dict)
    }
    assert {kind: names for kind, names in wrong.items() if names} == {}
    documents = [document for block in blocks if (document := document_of(block)) is not None]
    findings = [each for document in documents for each in validate_document(document)[1]]
    assert [str(each) for each in findings if each.code in ("SO0007", "SO0010")] == []


@pytest.mark.slow
def test_variables_of_pages_are_read_somewhere():
    code = [*ROOT.glob("streams_orchestration*/**/*.py"), *ROOT.glob("benchmarks/**/*.py"), ROOT / "Makefile"]
    known = {name for path in code for name in VARIABLE.findall(path.read_text("utf-8"))}
    named = {name for page in PAGES for name in VARIABLE.findall(page.read_text("utf-8"))}
    assert len(named) > 15
    assert named - known == set()
