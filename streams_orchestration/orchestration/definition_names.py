"""Names of an application's jobs, schedules and sensors: they begin with the application, so lists sort by it."""

from __future__ import annotations

from typing import Literal

Verb = Literal["available", "cancel", "compile", "decouple", "deploy", "profile", "redeploy", "reset"]
Watch = Literal["decoupling_gain", "failed_units", "rescale", "specs"]


def job_name(application: str, verb: Verb) -> str:
    """Return the name of a job of an application, and of the schedule that requests it: `flights__redeploy`."""
    return f"{application}__{verb}"


def sensor_name(application: str, watch: Watch) -> str:
    """Return the name of a sensor that serves one application: `flights__rescale`."""
    return f"{application}__{watch}"
