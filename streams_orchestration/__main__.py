"""`python -m streams_orchestration`: the `streams` command."""

import sys

from streams_orchestration.cli import main

sys.exit(main())
