"""On the path of processes that are to run hosts without Spark: takes the place of the module that runs a host."""

import os
import sys
import time

if shift := float(os.environ.get("STREAMS_TEST_CLOCK") or 0.0):  # the clock of this machine is wrong
    right = time.time
    time.time = lambda: right() + shift

if "streams_orchestration.runtime.hosts.host_process" in sys.orig_argv:
    from streams_orchestration_tests.chaos.local_host import main

    os._exit(main(sys.orig_argv[sys.orig_argv.index("--home") :]))
