"""The check of each spec of a code location, and the definitions of an application whose spec is faulty.

A code location must survive faulty specs. Each application is built separately, within a time limit. A faulty spec
shows its error as a failed check of its asset `spec`, and all other applications work.
"""

# pyright: reportUnknownMemberType=false
# Dagster reads the annotations of resources here, so they may not be turned into text.
import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import dagster as dg

from streams_orchestration.compiler.reading import read_application
from streams_orchestration.model.diagnostics import Diagnostic, errors_of, in_order
from streams_orchestration.model.python_file import file_of, is_python
from streams_orchestration.model.secrets import masked
from streams_orchestration.orchestration.artifacts import SPEC
from streams_orchestration.orchestration.asset_keys import (
    APPLICATION_TAG,
    AssetKeys,
    SpecChange,
    change_specs,
    other_keys,
    own_key,
    unchanged,
)
from streams_orchestration.orchestration.epochs import VERSION_TAG
from streams_orchestration.orchestration.summaries import check_result, diagnostics_table
from streams_orchestration.orchestration.versions import content_version
from streams_orchestration.runtime import api

logger = logging.getLogger(__name__)

CHECK = "spec_is_valid"
LOAD_SECONDS = 10.0
"""Seconds within which the code of a spec in Python must have ended."""
SENSOR = "specs"
MISSING = "missing"
"""The data version of a spec whose file does not exist."""
Result = TypeVar("Result")


class SpecTimeoutError(api.StreamsRuntimeError):
    """The code of a spec did not end in time."""

    def __init__(self, spec: Path, seconds: float) -> None:
        super().__init__(
            f"{spec}: its code has not ended within {seconds:g} s. A spec is loaded often: it should only describe "
            "the application; read large data or wait for servers in operators"
        )


@dataclass(frozen=True, slots=True)
class SpecState:
    """The outcome of reading a spec."""

    version: str
    """The version of the file's content; empty if there is no file."""
    problems: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def evaluation(self, key: dg.AssetKey) -> dg.AssetCheckEvaluation:
        """Return the outcome as the event of the check of the spec's asset, which has this key."""
        return dg.AssetCheckEvaluation(
            asset_key=key,
            check_name=CHECK,
            passed=not self.problems,
            severity=dg.AssetCheckSeverity.ERROR,
            description=masked("\n".join(self.problems)) or None,
            metadata={"streams/diagnostics": diagnostics_table(self.diagnostics)} if self.diagnostics else {},
        )


def in_time(spec: Path, call: Callable[[], Result]) -> Result:
    """Return the result of a call that may run the code of a spec in Python, or raise its error.

    For any other spec there is no time limit.

    Raises:
        SpecTimeoutError: the call has not ended within `LOAD_SECONDS`. Its thread runs on, since it cannot be stopped.
    """
    if not is_python(spec):
        return call()
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001  the caller raises the error below
            errors.append(error)

    thread = threading.Thread(target=run, name=f"spec {spec.name}", daemon=True)
    thread.start()
    thread.join(LOAD_SECONDS)
    if errors:
        raise errors[0]
    if not results:
        raise SpecTimeoutError(spec, LOAD_SECONDS)
    return results[0]


@dataclass(frozen=True, slots=True)
class WatchedSpec:
    """The spec file of an application; or several files, with a problem, if more than one describe the application."""

    application: str
    files: tuple[Path, ...]
    problem: str = ""
    """The reason why the application cannot be built, and the remedy; empty if no problem is known."""
    keys: AssetKeys = field(default_factory=AssetKeys, compare=False)
    """The keys that the application's definitions give its assets."""

    @property
    def key(self) -> dg.AssetKey:
        """The key of the spec's asset."""
        return self.keys.of(self.application, SPEC)

    def version(self) -> str:
        """Return the version of the content of the file or files; empty if the only file cannot be read."""
        versions = [version_of(file) for file in self.files]
        return versions[0] if len(versions) == 1 else content_version("".join(versions).encode())

    def state(self) -> SpecState:
        """Read the spec and return its version and problems; a spec of another application is a problem.

        Code that does not end in time is a problem, too. If `problem` is known already, the spec is not read.
        """
        version = self.version()
        if self.problem:
            return SpecState(version, (self.problem,))
        spec = self.files[0]
        try:
            read = in_time(spec, lambda: read_application(spec))
        except SpecTimeoutError as error:
            return SpecState(version, (str(error),))
        errors = [str(error) for error in errors_of(read.diagnostics)]
        if not errors and read.application is not None and read.name != self.application:
            errors = [f"{spec}: it now describes {read.name}: reload the definitions"]
        return SpecState(version, tuple(errors), in_order(read.diagnostics))


