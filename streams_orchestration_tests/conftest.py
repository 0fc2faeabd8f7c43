"""The fixtures and hooks of all tests. They load nothing heavy: the tests of one package load that package only."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import itertools
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from streams_orchestration_tests import crashes, reports, temporary_files, write_turns
from streams_orchestration_tests.combinations import leave_combinations
from streams_orchestration_tests.examples import register_profiles
from streams_orchestration_tests.java import java_is_installed  # noqa: F401  a fixture
from streams_orchestration_tests.stepped_clock import stepped, stepped_sleep  # noqa: F401  fixtures

if TYPE_CHECKING:
    from xdist.scheduler import Scheduling

    from streams_orchestration_tests import mariadb as mariadb_server
    from streams_orchestration_tests.postgresql import Server
    from streams_orchestration_tests.servers.gs import GoogleStorage
    from streams_orchestration_tests.servers.iceberg_rest import RestCatalog
    from streams_orchestration_tests.servers.kafka import Broker
    from streams_orchestration_tests.servers.s3 import S3

SERVERS = {"postgresql", "mariadb", "s3", "gs", "kafka"}
"""Fixtures."""
JAVA_GROUPS = {"kafka": "kafka", "no_host_stays": "hosts"}
"""Fixtures of tests that start Java elsewhere than in Spark's driver in this process -> the worker that they share."""
SERVER_GROUPS = ("mariadb", "postgresql", "s3")
"""Fixtures with a server that would be started in each worker; the tests of each are in one."""
LONG_GROUPS = ("simulation", "hosts", "java", "kafka", "postgresql")
"""Groups whose tests keep a worker busy for minutes."""
CATALOG_MODULES = {f"streams_orchestration.runtime.catalog.{name}" for name in ("postgresql", "sqlite")}
GARBAGE_THRESHOLDS = (20_000, 20, 20)
"""The thresholds of the three generations: tests leave little garbage, so collections may be rarer than by default."""
WORKER = "PYTEST_XDIST_WORKER"
"""The environment variable with the name of a worker, in workers only."""
CRASHES = pytest.StashKey[list[Path]]()
"""The files of crashes of earlier runs."""
MOST_WORKERS = 4
"""More would need more memory than a machine for tests has."""

NAME_LENGTH = 30
"""The most letters of a test in the name of its directory, as in pytest."""
_numbers = itertools.count()
"""The numbers of the tests' directories in this process."""

register_profiles()


