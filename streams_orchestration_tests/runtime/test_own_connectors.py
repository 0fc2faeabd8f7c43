"""The connectors of the page are what it says they are: whatever happens, each line of the log is in the table once."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import sys
from collections import Counter
from pathlib import Path

import pytest

from streams_orchestration.compiler.checking.checking import check_operators
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.runtime.ordeals import ACTIONS, DeliveringOrdeal

pytestmark = pytest.mark.usefixtures("no_hosts")

PAGE = Path(__file__).parents[2] / "docs" / "connectors.md"
READING = "sensor string, value double"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The blocks of the page that begin with the name of their file."""
    blocks = dict(re.findall(r"```\w+\n# (\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL))
    assert set(blocks) == {"connectors.py", "connectors.yaml"}
    for name, text in blocks.items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "connectors", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class LogOrdeal(DeliveringOrdeal):
    """The log grows, in the middle of a line too; hosts die behind a delivery, before the catalog knows."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.written = directory, list[tuple[str, float]]()
        super().__init__(Home(directory / "home"), compile_spec(directory / "connectors.yaml"))

    def write(self, number: int) -> None:
        rows = [(f"s{each % 3}", float(each)) for each in range(len(self.written), len(self.written) + 1 + number % 6)]
        with (self.directory / "readings.log").open("a") as log:
            for sensor, value in rows:
                line = json.dumps({"sensor": sensor, "value": value}) + "\n"
                log.write(line[:5])
                log.flush()
                if number % 3 == 0:
                    self.commit_only(0)
                log.write(line[5:])
        self.written += rows

    def publish(self, _number: int) -> None:
        """Publish in the database, which is a file and never away."""
        self.local.publish()

    def rows(self) -> list[tuple]:
        path = self.directory / "readings.db"
        if not path.exists():
            return []
        with sqlite3.connect(path) as database:
            return database.execute("SELECT * FROM rows").fetchall()

    def finish(self) -> None:
        for _ in range(100):
            self.turn(0)
            self.trigger(0)
            if len(self.rows()) >= len(self.written):
                break
        self.turn(0)


@pytest.mark.slow
@pytest.mark.usefixtures("files")
def test_each_line_is_in_the_table_once_after_15_faults(tmp_path: Path):
    ordeal, chance, faults = LogOrdeal(tmp_path), random.Random(1), 0
    assert check_operators(ordeal.local.compilation.progress) == []
    kinds = ("forget_delivery", "reset", "execute_only")
    while faults < 15:
        action = chance.choice((*(each for each in ACTIONS if each != "publish"), *kinds, *["write"] * 4))
        faults += action in kinds
        getattr(ordeal, action)(chance.randrange(100))
    ordeal.finish()
    assert Counter(ordeal.rows()) == Counter(ordeal.written)
    assert len(ordeal.written) > 10


def test_a_line_that_is_none_names_its_place(files: Path):
    from connectors import LogSource  # type: ignore[import-not-found]

    log = files / "some.log"
    bench = Bench(LogSource, [], [READING], file=log)
    assert bench.produce().offset == {}
    log.write_text('{"sensor": "a", "value": 1.0}\n{"sensor"')
    offset = bench.produce().offset
    assert (offset, bench.rows()) == ({"byte": log.stat().st_size - 9}, [("a", 1.0)])
    with log.open("a") as file:
        file.write("\n")
    with pytest.raises(DataError, match=r"some\.log, bytes 30 to 40: a line is not an object with sensor, value"):
        bench.produce(offset)
