"""Names of the jobs of an application, and of the schedules that start them."""

from __future__ import annotations

from typing import Literal

Verb = Literal["available", "cancel", "compile", "decouple", "deploy", "profile", "redeploy", "reset"]


def job_name(application: str, verb: Verb) -> str:
    """Return the name of the job that does something with an application: `redeploy_flights`."""
    return f"{verb}_{application}"
