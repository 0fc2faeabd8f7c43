"""On the path of processes that are to run hosts without Spark: takes the place of the module that runs a host."""

import mmap
import os
import struct
import sys
import time
from pathlib import Path

if clock := os.environ.get("STREAMS_TEST_CLOCK"):  # a file that says by how much the clock of this machine is wrong
    right = time.time
    with Path(clock).open("rb") as file:
        ahead = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    time.time = lambda: right() + struct.unpack_from("d", ahead)[0]

if "streams_orchestration.runtime.hosts.host_process" in sys.orig_argv:
    from streams_orchestration_tests.chaos.local_host import main

    os._exit(main(sys.orig_argv[sys.orig_argv.index("--home") :]))
