"""Settings of an application's hosts, read from the environment when it is deployed, and stored with the deployment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from streams_orchestration.model.secrets import masked
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.logs.log_rotation import LOG_BYTES
from streams_orchestration.runtime.settings.limits import SOURCE_LIMIT

LIMIT, MEMORY, METRICS = "STREAMS_SOURCE_LIMIT", "STREAMS_DRIVER_MEMORY", "STREAMS_METRICS"
COMPRESSION, HANG = "STREAMS_COMPRESSION", "STREAMS_HANG_LIMIT"
MASTER, SPARK_CONF = "STREAMS_MASTER", "STREAMS_SPARK_CONF"
SAMPLES, SAMPLE_MASK = "STREAMS_SAMPLES", "STREAMS_SAMPLE_MASK"
LOG_SIZE = "STREAMS_LOG_SIZE"
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_STANDALONE = "spark://"
LOCAL = "local"
"""The master of a host whose tasks run on the host's own machine."""
_MASTERS = r"local|yarn|spark://\S+|k8s://\S+"
_WORDS = rf"(?:[\w.-]+=)?(?:{_MASTERS})(?:\s+(?:[\w.-]+=)?(?:{_MASTERS}))*"
_WORDS_WANTED = "local, yarn, spark://HOST:PORT or k8s://https://HOST:PORT, and TAG=MASTER for pools with a tag,"
_NAMES = r"[\w*?-]*(\s+[\w*?-]+)*\s*"
_SIZES = r"0|[1-9][0-9]{0,14}|[1-9][0-9]{0,5}[kmgtKMGT]"
OURS = (
    "spark.master",
    "spark.submit.deployMode",
    "spark.task.maxFailures",
    "spark.speculation",
    "spark.stage.maxConsecutiveAttempts",
    "spark.python.daemon.module",
    "spark.python.worker.reuse",
    "spark.sql.adaptive.enabled",
    "spark.driver.memory",
)
"""Properties of Spark that users may not set: the runtime depends on them, or has settings of its own for them."""


