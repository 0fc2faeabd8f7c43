"""Kinds of causes are the same after their text was stored and read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.runtime.catalog.cause_kinds import (
    NO_KIND,
    TIMEOUT,
    CauseKind,
    FilesKind,
    HostKind,
    NamedKind,
    PeKind,
    read_kind,
)

NUMBERS = st.integers(0, 99)
MACHINES = st.sampled_from(["north", "north on files: host 1", "two\nlines"])
KINDS: st.SearchStrategy[CauseKind] = st.one_of(
    *(st.builds(PeKind, NUMBERS), st.builds(HostKind, NUMBERS), st.sampled_from([NO_KIND, TIMEOUT])),
    *(st.builds(FilesKind, NUMBERS, MACHINES, st.booleans()), st.just(NamedKind("Sums ValueError sums.py 12"))),
)


@given(KINDS)
def test_a_kind_is_read_from_its_text(kind: CauseKind):
    assert read_kind(str(kind)) == kind


@pytest.mark.parametrize("text", ["PE 07", "host 0 on north", "PE 1 files: host 0 on north", "files: host 0", "PE ٣"])
def test_a_text_that_only_resembles_a_kind_is_a_name(text: str):
    assert read_kind(text) == NamedKind(text)
