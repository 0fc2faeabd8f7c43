"""Rows change by named acts only, so that the same act writes the same columns everywhere."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from streams_orchestration_tests.sources import READS_SOURCES, ROOT, modules

TABLES = {
    "application": ("insert", "update"),
    "host": ("insert", "update", "delete"),
    "unit": ("insert", "update"),
    "pe": ("update",),
    "sink": ("insert", "update", "delete"),
    "sink_file": ("update", "delete"),
    "trial": ("insert", "update", "delete"),
}
"""Table -> statements that only the module of its transitions makes.

A unit is forgotten with the rows of its PEs, and an application is dropped with its rows of all tables.
"""
SHARED = {"sink_file": "sink"}
"""Table -> the table whose module has its acts, too."""


def changes(source: str, table: str) -> list[int]:
    """Return the lines of a module that make statements which change rows of a table."""
    tree = ast.parse(source)
    names = {f"tables.{table}"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=True))
            names |= {ast.unparse(name) for name, given in pairs if ast.unparse(given) == f"tables.{table}"}
    lines: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            is_method = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in names
            is_of_table = bool(node.args) and ast.unparse(node.args[0]) in names
            act = node.func.attr if is_method and isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
            if act in TABLES[table] and (is_method or is_of_table):
                lines.append(node.lineno)
    return lines


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("h = tables.host\nupdate(h).where()", [2]),
        ("a, h = tables.application, tables.host\nupdate(a)\nh.delete()", [3]),
        ("update(tables.host)", [1]),
        ("h = tables.unit\nupdate(h)\nselect(tables.host)", []),
    ],
)
def test_changes_of_a_table_are_found(source: str, lines: list[int]):
    assert changes(source, "host") == lines


@READS_SOURCES
@pytest.mark.parametrize("table", TABLES)
def test_rows_change_by_acts_of_the_module_of_their_table_only(table: str):
    own = ROOT / "runtime" / "catalog" / f"{SHARED.get(table, table)}_transitions.py"
    runtime = [path for path in modules() if Path("runtime") in path.relative_to(ROOT).parents]
    texts = {path: path.read_text(encoding="utf-8") for path in runtime}
    found = {path: changes(text, table) for path, text in texts.items() if f"tables.{table}" in text}
    assert [path for path, lines in found.items() if lines] == [own]