def version_of(spec: Path) -> str:
    """Return the version of the content of a spec's file; empty if the file cannot be read."""
    try:
        return content_version(file_of(spec).read_bytes())
    except OSError:
        return ""


def spec_kind(place: str) -> str:
    """Return the kind of a spec's asset, which is the spec's language: `python` or `yaml`."""
    return "python" if is_python(Path(place)) else "yaml"


def observation(key: dg.AssetKey, version: str) -> dg.AssetObservation:
    """Return the event that records the version of a spec; it has the key of the spec's asset."""
    return dg.AssetObservation(key, tags={VERSION_TAG: version})


def spec_check(spec: WatchedSpec) -> dg.AssetChecksDefinition:
    """Return the check of an application's spec, which the sensor `specs` records when the spec changes."""
    application = spec.application

    @dg.multi_asset_check(
        name=f"{application}__{CHECK}",
        specs=[dg.AssetCheckSpec(CHECK, asset=spec.key, description="The spec can be read and has no errors.")],
    )
    def check() -> dg.AssetCheckResult:
        return check_result(spec.state().evaluation(spec.key))

    return check


def faulty_definitions(spec: WatchedSpec, jobs: Sequence[dg.JobDefinition], change: SpecChange) -> dg.Definitions:
    """Return the definitions of an application that cannot be built: its spec, which fails its check, and some jobs.

    The key that `change` gives the asset is kept in `spec.keys`. If `change` fails, the asset is shown unchanged. The
    jobs need no spec, since the application may be running.
    """
    places = ", ".join(map(str, spec.files))
    asset = dg.AssetSpec(
        key=own_key(spec.application, SPEC),
        group_name=spec.application,
        kinds={spec_kind(str(spec.files[0]))},
        description=f"{spec.application} cannot be built from {places}: {spec.problem}",
        tags={APPLICATION_TAG: spec.application, "streams/layer": "compilation"},
        metadata={"streams/location": places},
    )
    try:
        specs = change_specs(spec.application, change, [asset])
    except Exception:  # the function may be the fault that the asset shows
        logger.exception("%s: its asset is shown unchanged", spec.application)
        specs = change_specs(spec.application, unchanged, [asset])
    spec.keys.use(spec.application, other_keys(spec.application, specs))
    return dg.Definitions(assets=[*specs.values()], asset_checks=[spec_check(spec)], jobs=jobs)


def specs_sensor(specs: Mapping[str, WatchedSpec], name: str = SENSOR) -> dg.SensorDefinition:
    """Return a sensor that records the version and the check of each spec that has changed since its last tick."""

    @dg.sensor(
        name=name,
        minimum_interval_seconds=15,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Observes the specs, and records whether each can be read. No recovery depends on it.",
    )
    def observe(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        known: dict[str, str] = json.loads(context.cursor or "{}")
        events: list[dg.AssetObservation | dg.AssetCheckEvaluation] = []
        now = {application: spec.version() or MISSING for application, spec in specs.items()}
        for application, version in now.items():
            if known.get(application) == version:
                continue
            spec = specs[application]
            events += [observation(spec.key, version), spec.state().evaluation(spec.key)]
        return dg.SensorResult(
            skip_reason=None if events else "no spec has changed", asset_events=events, cursor=json.dumps(now)
        )

    return observe
