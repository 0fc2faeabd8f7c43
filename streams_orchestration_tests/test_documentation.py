"""Examples in the documentation are true of the product."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchmarks import program_lines
from streams_orchestration.cli.entry import streams
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.copies.copies import RULES
from streams_orchestration.compiler.decoupling import solve
from streams_orchestration.compiler.drawing.drawing import draw_svg
from streams_orchestration.model.decoupling_document import read_problem
from streams_orchestration_tests.prose import IDIOM, UNIDIOMATIC, VAGUE

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
VAGUE_ON_PAGES = {"CONTRIBUTING.md": 20, "diagnostics.md": 6, "functions.md": 1}
"""Map pages to their budgets of constructions that docstrings may not have. A budget may only fall."""
ABOUT_CODE = ("architecture", "performance", "reliability", "testing")
"""Pages of `docs` that name modules of the product."""
PRODUCT = ROOT / "streams_orchestration"
DIRECTORIES = {
    "the product": PRODUCT,
    "its tests": ROOT / "streams_orchestration_tests",
    "benchmarks": ROOT / "benchmarks",
}
"""Map the last rows of the table of sizes to their directories."""
WALKS = (ROOT / "docs" / "walks.md").read_text("utf-8").split("\n## ")[1:]
"""The ways through the code."""
PACKAGES = (
    "model",
    "expressions",
    "spl",
    "operators",
    "compiler",
    "runtime",
    "builder",
    "orchestration",
    "console",
    "cli",
)
SIZE_ROW = re.compile(r"^\| ([^|]+[^ |]) \| ([\d,]+) \| ([\d.]+) \|$", re.MULTILINE)
"""A row of the table of sizes: name, modules, thousands of lines."""

NUMBERED = re.compile(r"\b[Rr]ules?\s+(\d+(?:(?:-|,\s+|\s+and\s+|\s+to\s+)\d+)*)")
"""`rule 5`, `rules 1, 3-7 and 9`."""
NUMBERS = re.compile(r"(\d+)(?:(?:-|\s+to\s+)(\d+))?")
LETTERED = re.compile(r"\b(EV|[ABQ])(\d{1,2})(\.\d)?\b(?:(?:-|\s+to\s+)\1(\d{1,2})\b)?")
"""`A5`, `A29.3`, `A10-A45`, `EV4`."""
BARE = re.compile(r'"((?:(?:EV|[AB])?\d{1,2}(?:\.\d)?)(?:, (?:EV|[AB])?\d{1,2}(?:\.\d)?)*)"')
"""`"52, A44"`, as facts of an explanation have it."""
RULE_ROW = re.compile(r"^\| ((?:EV|[ABQ])?\d+(?:\.\d)?) \| [^|]+ \| ([^|]+) \| [^|]*\|$", re.MULTILINE)
"""Number, and the modules."""


def test_the_picture_of_the_flights_graph_is_current():
    drawn = draw_svg(compile_spec(ROOT / "specs" / "flights.yaml").progress)
    kept = (ROOT / "docs" / "flights.svg").read_text()
    assert kept == drawn, "draw it again: streams graph specs/flights.yaml --output docs/flights.svg"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def headings(page: Path) -> set[str]:
    """Return the anchors that a browser finds on a page: its headings in small letters, with dashes."""
    prose = re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in re.findall(r"^#+ (.+)$", prose, re.M)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_name_headings_that_exist(page: Path):
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text("utf-8"))
    missing = [f"{path}#{name}" for path, name in links if name not in headings(page.parent / path if path else page)]
    assert missing == []


def test_the_index_names_every_page():
    index = ROOT / "docs" / "README.md"
    named = set(re.findall(r"\]\(([^)/]+\.md)\)", index.read_text("utf-8")))
    assert named == {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_the_noun_or_the_act(page: Path):
    prose = re.sub(r"^ *```.*?^ *```|`[^`]*`|\]\([^)]*\)", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = " ".join(prose.split())
    matches = [match for pattern in (VAGUE, UNIDIOMATIC, IDIOM) for match in pattern.finditer(text)]
    found = [text[max(0, match.start() - 30) : match.end() + 30] for match in matches]
    assert len(found) <= VAGUE_ON_PAGES.get(page.name, 0), f"write fewer, name the noun or the act instead: {found}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_have_at_most_120_characters(page: Path):
    prose = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert [line for line in prose.splitlines() if len(line) > 120 and not line.startswith("|")] == []


def test_the_sizes_in_the_architecture_are_close_to_the_code():
    page = (ROOT / "docs" / "architecture.md").read_text().partition("### Size\n")[2].partition("\n## ")[0]
    rows = SIZE_ROW.findall(page)
    assert [name for name, *_ in rows] == [*(f"`{package}`" for package in PACKAGES), *DIRECTORIES]
    for name, modules, thousands in rows:
        files = [*(DIRECTORIES[name] if name in DIRECTORIES else PRODUCT / name.strip("`")).rglob("*.py")]
        lines = sum(path.read_bytes().count(b"\n") for path in files)
        counted, shown = (len(files), lines / 1000), (int(modules.replace(",", "")), float(thousands))
        assert shown == pytest.approx(counted, rel=0.2), f"round {counted[0]:,} and {counted[1]:.1f} for {name}"


def test_files_that_pages_about_the_code_name_exist():
    pages = [ROOT / "CONTRIBUTING.md", *(ROOT / "docs" / f"{name}.md" for name in ABOUT_CODE)]
    files = {path.as_posix() for top in DIRECTORIES.values() for path in top.rglob("*.py")}
    for page in [*pages, *(ROOT / "docs" / "decisions").glob("*.md")]:
        named = set(re.findall(r"`([\w/]+\.py)`", page.read_text()))
        assert sorted(name for name in named if not any(file.endswith(f"/{name}") for file in files)) == [], page.name


PACKAGE_ROW = re.compile(r"^\| `([\w/]+)/` \|", re.MULTILINE)
"""The package of a row of the tables of packages."""


def test_the_tables_of_packages_have_a_row_for_each_package():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("\n## Where things are\n")[2]
    rows = PACKAGE_ROW.findall(page)
    assert [row for row in rows if not (PRODUCT / row).is_dir()] == []
    packages = {
        module.parent.relative_to(PRODUCT).as_posix()
        for module in PRODUCT.rglob("*.py")
        if module.name != "__init__.py" and (module.parent / "__init__.py").exists()
    }
    assert sorted(packages - {*rows, "."}) == []


STEP = re.compile(r"^\| (\d+) \| (\d*) ?\| ([^|]+) \| `(\w+)` \| `([\w/]+\.py)` \|$", re.MULTILINE)
"""A step of a way through the code: its number, that of the step whose function calls it, act, function and module."""


def names_in_functions(module: str) -> dict[str, set[str]]:
    """Return the names and attributes that the functions of a module use, by the function."""
    used: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse((PRODUCT / module).read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            inside = tuple(ast.walk(node))
            names = {each.id for each in inside if isinstance(each, ast.Name)}
            used.setdefault(node.name, set()).update(names, (e.attr for e in inside if isinstance(e, ast.Attribute)))
    return used


def reached(names: set[str], functions: Mapping[str, set[str]]) -> set[str]:
    """Return names, with those that the functions of these names use, and so on."""
    found, left = set(names), list(names)
    while left:
        more = functions.get(left.pop(), set()) - found
        found |= more
        left.extend(more)
    return found


@pytest.mark.parametrize("way", WALKS, ids=lambda way: way.partition("\n")[0])
def test_each_step_through_the_code_is_taken_by_the_function_of_the_step_that_it_names(way: str):
    steps = STEP.findall(way)
    assert len(steps) == len(re.findall(r"^\| \d", way, re.MULTILINE)) >= 6, "the steps have another form"
    assert [number for number, *_ in steps] == [str(number + 1) for number in range(len(steps))]
    modules = {place: names_in_functions(place) for *_, place in steps}
    for _, taker, act, function, place in steps:
        assert function in modules[place], f"{function} is not in {place}"
        if taker:
            _, _, _, caller, module = steps[int(taker) - 1]
            names = reached(modules[module][caller], modules[module])
            assert function in names, f"{caller} does not call {function}: {act}"


def test_the_short_ways_through_the_code_name_functions_of_their_modules():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    short = page.partition("ways through the code\n")[2].partition("\n## ")[0]
    named = re.findall(r"`(\w+)`,?\s\(?`([\w/]+\.py)`", "\n".join((short, *WALKS)))
    assert len(named) >= 10
    for name, place in named:
        assert re.search(rf"\b(?:def|class) {name}\b", (PRODUCT / place).read_text("utf-8")), (
            f"{name} is not in {place}"
        )


def test_the_answer_on_the_page_is_that_of_its_problem(tmp_path: Path):
    text = (ROOT / "docs" / "decoupling.md").read_text().partition("\n## Problems\n")[2]
    problem = tmp_path / "problem.yaml"
    problem.write_text(text.partition("```yaml\n")[2].partition("```")[0])
    answer = solve(read_problem(problem)).document()
    shown = text.partition('\n{"objective"')[2].partition("```")[0]
    for key in ("bound", "gap", "loads", "newNetworks", "hops", "predictedSpeedup", "solver", "machines"):
        assert f'"{key}": {json.dumps(answer[key])}' in shown


def test_the_page_of_commands_names_every_command():
    page = (ROOT / "docs" / "commands.md").read_text()
    for command in streams.commands:
        assert f"streams {command}" in page or f"`{command}`" in page, command


def span(first: str, last: str) -> Iterator[str]:
    yield from map(str, range(int(first), int(last or first) + 1))


def cited(text: str) -> set[str]:
    numbers = {
        number for listed in NUMBERED.findall(text) for ends in NUMBERS.findall(listed) for number in span(*ends)
    }
    for letter, first, point, last in LETTERED.findall(text):
        numbers |= {f"{letter}{number}{point}" for number in span(first, last)}
    return numbers


def test_citations_are_found():
    assert cited("(rules 3, 5-7 and 9) and Rule 12; A1 to A3, A29.3, B5; CDISP0837E") == {
        *("3", "5", "6", "7", "9", "12", "A1", "A2", "A3", "A29.3", "B5"),
    }


def test_every_rule_that_the_product_cites_has_a_row():
    rows = {number for number, _ in RULE_ROW.findall((ROOT / "docs" / "rules.md").read_text())}
    sources = {path: path.read_text() for path in PRODUCT.rglob("*.py")}
    missing = {path.name: sorted(cited(text) - rows) for path, text in sources.items() if cited(text) - rows}
    assert not missing
    explanations = [text for path, text in sources.items() if path.parent.name == "explain"]
    facts = [*RULES.values(), *(rules for text in explanations for rules in BARE.findall(text))]
    assert {"52", "A16, A17", "53, A44", "86"} <= set(facts)
    assert {number for rules in facts for number in rules.split(", ")} <= rows


def test_rules_stand_once_and_in_modules_that_exist():
    page = (ROOT / "docs" / "rules.md").read_text()
    rows = RULE_ROW.findall(page)
    numbers = [number for number, _ in rows]
    assert len(numbers) == len(set(numbers)) == len(re.findall(r"^\| (?:EV|[ABQ])?\d", page, re.MULTILINE))
    for number, modules in rows:
        assert modules == "not here" or re.fullmatch(r"`[^`]+`(, `[^`]+`)*", modules), number
    for module in re.findall(r"`([a-z_/]+\.py)`", page):
        assert (PRODUCT / module).is_file(), module


def test_every_decision_is_a_record_in_the_list():
    directory = ROOT / "docs" / "decisions"
    listed = re.findall(
        r"^\| (\d{4}) \| \[([^]]+)\]\(([^)]+)\) \|$", (directory / "README.md").read_text(), re.MULTILINE
    )
    assert sorted(name for _, _, name in listed) == sorted(path.name for path in directory.glob("[0-9]*.md"))
    for number, title, name in listed:
        text = (directory / name).read_text()
        assert text.startswith(f"# {number} {title}\n"), name
        sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert sections == ["Context", "Decision", "Figures", "Consequences"], name


def test_the_changelog_begins_with_the_version_in_work_or_released():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert re.fullmatch(rf"\[{re.escape(version)}\] - (?:Unreleased|\d{{4}}-\d\d-\d\d)", headings[0])


def test_the_lengths_of_the_flights_job_are_those_that_are_counted():
    counted = program_lines.lengths()
    page = (ROOT / "docs" / "python.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in page.splitlines() if line.startswith("| ")]
    assert {row[0]: row[1:] for row in rows if row[0] in counted} == {
        name: [str(statements or ""), str(lines)] for name, (statements, lines) in counted.items()
    }


@pytest.mark.parametrize(
    ("text", "parts", "lengths"),
    [
        ('"""Doc."""\n\nx = 1  # why\n# how\ny = (\n    2\n)\n', (), (2, 4)),
        ('def f():\n    """Doc\n    more."""\n\n    return 1\n\n\nx = 1\n', ("f",), (2, 2)),
        ("import os\nfrom a import b, c\nx = 1\n", ("c",), (1, 1)),
    ],
)
def test_lines_of_code_are_counted_without_comments_and_docstrings(
    text: str, parts: tuple[str, ...], lengths: tuple[int, int]
):
    assert program_lines.length(text, parts) == lengths
