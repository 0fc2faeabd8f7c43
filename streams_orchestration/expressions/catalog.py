"""The table of all functions by name."""

from __future__ import annotations

from collections.abc import Mapping

from streams_orchestration.expressions.functions.arithmetic import ARITHMETIC
from streams_orchestration.expressions.functions.arrays import ARRAYS
from streams_orchestration.expressions.functions.bits import BITS
from streams_orchestration.expressions.functions.codes import CODES
from streams_orchestration.expressions.functions.comparison import COMPARISON, LOGIC
from streams_orchestration.expressions.functions.conditions import CONDITIONS
from streams_orchestration.expressions.functions.containers import CONTAINERS
from streams_orchestration.expressions.functions.documents import DOCUMENTS
from streams_orchestration.expressions.functions.encodings import BYTES
from streams_orchestration.expressions.functions.instants import INSTANTS
from streams_orchestration.expressions.functions.matching import PATTERNS
from streams_orchestration.expressions.functions.mathematics import MATHEMATICS
from streams_orchestration.expressions.functions.moments import MOMENTS
from streams_orchestration.expressions.functions.texts import TEXTS
from streams_orchestration.expressions.table import FunctionGroup, SqlFunction

GROUPS: tuple[FunctionGroup, ...] = (
    *(ARITHMETIC, COMPARISON, LOGIC, CONDITIONS, MATHEMATICS, TEXTS, CODES, PATTERNS, MOMENTS),
    *(INSTANTS, CONTAINERS, ARRAYS, DOCUMENTS, BITS, BYTES),
)
"""All headings, in the order of the documentation."""

FUNCTIONS: Mapping[str, SqlFunction] = {each.name: each for group in GROUPS for each in group.functions}
"""Every function and operator by its name."""
