"""Remedies as a user of Dagster follows them: jobs and their run config in place of commands and their options.

>>> print(in_dagster("Out: files are left. Drop them with --fresh", "flights"))
Out: files are left. Drop them with `fresh: true`
(`fresh` is in the run config of the job `flights__redeploy`: flights__deployment, write_wanted_state)
"""

from __future__ import annotations

import re

from streams_orchestration.orchestration.definition_names import Verb, job_name

_DEPLOYMENT = "in the run config of the job `{0}__redeploy`: {0}__deployment, write_wanted_state"
_REVERT = "in the run config of the job `{0}__deploy`: {0}__deployment, write_wanted_state"
_RESET = "in the run config of the job `{0}__reset`: claim"
_STAGE = "in the run config of the job `{0}__redeploy`: {0}__logical_graph"
_PROFILE = "in the run config of the job `{0}__profile`"
_COMPANION = "in the companion `X.spl.yaml` beside the file `X.spl`"
_DEFINITIONS = "an argument of `build_application_definitions`"
OPTIONS = {
    "fresh": ("fresh: true", _DEPLOYMENT),
    "drop-state": ("drop_state", _DEPLOYMENT),
    "from": ("savepoint", _DEPLOYMENT),
    "revert": ("revert: true", _REVERT),
    "unit": ("unit", _RESET),
    "force": ("force: true", _RESET),
    "set": ("submission", _STAGE),
    "width": ("widths", _STAGE),
    "seconds": ("seconds", _PROFILE),
    "time-limit": ("time_limit", _PROFILE),
    "pe": ("pe", _PROFILE),
    "name": ("name", _DEFINITIONS),
    "main": ("main", _COMPANION),
    "toolkit": ("toolkits", _COMPANION),
    "define": ("define", _COMPANION),
}
"""Option of the command line -> its setting in Dagster, and where that is; `{0}` is the application."""
_COMMAND = re.compile(r"\x60streams (cancel|deploy|redeploy|reset|status)\b([^\x60]*)\x60")
_OPTION_OF_COMMAND = re.compile(r"--([a-z]+(?:-[a-z]+)*)(?: ([^-\s][^\s]*))?")
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")
_JOBS: dict[str, Verb] = {"cancel": "cancel", "deploy": "redeploy", "redeploy": "redeploy", "reset": "reset"}
_AVAILABLE = "--available-now"


def in_dagster(text: str, application: str) -> str:
    """Return a message with jobs and run config in place of commands and options, and where to find that config."""
    places: dict[str, dict[str, None]] = {}

    def setting(flag: str, value: str = "") -> str:
        shown, place = OPTIONS[flag]
        places.setdefault(place.format(application), {})[f"`{shown.partition(':')[0]}`"] = None
        return f"`{shown}: {value}`" if value else f"`{shown}`"

    def option(match: re.Match[str]) -> str:
        return setting(match[1]) if match[1] in OPTIONS else match[0]

    def command(match: re.Match[str]) -> str:
        verb, flags = match[1], dict(_OPTION_OF_COMMAND.findall(match[2]))
        if verb == "status":
            return f"the asset `{application}/deployment`"
        if "dry-run" in flags:
            return "the check `redeploy_keeps_state`"
        job = _JOBS[verb] if "revert" not in flags else "deploy"
        settings = " and ".join(setting(flag, value) for flag, value in flags.items())
        return f"the job `{job_name(application, job)}`" + (f" with {settings}" if settings else "")

    said = _COMMAND.sub(command, text).replace(_AVAILABLE, f"`{job_name(application, 'available')}`")
    said = _OPTION.sub(option, said)
    if not places:
        return said
    where = (f"{' and '.join(names)} {'are' if len(names) > 1 else 'is'} {place}" for place, names in places.items())
    return f"{said}\n({'; '.join(where)})"
