"""Options of the compiler and config of the first stage say the same."""

from __future__ import annotations

import pytest

from streams_orchestration.compiler import documents
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.assignment import Assignment
from streams_orchestration.model.profile import Profile, StreamProfile
from streams_orchestration.orchestration.settings import CompileOptions, config_of

ALL = Options(
    submission={"n": "3"},
    widths=(("A.*", 4),),
    fusion="manual",
    pes=3,
    pe_capacity=0.5,
    channel_fusion="channelIsolation",
    threading="dedicated",
    faithful=True,
    profile=Profile("flights", 2.5, (StreamProfile("A[0]", 7.0, 1),)),
    decoupling=Assignment("flights", "0123456789abcdef", {"A[0]": 1}),
)


@pytest.mark.parametrize("options", [Options(), ALL])
def test_options_become_config_and_are_options_again(options: Options) -> None:
    assert CompileOptions(**config_of(options)).options(Options()) == options  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("options", [Options(), ALL])
def test_options_are_kept_in_documents(options: Options) -> None:
    assert documents.load(Options, documents.dump(options)) == options
