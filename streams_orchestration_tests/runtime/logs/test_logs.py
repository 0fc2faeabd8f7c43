from __future__ import annotations

import gc
import logging
import shutil
from pathlib import Path

import pytest

from streams_orchestration.runtime.logs.logs import open_operator_logger, open_pe_logger


def test_all_operators_of_a_pe_write_to_its_log(tmp_path: Path):
    path = tmp_path / "logs" / "pe-0.log"
    first, second = open_operator_logger("A", str(path)), open_operator_logger("B.C", str(path))
    first.info("one")
    second.getChild("part").warning("two")
    first.debug("not this")
    lines = [line.split(" ", 2)[2] for line in path.read_text().splitlines()]
    assert lines == ["INFO one", "WARNING two"]


@pytest.mark.slow
def test_a_log_is_closed_when_no_operator_has_it_any_more(tmp_path: Path):
    before = set(logging.Logger.manager.loggerDict)
    logger = open_operator_logger("A", str(tmp_path / "pe-0.log"))
    assert isinstance(logger.parent, logging.Logger)
    (handler,) = logger.parent.handlers
    assert isinstance(handler, logging.FileHandler)
    file = handler.stream
    logger.info("one")
    assert file is not None
    assert not file.closed
    del logger
    gc.collect()
    assert file.closed
    assert set(logging.Logger.manager.loggerDict) == before, "the registry keeps its loggers for ever"


def test_a_pe_of_another_application_in_the_same_process_writes_to_its_own_log(tmp_path: Path):
    before, path = tmp_path / "before" / "pe-7.log", tmp_path / "now" / "pe-7.log"
    open_pe_logger(str(before)).info("one")
    shutil.rmtree(before.parent)
    open_pe_logger(str(path)).info("two")
    assert path.read_text().endswith("INFO two\n")
    assert not before.parent.exists()


def test_a_log_whose_directory_is_gone_loses_lines_and_stops_nothing(tmp_path: Path):
    path = tmp_path / "gone" / "pe-8.log"
    logger = open_pe_logger(str(path))
    (handler,) = logger.handlers
    handler.close()
    shutil.rmtree(path.parent)
    logger.info("lost")
    path.parent.mkdir()
    logger.info("kept")
    assert path.read_text().endswith("INFO kept\n")
