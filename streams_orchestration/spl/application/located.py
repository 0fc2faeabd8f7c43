"""Mappings and lists of a document with their places in files of SPL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.document import LocatedList, LocatedMapping
from streams_orchestration.spl.language.tree import Node
from streams_orchestration.spl.typing.spans import Source

_KEPT = ("outputs", "mutates", "parallel")
"""Keys that are kept even if their value is empty, since a missing key has another meaning."""


def mapping(
    source: Source, node: Node, entries: Mapping[str, Any], at: Mapping[str, Node] | None = None
) -> LocatedMapping:
    """Return a mapping with the place of a node; entries that are None, or empty mappings or lists, are left out.

    `outputs`, `mutates` and `parallel` are kept if they are empty.

    Args:
        source: the file.
        node: the node.
        entries: the keys and values.
        at: the nodes of single keys.
    """
    line, column = source.place(node.first)
    made = LocatedMapping(source.file, line, column)
    for key, value in entries.items():
        if value is None or (value in ({}, []) and key not in _KEPT):
            continue
        own = node if at is None else at.get(key, node)
        made[key] = located(source, own, value)
        made.lines[key], made.columns[key] = source.place(own.first)
    return made


def named_for(table: dict[str, LocatedMapping], kind: str, content: LocatedMapping) -> str:
    """Return the name under which a table holds this content; add the content if it is missing.

    The name is the kind, with a number (`kind#2`) if other content has the name.
    """
    name, number = kind, 1
    while name in table and table[name] != content:
        number += 1
        name = f"{kind}#{number}"
    table.setdefault(name, content)
    return name


def located(source: Source, node: Node, value: Any) -> Any:
    """Return a value whose mappings and lists have the place of a node, unless they already have a place."""
    if is_mapping(value) and not isinstance(value, LocatedMapping):
        return mapping(source, node, value)
    if is_list(value) and not isinstance(value, LocatedList):
        return sequence(source, node, (located(source, node, each) for each in value))
    return value


def sequence(source: Source, node: Node, values: Iterable[Any]) -> LocatedList:
    """Return a list whose entries have places; an entry that is not a located mapping has the place of `node`."""
    line, column = source.place(node.first)
    made = LocatedList()
    for each in values:
        made.append(each)
        made.lines.append(each.line if isinstance(each, LocatedMapping) else line)
        made.columns.append(each.column if isinstance(each, LocatedMapping) else column)
    return made