def pytest_configure(config: pytest.Config) -> None:
    """Set up the process, and its end.

    The garbage collector begins once all is collected: until then hardly anything is garbage. A process that is told
    to end cleans up first, as with Ctrl-C: a server would stay otherwise.
    """
    gc.disable()
    temporary_files.use_memory()
    _read_yaml_quickly()
    write_turns.watch()
    if not config.getoption("numprocesses", 0):  # its children are the processes of the tests, which watch themselves
        write_turns.watch_children()
    atexit.register(_end, os.getpid())
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Have crashes of a worker named; pytest's own plugin would have been asked before. Leave out its idle reports."""
    root = session.config.rootpath
    if WORKER in os.environ:
        reports.leave_out(session.config)
        crashes.begin(root, os.environ[WORKER])
    else:
        session.config.stash[CRASHES] = crashes.found(root)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Note the end, and leave Arrow's client of S3 as it is in a worker: a thread that a test has left may be in it.

    A worker ends without a finalization of anything (`_end`). A thread in a finalized client crashes the process.
    """
    crashes.note_end("the tests are over")
    if WORKER in os.environ and (files := sys.modules.get("pyarrow.fs")) is not None:
        atexit.unregister(files.ensure_s3_finalized)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the crashes of earlier runs, which may have come after their ends."""
    return [f"a worker of an earlier run has crashed: {path}" for path in crashes.found(config.rootpath)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show the stacks of workers that have crashed."""
    for path in crashes.found(config.rootpath, config.stash.get(CRASHES, [])):
        terminalreporter.section(str(path))
        terminalreporter.write(path.read_text(errors="replace"))


def _read_yaml_quickly() -> None:
    """Let `yaml.safe_load` use the parser in C, where there is one: each worker reads all files of cases."""
    import yaml

    if (loader := getattr(yaml, "CSafeLoader", None)) is not None:
        patch = pytest.MonkeyPatch()
        patch.setattr(yaml, "safe_load", functools.partial(yaml.load, Loader=loader))
        patch.setattr(yaml, "safe_load_all", functools.partial(yaml.load_all, Loader=loader))


def _end(registered: int) -> None:
    """End a process of tests; what is registered first runs last.

    A worker ends at once: it would take seconds to free millions of objects one by one. The `gc.freeze` that the
    command line registers is undone otherwise, since DuckDB reports frozen objects as leaks.
    """
    if os.getpid() == registered:
        write_turns.end()
    if os.getpid() == registered and WORKER in os.environ:
        crashes.end()
        os._exit(0)
    gc.unfreeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Give every test its kind, and keep those with Spark, with hosts, with Kafka and with a server in one worker each.

    Tests that share a worker come first, then other slow tests, so that at the end no worker waits for another. They
    are sorted after pytest has put those side by side that share a parameter of a fixture.
    """
    leave_combinations(items)
    for item in items:
        if not item.get_closest_marker(marker := kind(item)):
            item.add_marker(marker)
        if item.get_closest_marker("java"):
            group = next((name for need, name in JAVA_GROUPS.items() if need in needs(item)), "java")
            item.add_marker(pytest.mark.xdist_group(group))
        elif (server := next((each for each in SERVER_GROUPS if each in needs(item)), None)) is not None:
            item.add_marker(pytest.mark.xdist_group(server))
    done = yield
    if WORKER in os.environ:
        items.sort(key=turn)
    return done


def turn(item: pytest.Item) -> tuple[int, bool]:
    """Return what the tests are sorted by: groups of tests, the longest ones first, slow tests, and quick ones."""
    mark = item.get_closest_marker("xdist_group")
    if mark is None:
        return len(LONG_GROUPS) + 1, kind(item) == "quick"
    (group,) = mark.args
    return LONG_GROUPS.index(group) if group in LONG_GROUPS else len(LONG_GROUPS), False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Forget what the next test must not know; a fixture for it would take a tenth of the time of a short test.

    The secrets of a test may be words of the next one's messages. That compares with the clock of this machine, and
    not with the clock of a database that this test has read.
    """
    try:
        yield
    finally:
        if (secrets := sys.modules.get("streams_orchestration.model.secrets")) is not None:
            secrets.KnownSecrets.secrets = ()
        if (clock := sys.modules.get("streams_orchestration.runtime.clocks.clock")) is not None:
            clock.forget_reading()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Freeze all loaded objects: the garbage collector need not go through these millions of objects again.

    The catalogs of all tests share their compiled statements from now on, where tests with catalogs are to run. So do
    those of Iceberg, which are loaded for each use of a table.
    """
    if sys.modules.keys() >= CATALOG_MODULES:
        from streams_orchestration_tests.compiled_once import compile_once

        compile_once(*(sys.modules[name] for name in sorted(CATALOG_MODULES)))
    if "pyiceberg.catalog" in sys.modules:
        from pyiceberg.catalog import sql

        from streams_orchestration_tests.compiled_once import compile_once

        compile_once(sql)
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that did something slow under the catalog's write lock."""
    write_turns.watch_stores()
    try:
        with write_turns.watched():
            yield
    finally:
        found = write_turns.found()
    if found:
        pytest.fail("\n".join(found), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Free the clients of Kafka of a module's tests: each has threads, which work until the collector finds it."""
    done = yield
    uses_clients = "kafka" in needs(item) or hasattr(getattr(item, "module", None), "confluent_kafka")
    if uses_clients and (nextitem is None or nextitem.path != item.path):
        gc.collect()
    return done


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two workers more than processors that this process may use: tests with servers wait more than they work.

    Quick tests never wait, and each worker takes ten seconds to load them all.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    waiting = 0 if config.option.markexpr == "quick" else 2
    return min(usable + waiting, MOST_WORKERS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    """Distribute tests by groups in a time that does not grow with the tests that are over, in the order of `turn`.

    By default, xdist begins with the groups that have the most tests, however short these are.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from streams_orchestration_tests.scheduling import QuickGroupScheduling

    config.option.loadscopereorder = False
    return QuickGroupScheduling(config, log)


def kind(item: pytest.Item) -> str:
    """`deep`, `slow` or `quick`; exactly one holds for a test.

    Marked tests are what the mark says. Of the others those are slow that start Java or need a server.
    """
    for name in ("deep", "slow"):
        if item.get_closest_marker(name):
            return name
    server = not SERVERS.isdisjoint(needs(item))
    return "slow" if server or item.get_closest_marker("java") else "quick"


def needs(item: pytest.Item) -> tuple[str, ...]:
    """Return the fixtures of a test, and the texts among its parameters, which may name some."""
    return (*getattr(item, "fixturenames", ()), *parameters(item))


def parameters(item: pytest.Item) -> list[str]:
    """Return the texts among the parameters of a test."""
    case = getattr(item, "callspec", None)
    return [value for value in case.params.values() if isinstance(value, str)] if case else []


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory of the test; pytest's fixture looks through those of all tests before, to number it."""
    name = re.sub(r"\W", "_", request.node.name)[:NAME_LENGTH]
    path = tmp_path_factory.getbasetemp() / f"{name}{next(_numbers)}"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def no_host_stays(tmp_path: Path) -> Iterator[None]:
    """For tests that start hosts below `tmp_path`: those of a test that fails would run on beside all others."""
    yield
    from streams_orchestration_tests.commands import end_hosts

    end_hosts(tmp_path)


@pytest.fixture(params=["local", pytest.param("spark", marks=[pytest.mark.java, pytest.mark.deep])])
def engine_of_hosts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what is the same with any engine: hosts that they start run without a JVM, or in Spark."""
    if request.param == "local":
        paths = [str(Path(__file__).parent / "chaos" / "engine"), os.environ.get("PYTHONPATH", "")]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """One server for all tests of a worker; each test takes schemas of its own."""
    from streams_orchestration_tests.postgresql import server, why_not

    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with server() as started:
        yield started


@pytest.fixture(scope="session")
def mariadb() -> Iterator[mariadb_server.Server]:
    """The same of MariaDB; each test takes databases of its own."""
    from streams_orchestration_tests.mariadb import server, why_not

    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with server() as started:
        yield started


@pytest.fixture(scope="session", params=["moto", pytest.param("s3proxy", marks=pytest.mark.java)])
def s3(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """An S3 server for all tests of a worker; each test takes a directory of its own in the bucket."""
    from streams_orchestration_tests.servers import s3 as servers
    from streams_orchestration_tests.servers.jars import NotToBeHadError

    with contextlib.ExitStack() as stack:
        try:
            directory = tmp_path_factory.mktemp(request.param)
            if request.param == "moto":
                server = stack.enter_context(servers.moto(directory))
            else:
                server = stack.enter_context(servers.s3proxy(directory)).s3
        except NotToBeHadError as error:
            pytest.skip(f"{request.param}: {error}")
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in server.credentials.items():
            patch.setenv(name, value)
        yield server


@pytest.fixture
def one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of an S3 server that is away or refuses: the libraries repeat no request, and pause for none."""
    from streams_orchestration.operators.lakes.delta_store import DeltaStore
    from streams_orchestration.operators.storage import remote

    given = DeltaStore.options
    monkeypatch.setattr(remote, "ATTEMPTS", 1)
    monkeypatch.setattr(DeltaStore, "options", lambda store: (given(store) or {}) | {"max_retries": "0"})


@pytest.fixture(scope="session")
def gs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoogleStorage]:
    """The same of Google Cloud Storage."""
    from streams_orchestration_tests.servers.gs import google_storage
    from streams_orchestration_tests.servers.jars import NotToBeHadError

    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(google_storage(tmp_path_factory.mktemp("gs")))
        except NotToBeHadError as error:
            pytest.skip(str(error))
        yield server


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker for all tests of a worker; each test takes topics of its own. They are marked `java`."""
    from streams_orchestration_tests.servers.jars import NotToBeHadError
    from streams_orchestration_tests.servers.kafka import broker

    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(broker(tmp_path_factory.mktemp("kafka")))
        except NotToBeHadError as error:
            pytest.skip(f"Kafka: {error}")
        yield server


@pytest.fixture(scope="session")
def rest_catalog(s3: S3, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestCatalog]:
    """A catalog of Iceberg for all tests of a worker; each test takes a table of its own. They are marked `java`."""
    from streams_orchestration_tests.servers import iceberg_rest
    from streams_orchestration_tests.servers.jars import NotToBeHadError

    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(iceberg_rest.rest_catalog(tmp_path_factory.mktemp("catalog"), s3))
        except NotToBeHadError as error:
            pytest.skip(f"Iceberg by REST: {error}")
        yield server
