"""Walking through trees, and replacing nodes in them: syntax trees, and the typed trees that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TypeVar, cast

_Kind = TypeVar("_Kind", bound="TreeNode")
_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node of a tree. Its parts are the nodes in its attributes, and in tuples there."""


def nodes_in(tree: object, *kinds: type[_Kind]) -> Iterator[_Kind]:
    """Yield the nodes of some kinds in a tree, or in a tuple of trees, each node before its parts."""
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, TreeNode):
            if isinstance(each, kinds):
                yield each
            waiting += [getattr(each, name) for name in _parts(type(each))]
        elif isinstance(each, tuple):
            waiting += cast("tuple[object, ...]", each)[::-1]


@cache
def _parts(kind: type[TreeNode]) -> tuple[str, ...]:
    """Return the names of the attributes of a kind of nodes, the last one first."""
    return tuple(each.name for each in fields(kind) if each.name != "span")[::-1]


def rewritten(part: _Part, change: Callable[[TreeNode], TreeNode | None]) -> _Part:
    """Return a tree with some nodes replaced; `change` returns the new node, or None to keep one.

    Parts of a replaced node are not looked into.
    """
    if isinstance(part, tuple):
        return cast("_Part", tuple(rewritten(each, change) for each in cast("tuple[object, ...]", part)))
    if not isinstance(part, TreeNode):
        return part
    changed = change(part)
    if changed is not None:
        return cast("_Part", changed)
    inner = {each.name: rewritten(getattr(part, each.name), change) for each in fields(part) if each.init}
    return cast("_Part", replace(part, **inner))
