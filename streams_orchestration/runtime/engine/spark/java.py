"""Finds the Java that Spark runs on.

The module uses the standard library only, since the set-up runs it before anything is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from streams_orchestration.runtime.errors.errors import MINIMUM_JAVA, JavaError

_ANSWER_LIMIT = 60.0


def require_java() -> Path:
    """Return the `java` program that Spark will start: in JAVA_HOME if it is set, else the first on the PATH.

    Raises:
        JavaError: there is no Java, it does not run, or it is too old.
    """
    program = java_program()
    try:
        answer = subprocess.run(
            [program, "-version"],
            capture_output=True,
            text=True,
            timeout=_ANSWER_LIMIT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = f"{program} does not run: {error}"
        raise JavaError(reason) from error
    output = answer.stderr + answer.stdout
    version = java_version(output)
    if version is None:
        # macOS has a /usr/bin/java that only says where to get one
        first_line = next(iter(output.strip().splitlines()), "it prints no version")
        reason = f"{program} is not a working Java: {first_line}"
        raise JavaError(reason)
    if version < MINIMUM_JAVA:
        reason = f"{program} is Java {version}"
        raise JavaError(reason)
    return program


def java_version(output: str) -> int | None:
    """Return the feature release in the output of `java -version` (8 for `1.8.0`), None when it names no version."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', output)
    if match is None:
        return None
    first, second = match.group(1), match.group(2)
    return int(second) if first == "1" and second else int(first)


def java_program() -> Path:
    """Return the `java` program that Spark will start, unchecked.

    Raises:
        JavaError: there is no Java.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        program = Path(home) / "bin" / "java"
        if not os.access(program, os.X_OK):
            reason = f"JAVA_HOME is {home}, where there is no bin/java"
            raise JavaError(reason)
        return program
    path = shutil.which("java")
    if path is None:
        reason = "no `java` was found on the PATH"
        raise JavaError(reason)
    return Path(path)


if __name__ == "__main__":
    try:
        require_java()
    except JavaError as error:
        sys.exit(str(error))
