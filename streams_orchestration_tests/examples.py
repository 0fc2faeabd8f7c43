"""The number of examples of the property tests: each test has its own number, the profile of the run scales them all.

`quick` and `ci` are a tenth, `deep` is twenty times as many. `make quick`, `make test` and `make deep`
choose the profile; any other run does with `--hypothesis-profile`, and takes `ci` when it names none. The examples of
`ci` are the same in every run, so that what lands does not depend on chance; the other profiles search on.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

PERCENT = {"quick": 10, "ci": 10, "deep": 2_000}
"""A profile's examples of a test that has 100 of them."""


def register_profiles() -> None:
    """Make the profiles known, and `ci` the one in use; examples may take as long as a busy machine needs."""
    for name, percent in PERCENT.items():
        settings.register_profile(
            name,
            max_examples=percent,
            deadline=None,
            derandomize=name == "ci",
            suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
        )
    settings.load_profile("ci")


def examples(count: int, **more: Any) -> settings:
    """Settings of a property test.

    Args:
        count: how many examples it is to try; the profile scales them.
        more: other settings of Hypothesis.
    """
    return settings(max_examples=max(1, count * settings().max_examples // 100), **more)
