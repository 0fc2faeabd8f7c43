"""The directory of Spark, and a directory of links to it that leaves out Spark's machine learning.

Spark's machine learning registers its functions with every session. That needs Scala's reflection, which takes half of
the time that a new session needs. Hosts without Spark queries do not use it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

LEFT_OUT = "spark-mllib_"
"""The beginning of the name of the jar that is left out."""
PREFIX = "spark-home-"


def spark_home() -> Path:
    """Return SPARK_HOME, or else the directory of the installed PySpark, which is not imported for that."""
    named = os.environ.get("SPARK_HOME")
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(named) if named else Path(spec.origin).parent


def cache_directory() -> Path:
    """Return the product's part of the user's caches, for files that outlive an application and can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "streams_orchestration"


def make_lean_home(directory: Path | None = None) -> Path:
    """Return a directory like Spark's without its machine learning, or Spark's own if links cannot be made.

    It is made once and reused. When it is made, directories of links to a Spark that is gone are removed. Its parent is
    `directory`, by default the directory of the user's caches.
    """
    home, directory = spark_home().absolute(), directory or cache_directory()
    try:
        identity = f"{home} {version('pyspark')} {(home / 'jars').stat().st_mtime_ns}"
        lean = directory / f"{PREFIX}{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
        if not lean.exists():
            directory.mkdir(parents=True, exist_ok=True)
            _drop_dangling(directory)
            _link(home, lean)
    except OSError:
        return home
    return lean


def _link(home: Path, lean: Path) -> None:
    """Make the directory `lean`, with links to all files of Spark's home except the jars that are left out.

    The links are made in a temporary directory, which is renamed to `lean` unless another process was faster.
    """
    made = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=lean.parent))
    try:
        (made / "jars").mkdir()
        entries = [entry for entry in home.iterdir() if entry.name != "jars"]
        jars = [jar for jar in (home / "jars").iterdir() if not jar.name.startswith(LEFT_OUT)]
        for entry in (*entries, *jars):
            (made / entry.relative_to(home)).symlink_to(entry)
        made.rename(lean)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if not lean.exists():
            raise


def _drop_dangling(directory: Path) -> None:
    """Remove directories of links to a Spark that has been replaced or removed."""
    for jars in directory.glob(f"{PREFIX}*/jars"):
        if not all(jar.exists() for jar in jars.iterdir()):
            shutil.rmtree(jars.parent, ignore_errors=True)
