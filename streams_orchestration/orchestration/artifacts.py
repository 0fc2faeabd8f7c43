"""The store of compiled stages: one JSON document a stage, under the state directory."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams_orchestration.compiler import documents
from streams_orchestration.compiler.compilation import PlannedCompilation, Progress
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.stage import LOGICAL
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic, errors_of
from streams_orchestration.model.python_file import file_of
from streams_orchestration.operators.storage.durable_files import write_whole
from streams_orchestration.orchestration.definition_names import job_name
from streams_orchestration.orchestration.versions import content_version
from streams_orchestration.runtime import api

SPEC = "spec"
"""Name of the spec in `StageDocument.inputs`, whose other names are names of stages."""


class StageMissingError(api.StreamsRuntimeError):
    """A stage was not compiled yet, or its stored document cannot be read."""


class StagesOutOfStepError(api.StreamsRuntimeError):
    """The stored stages do not belong to one compilation."""


@dataclass(frozen=True, slots=True)
class StageDocument:
    """The stored document of one compilation stage."""

    application: str
    stage: str
    spec: str
    """Path of the spec that the stage was compiled from."""
    inputs: Mapping[str, str]
    """Input -> its version: the data version of a stage, or the hash of the spec."""
    section: Any
    """The stage's section of the plan document."""
    result: Any
    """The stage's result as JSON, for the stages after it. The first stage's result includes the options."""
    diagnostics: tuple[Diagnostic, ...] = ()
    violations: tuple[str, ...] = ()
    """The findings of the stage's check."""

    @property
    def data_version(self) -> str:
        """The hash of the stage's result, so that equal results have equal versions whatever their inputs."""
        return content_version(_bytes({"section": self.section, "result": self.result}))


