"""Every command and option that a message or a page names is one that there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streams_orchestration_tests.hints import OPTIONS, bare_options, in_code, wrong_with
from streams_orchestration_tests.sources import READS_SOURCES, modules, source_of

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
OF_OTHERS = {
    "reliability.md": None,  # options of the harness for chaos
    "0061-a-unit-has-its-own-turn.md": {"--catalog"},
    "performance.md": {"--quick"},
    "spark-clusters.md": {"--conf"},
    "remote.py": {"--glob"},
    "settings.py": {"--master", "--properties-file"},
    "host_process.py": {"--home", "--application", "--host", "--incarnation"},
}
"""Options of other programs, by page or module; None for all that are named there."""


def unknown(place: Path, options: set[str]) -> set[str]:
    others = OF_OTHERS.get(place.name, set())
    return set() if others is None else options - OPTIONS - others


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("streams status flights --metrics", None),
        ("streams -q run SPEC", None),
        ("streams savepoint create APP [NAME]", None),
        ("streams metrics --serve", None),
        ("streams redeploy APP --revert", None),
        ("streams explain -h", None),
        ("streams metrics flights", "it takes no flights"),
        ("streams run SPEC --width P=2 --anew", "No such option '--anew'."),
        ("streams start SPEC", "there is no command start"),
        ("streams savepoint make APP", "there is no command make"),
    ],
)
def test_faults_of_a_command_line_are_found(line: str, wrong: str | None):
    actual = wrong_with(line)
    assert actual == wrong or (wrong is not None and wrong in (actual or ""))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_commands_and_options_that_there_are(page: Path):
    text = page.read_text(encoding="utf-8")
    assert {line: wrong for line in in_code(text) if (wrong := wrong_with(line))} == {}
    assert unknown(page, set(bare_options(text))) == set()


@pytest.mark.slow
@READS_SOURCES
def test_messages_name_commands_and_options_that_there_are():
    texts = [(module, text) for module in modules() for text in source_of(module).strings]
    lines = {(module.name, line): wrong_with(line) for module, text in texts for line in in_code(text)}
    assert len(lines) > 30, "remedies are found"
    assert {place: wrong for place, wrong in lines.items() if wrong} == {}
    named = {
        (module, option)
        for module, text in texts
        if " " in text
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)
    }
    assert len(named) > 20
    assert {(module.name, option) for module, option in named if unknown(module, {option})} == set()


def test_command_lines_are_found_in_blocks_and_in_spans():
    text = "```\n$ streams run SPEC --anew\n```\nor `streams deploy\nSPEC`, and `run`\n"
    assert list(in_code(text)) == ["streams run SPEC --anew", "streams deploy SPEC"]
