"""References to values that are known only at submission, or only in a replica."""

from __future__ import annotations


class Reference(str):
    """A reference `${name}` to a value that is given at submission. It may also be part of a longer text."""

    __slots__ = ()


class TextReference(Reference):
    """A reference to a text; expressions put it in quotes."""

    __slots__ = ()


CHANNEL = Reference("${getChannel()}")
"""The replica's channel, counted from 0 over all parallel regions around it."""
MAX_CHANNELS = Reference("${getMaxChannels()}")
LOCAL_CHANNEL = Reference("${getLocalChannel()}")
"""The replica's channel in the innermost parallel region."""
LOCAL_MAX_CHANNELS = Reference("${getLocalMaxChannels()}")
