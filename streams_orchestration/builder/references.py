"""Values that are known only when an application is submitted, or in a replica."""

from __future__ import annotations


class Reference(str):
    """`${name}`: a value that is given when the application is submitted. It may stand within a text, too."""

    __slots__ = ()


class TextReference(Reference):
    """A reference to a text, which stands in quotes in an expression."""

    __slots__ = ()


CHANNEL = Reference("${getChannel()}")
"""The channel of a replica, from 0 on, over all parallel regions around it."""
MAX_CHANNELS = Reference("${getMaxChannels()}")
LOCAL_CHANNEL = Reference("${getLocalChannel()}")
"""The channel in the innermost parallel region."""
LOCAL_MAX_CHANNELS = Reference("${getLocalMaxChannels()}")