@dataclass(frozen=True, slots=True)
class ArtifactStore:
    """The stages of all applications of one state directory, as `artifacts/<application>/<stage>.json`."""

    home: api.Home

    def path(self, application: str, stage: str) -> Path:
        """Return the path of a stored stage."""
        return self.home.artifacts / application / f"{stage}.json"

    def write(self, document: StageDocument) -> Path:
        """Store a stage and return its path; a reader sees the former document or this one, never a part.

        Raises:
            StateDirectoryError, OSError: the state directory cannot be written.
        """
        content = {
            "application": document.application,
            "stage": document.stage,
            "dataVersion": document.data_version,
            "spec": document.spec,
            "inputs": dict(document.inputs),
            "diagnostics": [each.document() for each in document.diagnostics],
            "violations": list(document.violations),
            BY_NAME[document.stage].key: document.section,
            "result": document.result,
        }
        return self._keep(document.application, document.stage, _bytes(content))

    def put(self, application: str, name: str, document: Any) -> Path:
        """Store a document that is not a stage under this name, atomically; return its path.

        Raises:
            StateDirectoryError, OSError: the state directory cannot be written.
        """
        return self._keep(application, name, json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n")

    def _keep(self, application: str, name: str, content: bytes) -> Path:
        self.home.prepare()
        path = self.path(application, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
        return path

    def get(self, application: str, name: str) -> Any:
        """Return the document that `put` stored under this name; None if there is none.

        Raises:
            StageMissingError: the file is damaged, or cannot be read.
        """
        path = self.path(application, name)
        try:
            return json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            message = f"{path}: cannot be read: {error}. Remove it, and run the job that wrote it again."
            raise StageMissingError(message) from error

    def read(self, application: str, stage: str) -> StageDocument:
        """Return one stored stage.

        Raises:
            StageMissingError: the stage was not compiled, or its file is damaged.
        """
        path = self.path(application, stage)
        try:
            content = json.loads(path.read_bytes())
            return StageDocument(
                application=application,
                stage=stage,
                spec=content["spec"],
                inputs=content["inputs"],
                section=content[BY_NAME[stage].key],
                result=content["result"],
                diagnostics=tuple(Diagnostic(**d) for d in content["diagnostics"]),
                violations=tuple(content["violations"]),
            )
        except FileNotFoundError as error:
            message = f"{application}: stage {stage} is not compiled yet. Run job {job_name(application, 'compile')}."
            raise StageMissingError(message) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self._unreadable(application, stage, error) from error

    def _unreadable(self, application: str, stage: str, error: Exception) -> StageMissingError:
        job = job_name(application, "compile")
        fault = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        return StageMissingError(
            f"{self.path(application, stage)}: cannot be read as a compiled stage: {fault}. Run job {job} again."
        )

    @contextmanager
    def _readable(self, application: str, stage: str) -> Generator[None]:
        """Let errors of a stage's stored result, which another version may have written, be StageMissingError."""
        try:
            yield
        except (ValueError, KeyError, TypeError) as error:
            raise self._unreadable(application, stage, error) from error

    def options(self, application: str) -> Options:
        """Return the options that the application was last compiled with.

        Raises:
            StageMissingError: the application was not compiled, or its first stage cannot be read.
        """
        return self._options(self.read(application, LOGICAL))

    def _options(self, first: StageDocument) -> Options:
        with self._readable(first.application, LOGICAL):
            return documents.load(Options, _bytes(first.result["options"]))

    def progress(self, application: str, stages: tuple[str, ...]) -> tuple[Progress, dict[str, str]]:
        """Return the stored results of some stages, which must include the first one, and their data versions.

        Raises:
            StageMissingError: one of the stages was not compiled, or cannot be read.
        """
        read = {stage: self.read(application, stage) for stage in stages}
        found = tuple(diagnostic for document in read.values() for diagnostic in document.diagnostics)
        progress = Progress(self._options(read[LOGICAL]), diagnostics=found)
        for stage, document in read.items():
            with self._readable(application, stage):
                result = document.result["graph"] if stage == LOGICAL else document.result
                progress = progress.with_result(documents.load(BY_NAME[stage].result, _bytes(result)))
        return progress, {stage: document.data_version for stage, document in read.items()}

    def compilation(self, application: str) -> PlannedCompilation:
        """Return the whole compilation, after a check that all stages belong together.

        A spec whose file is gone counts as unchanged.

        Raises:
            StageMissingError: a stage was not compiled, or cannot be read.
            ApplicationError: the application has errors.
            StagesOutOfStepError: an input of a stage has changed since the stage was computed, or a stage did not pass
                its check.
        """
        read = {stage: self.read(application, stage) for stage in BY_NAME}
        versions = {stage: document.data_version for stage, document in read.items()}
        spec = file_of(read[LOGICAL].spec)
        if spec.is_file():
            versions[SPEC] = content_version(spec.read_bytes())
        stale = [
            f"{stage} is older than {source if source != SPEC else spec}"
            for stage, document in read.items()
            for source, version in document.inputs.items()
            if versions.get(source, version) != version
        ]
        if stale:
            message = (
                f"{application}: the compiled stages do not belong together: {'; '.join(stale)}. "
                f"Run job {job_name(application, 'compile')} (or {job_name(application, 'redeploy')}), so that all "
                "stages come from one compilation."
            )
            raise StagesOutOfStepError(message)
        broken = [f"{stage}: {violation}" for stage, document in read.items() for violation in document.violations]
        if broken:
            message = (
                f"{application}: a compiled stage did not pass its check ({'; '.join(broken)}). Report this bug with "
                "the spec."
            )
            raise StagesOutOfStepError(message)
        progress, _ = self.progress(application, tuple(BY_NAME))
        if errors_of(progress.diagnostics):
            raise ApplicationError(progress.diagnostics)
        return progress.planned


def plain(value: Any) -> Any:
    """Return a value of the compiler as JSON, as `StageDocument.result` holds it."""
    return json.loads(documents.dump(value))


def _bytes(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode()
