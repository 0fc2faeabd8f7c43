"""Parsing of a spec's YAML into nested mappings and lists that know their lines."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from streams_orchestration.model.containers import scalar_text
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.location import Location

MAX_DEPTH = 100
"""The most levels of nesting in a spec."""
MAX_ALIASED = 100_000
"""The most values that a spec's aliases may expand to, in total."""

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The YAML loader; the fast one of libyaml if it is installed."""
_CORE_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")} | {"!"}
_INTEGER = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_CONSTANTS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf"), math.inf),
    "-.inf": -math.inf,
    ".nan": math.nan,
}


class LocatedMapping(dict[str, Any]):
    """A mapping of a spec, with its file, and the line of each key. Columns are known for SPL only, and 0 otherwise."""

    def __init__(self, file: str, line: int, column: int = 0) -> None:
        super().__init__()
        self.file = file
        self.line = line
        self.column = column
        self.lines: dict[str, int] = {}
        self.columns: dict[str, int] = {}

    def location(self, *path: str | int) -> Location:
        """Return the location of the element at `path`, or of the last existing element on the way there."""
        node: Any = self
        file, line, column = self.file, self.line, self.column
        for step in path:
            if isinstance(node, LocatedMapping) and step in node:
                file = node.file
                line, column = node.lines.get(str(step), line), node.columns.get(str(step), column)
                node = node[str(step)]
            elif isinstance(node, LocatedList) and isinstance(step, int) and 0 <= step < len(node):
                line, column = node.lines[step], node.columns[step] if node.columns else 0
                node = node[step]
                file = node.file if isinstance(node, LocatedMapping) else file
            else:
                break
        return Location(file, line, column)


class LocatedList(list[Any]):
    """A list of a spec, with the line of each entry, and the columns of entries where they are known."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[int] = []
        self.columns: list[int] = []


@dataclass
class _Builder:
    """Builder of the tree from parse events. Its stack is explicit, so that deep nesting ends in a diagnostic."""

    file: str
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    root: Any = None
    stack: list[tuple[LocatedMapping | LocatedList, list[str]]] = field(
        default_factory=list[tuple[LocatedMapping | LocatedList, list[str]]]
    )
    keys: list[str | None] = field(default_factory=list[str | None])
    """For each open container, the key whose value comes next; None in a list, or if a key comes next."""
    anchors: dict[str, Any] = field(default_factory=dict[str, Any])
    aliased: int = 0

    def error(self, code: str, message: str, line: int, path: tuple[str, ...] | None = None) -> None:
        self.diagnostics.append(Diagnostic.of(code, message, location=Location(self.file, line), path=path))

    def add(self, value: Any, line: int, *, scalar: bool) -> None:
        """Add a scalar, or a container that was just opened, to the innermost open container.

        In a mapping it is a key or the value of the last key, by turns; the value of a repeated key is dropped.
        """
        if not self.stack:
            self.root = value
            return
        container, path = self.stack[-1]
        if isinstance(container, LocatedList):
            container.append(value)
            container.lines.append(line)
            return
        key = self.keys[-1]
        if key is None:
            self.open_key(container, path, value, line, scalar=scalar)
        else:
            self.keys[-1] = None
            if key not in container:
                container[key] = value
                container.lines[key] = container.lines.get(key, line)

    def open_key(self, container: LocatedMapping, path: list[str], value: Any, line: int, *, scalar: bool) -> None:
        if not scalar:
            if not any(diagnostic.code == "SO0003" for diagnostic in self.diagnostics):
                self.error("SO0003", "a mapping or list cannot be a key", line)
            self.keys[-1] = "?"
            return
        key = value if isinstance(value, str) else scalar_text(value)
        if key == "<<":
            self.error("SO0005", "merge keys (<<) are not part of the format", line)
        elif key in container:
            where = ".".join(path)
            code = "CDISP0798E" if "annotations" in path[-2:] else "SO0004"
            first = container.lines[key]
            message = f"{where + '.' if where else ''}{key} is here and in line {first}; remove one of them"
            self.error(code, message, line, (*path, key))
        else:
            container.lines[key] = line
        self.keys[-1] = key

    def open(self, container: LocatedMapping | LocatedList, line: int) -> None:
        path = list(self.stack[-1][1]) if self.stack else []
        if self.stack and self.keys[-1] is not None:
            path.append(self.keys[-1])
        self.add(container, line, scalar=False)
        self.stack.append((container, path))
        self.keys.append(None)

    def close(self) -> None:
        self.stack.pop()
        self.keys.pop()

    def alias(self, name: str, line: int) -> None:
        """Add a copy of an anchor's value, which keeps the lines of the original.

        A wrong or too large alias is reported, and adds null.
        """
        value = self.anchors.get(name)
        if name not in self.anchors:
            self.error("SO0003", f"there is no anchor &{name} before this alias", line)
        elif any(value is container for container, _ in self.stack):
            self.error("SO0005", f"the alias *{name} is inside the value of its anchor &{name}", line)
            value = None
        elif self.aliased <= MAX_ALIASED:
            values, levels = _extent(value)
            self.aliased += values
            if self.aliased > MAX_ALIASED or len(self.stack) + levels > MAX_DEPTH:
                self.aliased = MAX_ALIASED + 1
                self.error("SO0006", f"with *{name} written out the spec is too large or nested too deeply", line)
        if self.aliased > MAX_ALIASED:
            value = None
        self.add(deepcopy(value), line, scalar=not isinstance(value, LocatedMapping | LocatedList))

    def scalar(self, event: Any, line: int) -> Any:
        text: str = event.value
        tag = event.tag
        if tag in ("tag:yaml.org,2002:str", "!") or (tag is None and not event.implicit[0]):
            return text
        if text in _CONSTANTS:
            value = _CONSTANTS[text]
        elif _INTEGER.fullmatch(text):
            value = int(text, 0) if text[:2] in ("0x", "0o") else int(text) if len(text) < 40 else 2**63
        elif _FLOAT.fullmatch(text):
            value = float(text)
        else:
            return text
        if isinstance(value, float) and not math.isfinite(value):
            self.error("SO0401", f"{text} is not a finite number", line)
            return 0.0
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            self.error("SO0401", f"{text[:40]} does not fit into 64 bits", line)
            return 0
        return value


