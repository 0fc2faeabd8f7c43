"""Options of the compiler and config of the first stage say the same."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler import documents
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.assignment import Assignment
from streams_orchestration.model.assignment_document import mapping_of_assignment
from streams_orchestration.model.profile import Profile, StreamProfile
from streams_orchestration.model.profile_document import mapping_of
from streams_orchestration.orchestration.settings import CompileOptions

PROFILE = Profile("flights", 2.5, (StreamProfile("A[0]", 7.0, 1),))
DECOUPLING = Assignment("flights", "0123456789abcdef", {"A[0]": 1})
ALL = Options(
    submission={"n": "3"},
    widths=(("A.*", 4),),
    fusion="manual",
    pes=3,
    pe_capacity=0.5,
    channel_fusion="channelIsolation",
    threading="dedicated",
    faithful=True,
    profile=PROFILE,
    decoupling=DECOUPLING,
)


CONFIG: dict[str, Any] = {
    "submission": {"n": "3"},
    "widths": [{"pattern": "A.*", "width": 4}],
    "fusion": "manual",
    "pes": 3,
    "pe_capacity": 0.5,
    "channel_fusion": "channelIsolation",
    "threading": "dedicated",
    "faithful": True,
    "profile": mapping_of(PROFILE),
    "decoupling": mapping_of_assignment(DECOUPLING),
}


@pytest.mark.parametrize(("config", "options"), [({}, Options()), (CONFIG, ALL)])
def test_config_becomes_options(config: dict[str, Any], options: Options) -> None:
    assert CompileOptions(**config).options(Options()) == options


@pytest.mark.parametrize("options", [Options(), ALL])
def test_options_are_kept_in_documents(options: Options) -> None:
    assert documents.load(Options, documents.dump(options)) == options
