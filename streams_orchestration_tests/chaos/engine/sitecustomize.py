"""On the path of processes that are to run hosts without Spark: takes the place of the module that runs a host."""

import os
import sys

if "streams_orchestration.runtime.hosts.host_process" in sys.orig_argv:
    from streams_orchestration_tests.chaos.local_host import main

    os._exit(main(sys.orig_argv[sys.orig_argv.index("--home") :]))
