"""The begin of the guard of the catalog's write lock in Python processes that tests start, as hosts and commands."""

import importlib.util
import os
from pathlib import Path

if place := os.environ.get("STREAMS_TEST_WRITE_TURNS"):
    spec = importlib.util.spec_from_file_location("_write_turns", Path(__file__).parents[1] / "write_turns.py")
    if spec is not None and spec.loader is not None:
        write_turns = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(write_turns)
        write_turns.watch_here(Path(place))
