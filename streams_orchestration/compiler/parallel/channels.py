"""Channel numbers of replicas, and the names that contain them (rules 27, 30, 31).

The replicas of an operator are ranked by their channels, innermost region least significant. The rank is the global
channel at the innermost region.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


def global_channels(rank: int, widths: Sequence[int]) -> tuple[int, ...]:
    """Return the global channel of a replica at every region around it, outermost first (rule 27)."""
    channels: list[int] = []
    for width in reversed(widths):
        channels.append(rank)
        rank //= width
    return tuple(reversed(channels))


def local_channels(channels: Sequence[int], widths: Sequence[int]) -> tuple[int, ...]:
    """Return the local channels of a replica, which count from 0 within each region, from its global channels."""
    return tuple(channel % width for channel, width in zip(channels, widths, strict=True))


class PathFormat(NamedTuple):
    """A format of physical names, with a placeholder for the channel of every region on the path (rule 30)."""

    text: str
    """The name with one %d for each region."""
    levels: int

    def at(self, channels: Sequence[int]) -> str:
        """Return the name for some channels, outermost first; channels beyond the path are ignored."""
        return self.text % tuple(channels[: self.levels]) if self.levels else self.text


def path_format(names: Sequence[str], regions: frozenset[str] | set[str]) -> PathFormat:
    """Return the format of an operator's or composite's physical name.

    Args:
        names: full logical names of the composites around the operator or composite, outermost first, then its own
            name.
        regions: full logical names of all parallel regions.
    """
    parts: list[str] = []
    levels = 0
    for name in names:
        parts.append(name.rpartition(".")[2])
        if name in regions:
            parts[-1] += "[%d]"
            levels += 1
    return PathFormat(".".join(parts), levels)


def stream_format(stream: str, names: Sequence[str], regions: frozenset[str] | set[str]) -> tuple[PathFormat, int]:
    """Return the format of a physical stream name (rule 31), and how many of its channels are global ones.

    The name begins with the composite that declares the stream, with the global channels of this composite. The local
    channels of the operator in all further regions follow.
    """
    scope, _, own = stream.rpartition(".")
    around = [name for name in names if scope and (name == scope or scope.startswith(name + "."))]
    prefix = path_format(around, regions)
    inner = sum(1 for name in names if name in regions) - prefix.levels
    text = f"{prefix.text}.{own}" if around else own
    return PathFormat(text + "[%d]" * inner, prefix.levels + inner), prefix.levels