class SettingError(StreamsRuntimeError):
    """A variable of the environment has a value that cannot be used."""

    def __init__(self, name: str, value: str, wanted: str) -> None:
        super().__init__(f"{name}={value}: {wanted} is expected. Correct the variable, or unset it.")


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Settings with which a host's engine is started, before the host can read the catalog."""

    memory: str = "1g"
    """The heap of the JVM, as in `1g`."""
    master: str = LOCAL
    """The place where tasks run: `local`, or the address of a Spark cluster as `spark-submit --master` takes it."""
    conf: str = ""
    """The file of Spark's properties for this engine, as for `spark-submit --properties-file`; empty for none."""
    queries: bool = False
    """True if some PEs of the host are Spark queries, whose rows the JVM processes."""

    @property
    def cluster(self) -> bool:
        """True if tasks run in executors of a cluster, which may be on other machines."""
        return self.master != LOCAL

    def properties(self) -> dict[str, str]:
        """Return Spark's properties from the file `conf`; empty without a file.

        Raises:
            SettingError: the file cannot be read, or one of its lines cannot be used; or the master is a standalone
                cluster, and no file says how the driver authenticates its processes.
        """
        properties = self._read_properties() if self.conf else {}
        decided = "spark.authenticate.secret" in properties or properties.get("spark.authenticate") == "false"
        if self.master.startswith(_STANDALONE) and not decided:
            wanted = (
                f"a file with spark.authenticate.secret, which the master and the workers of {self.master} have, too "
                "(or with `spark.authenticate false`: whoever reaches the driver then runs code as this user),"
            )
            raise SettingError(SPARK_CONF, self.conf, wanted)
        return properties

    def _read_properties(self) -> dict[str, str]:
        try:
            lines = Path(self.conf).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise SettingError(
                SPARK_CONF, self.conf, f"a file of Spark's properties that can be read ({reason})"
            ) from error
        properties: dict[str, str] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            match = re.fullmatch(r"\s*(spark\.[^\s=:]+)(?:\s*[=:]\s*|\s+)(.*?)\s*", line)
            if match is None:
                raise SettingError(SPARK_CONF, f"{self.conf}:{number}", "`spark.NAME VALUE` in every line")
            if match[1] in OURS:
                wanted = f"a file without {match[1]}, which the runtime sets itself,"
                raise SettingError(SPARK_CONF, f"{self.conf}:{number}", wanted)
            properties[match[1]] = match[2]
        return properties


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of all hosts of an application, which also hold after a reset."""

    source_limit: int = SOURCE_LIMIT
    """The most tuples that a source may produce in one batch (`STREAMS_SOURCE_LIMIT`)."""
    driver_memory: str = "1g"
    """The heap of a host's JVM (`STREAMS_DRIVER_MEMORY`)."""
    metrics: bool = True
    """True if tasks count tuples and measure times (`STREAMS_METRICS`: on or off)."""
    compression: str = "none"
    """The compression of streams between PEs (`STREAMS_COMPRESSION`: none, lz4 or zstd)."""
    hang_limit: int = 15
    """Seconds without an answer of the JVM or progress of a task until it is killed; 0 for never.

    The variable is `STREAMS_HANG_LIMIT`.
    """
    master: str = LOCAL
    """Masters of hosts (`STREAMS_MASTER`): one for all, and `TAG=MASTER` for hosts of pools with that tag."""
    spark_conf: str = ""
    """Absolute path of a file of Spark's properties (`STREAMS_SPARK_CONF`)."""
    samples: int = 0
    """The most tuples of a stream between PEs that may be shown, 0 for none (`STREAMS_SAMPLES`)."""
    sample_mask: str = ""
    """Names of attributes whose values are never shown, with `*` and `?` (`STREAMS_SAMPLE_MASK`)."""
    log_size: int = LOG_BYTES
    """The size in bytes at which a log is rotated, 0 for never (`STREAMS_LOG_SIZE`)."""

    def engine(self, tags: Iterable[str] = (), *, queries: bool = False) -> EngineSettings:
        """Return the settings of the engine of a host.

        Args:
            tags: the tags of the host's pool. The first tag with a master decides; without one it is the master for
                all hosts, or else `LOCAL`.
            queries: True if some PEs of the host are Spark queries.
        """
        words = self.master.split()
        usual = next((word for word in words if re.fullmatch(_MASTERS, word)), LOCAL)
        tagged = dict(word.split("=", 1) for word in words if not re.fullmatch(_MASTERS, word))
        master = next((tagged[tag] for tag in tags if tag in tagged), usual)
        return EngineSettings(self.driver_memory, master, self.spark_conf, queries)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read the settings from environment variables; a missing or empty variable gives the default.

        The variables of a state directory are its `Home.environment`.

        Raises:
            SettingError: a value cannot be used, or Spark's properties for one of the masters cannot; see
                `EngineSettings.properties`.
        """
        read = partial(_read, environment)
        usual, conf = cls(), environment.get(SPARK_CONF)
        settings = cls(
            int(read(LIMIT, str(usual.source_limit), r"[1-9][0-9]{0,8}", "a whole number from 1")),
            read(MEMORY, usual.driver_memory, r"[1-9][0-9]*[kmgtKMGT]", "a size such as 512m or 2g"),
            read(METRICS, "on", r"on|off", "on or off") == "on",
            read(COMPRESSION, usual.compression, r"none|lz4|zstd", "none, lz4 or zstd"),
            int(read(HANG, str(usual.hang_limit), r"0|[1-9][0-9]{0,4}", "a whole number of seconds, 0 for none,")),
            read(MASTER, LOCAL, _WORDS, _WORDS_WANTED),
            str(Path(conf).absolute()) if conf else "",
            int(read(SAMPLES, "0", r"[0-9]{1,2}|100", "a number of tuples up to 100, 0 for none,")),
            read(SAMPLE_MASK, "", _NAMES, "names of attributes, with * and ?, between them spaces,"),
            _bytes(read(LOG_SIZE, str(LOG_BYTES), _SIZES, "a size such as 64m, 0 for none,")),
        )
        if masked(settings.master) != settings.master:
            wanted = "an address without a user and password, which would be in the catalog,"
            raise SettingError(MASTER, settings.master, wanted)
        for word in settings.master.split():
            EngineSettings(master=re.sub(r"^[\w.-]+=", "", word), conf=settings.spark_conf).properties()
        return settings


def _read(environment: Mapping[str, str], name: str, default: str, form: str, wanted: str) -> str:
    value = environment.get(name) or default
    if not re.fullmatch(form, value):
        raise SettingError(name, value, wanted)
    return value


def _bytes(size: str) -> int:
    return int(size) if size.isdecimal() else int(size[:-1]) * _UNITS[size[-1].lower()]
