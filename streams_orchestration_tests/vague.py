"""Constructions that no docstring, message or page may have."""

from __future__ import annotations

import re

VAGUE = re.compile(
    r"\b(?:stands?|stood|(?:is|are|was|were) there|(?:goes|go|went) by|(?:brings?|brought)(?: \w+)? back"
    r"|what (?:is|are|was|were|has|have)|that of|those of|of it|anew|(?:the )?plan before)\b",
    re.IGNORECASE,
)
"""Constructions that leave out the noun or the act, of which a package has a budget."""
UNIDIOMATIC = re.compile(
    r"(?<!here )\b(?:is|are|was|were) no (?!longer\b|\w+er than\b)|(?<!here )\b(?:is|are) none\b|\bany more\b"
    r"|\b(?:those|that) of\b|\bwhat (?:is|are|was|were|has|have)\b|\b[Gg]o(?:es)? on\b|\bwent on\b|\bso many\b"
    r"|, and th(?:is|ese) (?:is|are)\b"
)
"""Constructions that no text may have, since English says them in other words: "is not a", "no longer"."""