def _extent(value: Any) -> tuple[int, int]:
    """Return the number of values in a value, including itself, and of its nesting levels, which is 0 for a scalar."""
    if not isinstance(value, LocatedMapping | LocatedList):
        return 1, 0
    inside = [_extent(each) for each in (value.values() if isinstance(value, LocatedMapping) else value)]
    return 1 + sum(values for values, _ in inside), 1 + max((levels for _, levels in inside), default=0)


def parse_document(text: str, file: str) -> tuple[Any, list[Diagnostic]]:
    """Parse a YAML text. Return its tree and diagnostics; the tree is None if one of them is SO0003, SO0005 or SO0006.

    Plain scalars are read by the core schema of YAML 1.2: `no` and dates stay text.
    """
    builder = _Builder(file)
    documents = 0
    try:
        parse = cast("Callable[..., Iterable[Any]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType]
        for event in parse(text, Loader=LOADER):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.AliasEvent):
                builder.alias(event.anchor, line)
                continue
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    builder.error("SO0003", "a second document starts here; a spec is one document", line)
                    break
            elif isinstance(event, yaml.CollectionEndEvent):
                builder.close()
            elif isinstance(event, yaml.NodeEvent):
                _node(builder, event, line)
                if len(builder.stack) > MAX_DEPTH:
                    builder.error("SO0006", f"more than {MAX_DEPTH} levels of nesting", line)
                    return None, builder.diagnostics
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        builder.error("SO0003", problem or "malformed YAML", mark.line + 1 if mark else 1)
        return None, builder.diagnostics
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position if isinstance(error.position, int) else 0) + 1
        code = error.character if isinstance(error.character, int) else ord(error.character[:1] or " ")
        builder.error("SO0003", f"the character U+{code:04X} is not allowed", line)
        return None, builder.diagnostics
    if builder.root is None and not builder.diagnostics:
        builder.error("SO0003", "there is nothing in it", 1)
    fatal = any(diagnostic.code in ("SO0003", "SO0005", "SO0006") for diagnostic in builder.diagnostics)
    return None if fatal else builder.root, builder.diagnostics


def _node(builder: _Builder, event: Any, line: int) -> None:
    if event.tag is not None and event.tag not in _CORE_TAGS:
        builder.error("SO0005", f"the tag {event.tag} is not part of the format", line)
    value: Any
    if isinstance(event, yaml.ScalarEvent):
        value = builder.scalar(event, line)
        builder.add(value, line, scalar=True)
    else:
        value = LocatedMapping(builder.file, line) if isinstance(event, yaml.MappingStartEvent) else LocatedList()
        builder.open(value, line)
    if event.anchor is not None:
        builder.anchors[event.anchor] = value


def read_document(path: Path) -> tuple[Any, list[Diagnostic]]:
    """Parse a spec file. Return its tree and diagnostics; the tree is None if the file is unusable."""
    file = str(path)

    def unreadable(code: str, message: str, line: int = 1) -> tuple[None, list[Diagnostic]]:
        return None, [Diagnostic.of(code, message, location=Location(file, line))]

    try:
        content = path.read_bytes()
    except IsADirectoryError:
        return unreadable("SO0001", "this is a directory")
    except FileNotFoundError:
        return unreadable("SO0001", "there is no such file")
    except (OSError, ValueError) as error:
        return unreadable("SO0001", getattr(error, "strerror", None) or str(error))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return unreadable("SO0002", f"byte {content[error.start]:#04x} is not UTF-8 text", line)
    return parse_document(text, file)
